"""A ledger opens only on a database that fits, and every way in which one does not has a sentence and advice."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from neo4j.exceptions import TransientError
from neomodel import adb

from remit_graph.errors import ForeignStore, LedgerUnavailable, ModelError, SchemaTooNew
from remit_graph.model.change import SCHEMA
from remit_graph.neo4j import Neo4jLedger, Neo4jOptions
from remit_graph.neo4j.attempt import MAX_REPEATS
from remit_graph.neo4j.schema import INDEX, UNIQUE, declared
from tests.contract.ledger_commands import append
from tests.contract.ledgers import REALM, Neo4jStore, neo4j_store
from tests.support.process import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import LiteralString

pytestmark = pytest.mark.neo4j
SHORT = timedelta(milliseconds=300)


@pytest.fixture
async def graph(request: pytest.FixtureRequest) -> AsyncIterator[Neo4jStore]:
    """A database with an empty ledger."""
    made = await neo4j_store(request)
    yield made
    await made.aclose()


@pytest.mark.parametrize(
    ("drop", "named"),
    [
        ("DROP CONSTRAINT constraint_unique_Principal_id", "uniqueness constraint on Principal(id)"),
        ("DROP CONSTRAINT constraint_unique_MAY_WRITE_edge_id", "uniqueness constraint on MAY_WRITE(edge_id)"),
        ("DROP INDEX index_Ended_was_ref", "index on Ended(was_ref)"),
    ],
    ids=["of nodes", "of relationships", "an index"],
)
async def test_a_database_that_lacks_a_rule_is_refused(graph: Neo4jStore, drop: LiteralString, named: str) -> None:
    """F071, F077: the start is refused and names what is missing; `migrate` makes it again, and nothing else."""
    graph.server.query(drop)

    with pytest.raises(ForeignStore) as caught:
        await graph.open()
    made = await Neo4jLedger.migrate(graph.options)

    assert f"lacks the {named}" in caught.value.message
    assert "remit store migrate" in caught.value.advice
    assert caught.value.facts["missing"] == [f"the {named}"]
    assert made == [f"the {named}"]
    assert await Neo4jLedger.migrate(graph.options) == []
    assert (await (await graph.open()).head()).revision == 0


async def test_duplicates_that_a_constraint_forbids_are_named(graph: Neo4jStore) -> None:
    """F071: a database that was without its constraint may hold a thing twice; migrating says which."""
    graph.server.query("DROP CONSTRAINT constraint_unique_Principal_id")
    graph.server.query("UNWIND range(1, 2) AS n CREATE (:Principal {id: 'instance:seo-7'})")

    with pytest.raises(ForeignStore, match="instance:seo-7"):
        await Neo4jLedger.migrate(graph.options)

    graph.server.query("MATCH (p:Principal) DELETE p")
    await Neo4jLedger.migrate(graph.options)


async def test_the_schema_is_what_the_classes_declare(graph: Neo4jStore) -> None:
    """Every constraint and index of a ledger's database is declared in neomodel, by label or type and property."""
    constraints = graph.server.query("SHOW CONSTRAINTS YIELD labelsOrTypes AS names, properties")
    indexes = graph.server.query(
        """
        SHOW INDEXES YIELD type, labelsOrTypes AS names, properties, owningConstraint
        WHERE type = 'RANGE' AND owningConstraint IS NULL
        """
    )

    there = {(UNIQUE, row["names"][0], row["properties"][0]) for row in constraints}
    there |= {(INDEX, row["names"][0], row["properties"][0]) for row in indexes}
    assert there == {tuple(rule) for rule in declared()}


async def test_a_ledger_of_another_realm_is_refused(graph: Neo4jStore) -> None:
    """A database holds one realm, and whoever names another is told which."""
    with pytest.raises(ForeignStore) as caught:
        await Neo4jLedger.open(graph.options, "umbrella")

    assert caught.value.facts["realm"] == REALM
    ledger = await Neo4jLedger.open(graph.options)
    assert (await ledger.head()).realm == REALM
    await ledger.aclose()


async def test_a_database_in_use_is_not_taken(graph: Neo4jStore) -> None:
    """`init` makes a ledger only where there is nothing, be it a ledger or the data of another program."""
    with pytest.raises(ForeignStore) as own:
        await Neo4jLedger.init(graph.options, REALM)
    graph.server.query("MATCH (node) DETACH DELETE node")
    graph.server.query("CREATE (:Customer {name: 'Ada'})")
    with pytest.raises(ForeignStore) as others:
        await Neo4jLedger.init(graph.options, REALM)

    assert (own.value.code, others.value.code) == ("already_exists", "already_exists")
    assert graph.server.query("MATCH (node) RETURN labels(node) AS labels") == [{"labels": ["Customer"]}]


@pytest.mark.parametrize(
    ("there", "sentence", "advice"),
    [(None, "holds nothing", "remit store init"), ("CREATE (:Customer)", "no ledger", "nothing was changed")],
    ids=["empty", "foreign"],
)
async def test_a_database_without_ledger_is_refused(
    graph: Neo4jStore, there: LiteralString | None, sentence: str, advice: str
) -> None:
    """Opening makes nothing: an empty database and that of another program are told apart."""
    graph.server.query("MATCH (node) DETACH DELETE node")
    if there is not None:
        graph.server.query(there)

    with pytest.raises(ForeignStore, match=sentence) as caught:
        await graph.open()

    assert advice in caught.value.advice


async def test_two_who_found_a_ledger_at_once_make_one(graph: Neo4jStore) -> None:
    """One of them makes it, the other is told that it is there."""
    graph.server.query("MATCH (node) DETACH DELETE node")

    outcomes = await asyncio.gather(*(Neo4jLedger.init(graph.options, REALM) for _ in range(5)), return_exceptions=True)

    made = [each for each in outcomes if isinstance(each, Neo4jLedger)]
    refused = [each for each in outcomes if isinstance(each, ForeignStore)]
    assert (len(made), len(refused)) == (1, 4)
    assert graph.server.query("MATCH (head:Head) RETURN count(head) AS heads") == [{"heads": 1}]
    for each in made:
        await each.aclose()


async def test_a_schema_that_another_process_makes_too_is_waited_for(
    graph: Neo4jStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the database gives one of two up for a deadlock, what is missing is made all the same; never for ever."""
    graph.server.query("DROP CONSTRAINT constraint_unique_Principal_id")
    install_labels, given_up = adb.install_labels, [0]

    async def contended(*arguments: Any, **options: Any) -> None:
        given_up[0] += 1
        if given_up[0] < 3:
            raise TransientError("the other one waits for this one")
        await install_labels(*arguments, **options)

    monkeypatch.setattr(adb, "install_labels", contended)
    made = await Neo4jLedger.migrate(graph.options)
    graph.server.query("DROP CONSTRAINT constraint_unique_Principal_id")
    given_up[0] = -100

    with pytest.raises(LedgerUnavailable):
        await Neo4jLedger.migrate(graph.options)

    assert made == ["the uniqueness constraint on Principal(id)"]
    assert given_up[0] == -100 + MAX_REPEATS + 1
    monkeypatch.undo()
    assert await Neo4jLedger.migrate(graph.options) == made


async def test_a_ledger_of_a_later_schema_is_refused(graph: Neo4jStore) -> None:
    """A store that was switched to later rows opens only in a program that knows them."""
    await graph.overwrite([], {"schema": SCHEMA + 1})

    with pytest.raises(SchemaTooNew) as caught:
        await graph.open()

    assert caught.value.facts["schema"] == SCHEMA + 1


async def test_a_realm_needs_a_name(graph: Neo4jStore) -> None:
    """An empty name is no realm."""
    with pytest.raises(ModelError):
        await Neo4jLedger.init(graph.options, "")


async def test_an_emptied_database_is_told_to_the_writer(graph: Neo4jStore) -> None:
    """A ledger that disappears under a running process is an error with a sentence, and never an empty one."""
    ledger = await graph.open()
    await append(ledger)
    head = await ledger.head()

    graph.server.query("MATCH (node) DETACH DELETE node")

    for act in (ledger.head(), ledger.read(0, 1), append(ledger), ledger.check()):
        with pytest.raises(ForeignStore, match="holds no ledger"):
            await act
    assert head.revision == 1


async def test_a_wrong_password_is_told(graph: Neo4jStore) -> None:
    """The password is no part of the message."""
    await _assert_unavailable(replace(graph.options, password="wr0ng-one"), "refused user and password", "password")


async def test_a_database_that_is_not_there_is_told(graph: Neo4jStore) -> None:
    """A name that the server does not know is the caller's mistake and no outage."""
    with pytest.raises(ForeignStore, match="no database of that name") as caught:
        await Neo4jLedger.open(replace(graph.options, database="other"), REALM)

    assert "SHOW DATABASES" in caught.value.advice


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
async def test_a_refused_connection_is_told(scheme: str) -> None:
    """Nobody listens."""
    await _assert_unavailable(_options(f"{scheme}://127.0.0.1:{free_port()}"), "refused the connection", "start Neo4j")


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s", "bolt+ssc"])
async def test_a_server_without_tls_is_told(graph: Neo4jStore, scheme: str) -> None:
    """The address wants TLS and the server has none."""
    url = f"{scheme}://127.0.0.1:{graph.server.port}"
    await _assert_unavailable(replace(graph.options, url=url), "TLS", "without TLS write neo4j://")


async def test_an_unknown_host_is_told() -> None:
    """The name service does not know it."""
    await _assert_unavailable(_options("neo4j://neo4j.invalid:7687"), "not known", "name service")


async def test_an_address_that_is_none_is_told() -> None:
    """The web page's address is a common mistake."""
    await _assert_unavailable(_options("http://127.0.0.1:7474"), "no address of a Neo4j", "neo4j://host:7687")


async def test_a_web_server_is_told() -> None:
    """Something answers, but in HTTP."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(20)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with _server(answer) as port:
        await _assert_unavailable(_options(f"bolt://127.0.0.1:{port}"), "not as Neo4j", "7687 is usual")


async def test_a_silent_server_is_told_soon() -> None:
    """Something accepts and says nothing: the wait is bounded."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = asyncio.get_running_loop().time()
        await _assert_unavailable(_options(f"bolt://127.0.0.1:{silent.getsockname()[1]}"), "does not answer", "hung")

    assert asyncio.get_running_loop().time() - started < 10


@asynccontextmanager
async def _server(answer: object) -> AsyncIterator[int]:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)  # type: ignore[arg-type] # a stream handler
    async with server:
        yield server.sockets[0].getsockname()[1]


def _options(url: str) -> Neo4jOptions:
    return Neo4jOptions(url=url, password="pass-w0rd", connect_within=SHORT, retry_for=SHORT)


async def _assert_unavailable(options: Neo4jOptions, sentence: str, advice: str) -> None:
    with pytest.raises(LedgerUnavailable) as caught:
        await Neo4jLedger.open(options, REALM)

    assert sentence in caught.value.message
    assert advice in caught.value.advice
    assert caught.value.facts["url"] == options.url
    assert options.password not in f"{caught.value.message}{caught.value.advice}{caught.value.facts}{options!r}"
