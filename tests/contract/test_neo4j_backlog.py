"""A large change is appended at once and materialised after the commit, in chunks that survive whatever happens."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.errors import HeadMoved
from remit_graph.model.change import Change
from remit_graph.neo4j import Neo4jLedger
from remit_graph.neo4j.append import INLINE
from remit_graph.neo4j.backlog import CHUNK, ROWS, advance
from remit_graph.neo4j.database import Database
from tests.contract.ledger_commands import a_command, append, edge_begin, edges_end, now
from tests.contract.ledgers import REALM, Neo4jStore, neo4j_store
from tests.support.process import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.neo4j
MANY = 2_100


@pytest.fixture
async def graph(request: pytest.FixtureRequest) -> AsyncIterator[Neo4jStore]:
    """A database with an empty ledger."""
    made = await neo4j_store(request)
    yield made
    await made.aclose()


@pytest.fixture
async def asleep(graph: Neo4jStore, monkeypatch: pytest.MonkeyPatch) -> Neo4jStore:
    """The same, with ledgers that leave the backlog to the test."""
    monkeypatch.setattr("remit_graph.neo4j.backlog.Backlog.wake", lambda _: None)
    return graph


async def _open(graph: Neo4jStore) -> Neo4jLedger:
    ledger = await graph.open()
    assert isinstance(ledger, Neo4jLedger)
    return ledger


def _progress(graph: Neo4jStore) -> tuple[int, int]:
    rows = graph.server.query(
        "MATCH (head:Head) RETURN head.revision AS revision, head.materialised_revision AS materialised"
    )
    return rows[0]["revision"], rows[0]["materialised"]


def _count(graph: Neo4jStore, kind: str) -> int:
    rows = graph.server.query("MATCH ()-[edge]->() WHERE type(edge) = $kind RETURN count(edge) AS edges", kind=kind)
    count: int = rows[0]["edges"]
    return count


async def test_a_large_revocation_is_appended_before_it_is_materialised(asleep: Neo4jStore) -> None:
    """The head says how far the graph is, later changes wait their turn behind it, and all arrive in order."""
    ledger = await _open(asleep)
    await _begin_many(ledger)
    many = [(f"e-{number}", 1) for number in range(MANY)]

    await append(ledger, edges_end(*many))
    await append(ledger, edge_begin("e-7", 2), Change("principal.put", {"id": "human:ada"}))

    assert _progress(asleep) == (4, 2)
    assert (_count(asleep, "MAY_WRITE"), _count(asleep, "WAS_MAY_WRITE")) == (MANY, 0)
    assert await ledger.check() == ["the graph is at revision 2, the ledger at 4"]

    await ledger.materialised()

    assert _progress(asleep) == (4, 4)
    assert (_count(asleep, "MAY_WRITE"), _count(asleep, "WAS_MAY_WRITE")) == (1, MANY)
    assert await ledger.check() == []


async def _begin_many(ledger: Neo4jLedger) -> None:
    half = MANY // 2
    await append(ledger, *(edge_begin(f"e-{number}") for number in range(half)))
    await append(ledger, *(edge_begin(f"e-{number}") for number in range(half, MANY)))


async def test_chunks_are_bounded_and_noted(asleep: Neo4jStore) -> None:
    """Each chunk moves so many edges and no more, whether one row of the log ends them or many; none moves twice."""
    ledger = await _open(asleep)
    await _begin_many(ledger)
    one_row = [(f"e-{number}", 1) for number in range(MANY - 100)]
    rows = [edges_end((f"e-{number}", 1)) for number in range(MANY - 100, MANY)]
    await append(ledger, edges_end(*one_row), *rows, Change("principal.put", {"id": "human:ada"}))
    database = Database(asleep.options)

    moved: list[int] = []
    while await advance(database, REALM):
        moved.append(_count(asleep, "WAS_MAY_WRITE"))

    assert moved == [CHUNK, 2 * CHUNK, 3 * CHUNK, 4 * CHUNK, 4 * CHUNK]
    assert _count(asleep, "WAS_MAY_WRITE") == MANY
    assert _progress(asleep) == (3, 3)
    assert await ledger.check() == []
    await database.aclose()


async def test_a_page_that_is_full_to_the_row_is_finished(asleep: Neo4jStore) -> None:
    """The log ends with a page: that its last revision is whole is found out by looking for more."""
    ledger = await _open(asleep)
    # More than is written at once begins the backlog, in chunks that end where this command does; the row of the next
    # command weighs nothing and goes with the last of them. What is left is one page: that command's edge, the other
    # commands with one each, and one that changes nothing.
    await append(ledger, *(edge_begin(f"first-{number}") for number in range(INLINE + CHUNK)))
    head = await ledger.head()
    commands = [a_command(edge_begin(f"e-{number}"), at=now(head)) for number in range(CHUNK)]
    await ledger.append(head, [*commands, replace(a_command(at=now(head)), changes=())])
    assert INLINE % CHUNK == 0
    assert 2 * CHUNK == ROWS
    assert _progress(asleep) == (CHUNK + 2, 0)

    await ledger.materialised()

    assert _progress(asleep) == (CHUNK + 2, CHUNK + 2)
    assert await ledger.check() == []


async def test_the_next_process_finishes_what_one_left(graph: Neo4jStore) -> None:
    """A process that is gone in the middle leaves a backlog, and whoever opens the ledger next works it off."""
    first = await _open(graph)
    await _begin_many(first)
    many = [(f"e-{number}", 1) for number in range(MANY)]
    await append(first, edges_end(*many))
    await first.aclose()

    second = await _open(graph)

    await asyncio.to_thread(wait_until, lambda: _progress(graph) == (3, 3), within_seconds=60)
    assert _count(graph, "WAS_MAY_WRITE") == MANY
    assert await second.check() == []


async def test_appends_go_on_while_a_backlog_is_worked_off(graph: Neo4jStore) -> None:
    """Several ledgers append and work off at once; no change is lost, overtaken or done twice."""
    ledgers = [await _open(graph) for _ in range(3)]
    await _begin_many(ledgers[0])
    await append(ledgers[0], edges_end(*((f"e-{number}", 1) for number in range(MANY))))

    await asyncio.gather(*(_amend(ledger, name) for name, ledger in enumerate(ledgers)))

    await asyncio.gather(*(ledger.materialised() for ledger in ledgers))
    assert _count(graph, "MAY_WRITE") == 3
    assert _count(graph, "WAS_MAY_WRITE") == MANY + 3 * 9
    assert await ledgers[0].check() == []


async def _amend(ledger: Neo4jLedger, name: int) -> None:
    edge_id = f"e-{name}"
    await _append_racing(ledger, [edge_begin(edge_id, 2)])
    for version in range(3, 12):
        await _append_racing(ledger, [edges_end((edge_id, version - 1)), edge_begin(edge_id, version)])


async def _append_racing(ledger: Neo4jLedger, changes: list[Any]) -> None:
    while True:
        try:
            await append(ledger, *changes)
        except HeadMoved:
            continue
        return


async def test_a_large_import_is_materialised_after_the_commit(graph: Neo4jStore) -> None:
    """Not only ends: a command that begins thousands of edges keeps nobody waiting for the graph either."""
    ledger = await _open(graph)

    await append(ledger, *(edge_begin(f"e-{number}") for number in range(MANY)))

    await ledger.materialised()
    assert _progress(graph) == (1, 1)
    assert _count(graph, "MAY_WRITE") == MANY
    assert await ledger.check() == []
