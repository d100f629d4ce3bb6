"""Neo4j is killed, frozen and cut off while it is written to: nothing that was acknowledged is lost or done twice."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from remit_graph.errors import HeadMoved, LedgerError, LedgerUnavailable, OutcomeUnknown, RequestReused
from remit_graph.model.change import Change
from remit_graph.neo4j import Neo4jLedger
from remit_graph.neo4j.database import Database, rows_of
from tests.chaos.neo4j_proxy import Proxy, proxy_to
from tests.contract.ledger_commands import a_command, append, edge_begin, edges_end, everything, now
from tests.contract.ledgers import REALM, Neo4jStore, neo4j_store
from tests.support.process import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from neo4j import AsyncManagedTransaction

    from remit_graph.model.change import Command, Entry
    from remit_graph.ports import Ledger

pytestmark = [pytest.mark.neo4j, pytest.mark.chaos]
SHORT = timedelta(milliseconds=500)


@pytest.fixture
async def graph(request: pytest.FixtureRequest) -> AsyncIterator[Neo4jStore]:
    """A database with an empty ledger."""
    made = await neo4j_store(request)
    yield made
    made.server.revive()
    await made.aclose()


@pytest.fixture
async def proxied(graph: Neo4jStore) -> AsyncIterator[tuple[Neo4jLedger, Proxy]]:
    """A ledger that reaches the database through a proxy."""
    async with proxy_to(graph.server.port) as proxy:
        ledger = await Neo4jLedger.open(replace(graph.options, url=f"bolt://127.0.0.1:{proxy.port}"), REALM)
        yield ledger, proxy
        await ledger.aclose()


@pytest.mark.feature("S85")
@pytest.mark.parametrize(("cut", "happened"), [("before", False), ("after", True)])
async def test_a_cut_during_the_commit_is_settled_by_the_request(
    proxied: tuple[Neo4jLedger, Proxy], cut: str, *, happened: bool
) -> None:
    """F075: the append says that it does not know; the request id does, and a repeat never acts twice."""
    ledger, proxy = proxied
    await append(ledger)
    head = await ledger.head()
    command = a_command(edge_begin("g-1"), at=now(head), request_id="r-77", result='{"lease":"l-1"}')

    proxy.cut = cut
    with pytest.raises(OutcomeUnknown) as caught:
        await ledger.append(head, [command])

    assert proxy.cuts == 1
    assert "request ids" in caught.value.advice
    stored = await ledger.result("r-77")
    assert (stored is not None) == happened
    await _repeat(ledger, command, happened=happened)
    assert [entry.request_id for entry in await everything(ledger)] == [None, "r-77"]
    assert await ledger.check() == []


async def _repeat(ledger: Ledger, command: Command, *, happened: bool) -> None:
    head = await ledger.head()
    again = replace(command, at=now(head))
    if not happened:
        assert [entry.revision for entry in await ledger.append(head, [again])] == [2]
        return
    with pytest.raises(RequestReused):
        await ledger.append(head, [again])


@pytest.mark.parametrize(("limit", "cut"), [(10, "at_once"), (2_000, "after")], ids=["of the tail", "of a load"])
async def test_a_cut_read_is_repeated_without_a_word(proxied: tuple[Neo4jLedger, Proxy], limit: int, cut: str) -> None:
    """A read that loses its connection is read again: whoever asked does not notice."""
    ledger, proxy = proxied
    entry = await append(ledger)

    proxy.cut = cut
    found = await ledger.read(0, limit)

    assert (found, proxy.cuts) == ([entry], 1)


@dataclass
class Told:
    """What a writer was told of each request."""

    acknowledged: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


async def _write(ledger: Ledger, name: str, told: Told, stop: asyncio.Event) -> None:
    number = 0
    while not stop.is_set():
        number += 1
        request_id = f"{name}-{number}"
        try:
            head = await ledger.head()
            await ledger.append(head, [_work(name, number, now(head), request_id)])
        except HeadMoved:
            continue
        except OutcomeUnknown:
            told.unknown.append(request_id)
        except LedgerUnavailable:
            told.refused.append(request_id)
        else:
            told.acknowledged.append(request_id)


def _work(name: str, number: int, at: int, request_id: str) -> Command:
    lease = Change("lease.put", {"id": f"{name}-{number % 5}", "holder": "instance:seo-7"})
    begin = edge_begin(f"{name}-{number}")
    changes = [begin, lease] if number % 2 else [begin, edges_end((f"{name}-{number}", 1))]
    return a_command(*changes, at=at, request_id=request_id)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_killed_database_loses_nothing_that_was_acknowledged(graph: Neo4jStore) -> None:
    """Kill -9 under load, and start again: every acknowledged request is there, every other one there once or not."""
    options = replace(graph.options, retry_for=SHORT, connect_within=SHORT)
    ledgers = [await Neo4jLedger.open(options, REALM) for _ in range(3)]
    told, stop = Told(), asyncio.Event()
    tail: list[int] = []
    writing = [asyncio.create_task(_write(each, f"w{n}", told, stop)) for n, each in enumerate(ledgers)]
    tailing = asyncio.create_task(_tail(ledgers[0], tail, stop))

    await _more(told.acknowledged, 30)
    await asyncio.to_thread(graph.server.kill)
    await _more(told.refused, 1)
    await asyncio.to_thread(graph.server.start)
    await _more(told.acknowledged, 10)

    stop.set()
    await asyncio.gather(*writing, tailing)
    entries = await everything(ledgers[0])
    appended = [entry.request_id for entry in entries]
    assert set(told.acknowledged) <= set(appended)
    assert not set(told.refused) & set(appended)
    assert len(appended) == len(set(appended)) == len(told.acknowledged) + len(set(told.unknown) & set(appended))
    assert tail == list(range(1, len(tail) + 1))
    assert len(tail) <= len(entries)
    await ledgers[0].materialised()
    assert await ledgers[0].check() == []
    for each in ledgers:
        await each.aclose()


async def _tail(ledger: Ledger, seen: list[int], stop: asyncio.Event) -> None:
    while not stop.is_set():
        try:
            entries: list[Entry] = list(await ledger.watch(len(seen), timedelta(seconds=1)))
        except LedgerError:
            await asyncio.sleep(0.05)
            continue
        seen.extend(entry.revision for entry in entries)


async def _more(told: list[str], number: int) -> None:
    """Return when so many more were told."""
    least = len(told) + number
    await asyncio.to_thread(wait_until, lambda: len(told) >= least, within_seconds=90)


async def test_a_frozen_database_is_given_up_and_comes_back(graph: Neo4jStore) -> None:
    """A server that holds its connections and answers nothing is unavailable within a bound; after that all is well."""
    # The first of each query is planned, which takes a new server longer than the bound that is tried here.
    patient = await graph.open()
    entry = await append(patient)
    assert await patient.read(0, 10) == [entry]
    assert (await patient.head()).revision == 1
    options = replace(graph.options, retry_for=SHORT, connect_within=SHORT, hold_at_most=SHORT)
    ledger = await Neo4jLedger.open(options, REALM)
    # As many connections as are used below: opening one plans queries of the server's own.
    head, *_ = await asyncio.gather(*(ledger.head() for _ in range(4)))

    graph.server.pause()
    try:
        for act in (ledger.head(), ledger.read(0, 1), ledger.append(head, [a_command(at=now(head))])):
            with pytest.raises(LedgerUnavailable, match="does not answer"):
                await act
    finally:
        graph.server.resume()

    assert await ledger.read(0, 10) == [entry]
    assert (await append(ledger)).revision == 2
    await ledger.aclose()


async def test_a_writer_that_stops_keeps_nobody_waiting_for_ever(graph: Neo4jStore) -> None:
    """A process that was stopped with the head locked is ended by the database, and the others go on."""
    second, some = timedelta(seconds=1), timedelta(seconds=5)
    stopped = Database(replace(graph.options, hold_at_most=second, retry_for=some, connect_within=some))
    locked, never = asyncio.Event(), asyncio.Event()

    async def hold(transaction: AsyncManagedTransaction) -> None:
        await rows_of(transaction, "lock_head", realm=REALM, lock="held")
        locked.set()
        await never.wait()

    holding = asyncio.create_task(stopped.write(hold))
    await locked.wait()
    ledger = await graph.open()

    entry = await append(ledger)

    assert entry.revision == 1
    with pytest.raises(LedgerUnavailable):
        await holding
    await stopped.aclose()


async def test_a_pool_that_is_full_is_no_silent_database(graph: Neo4jStore) -> None:
    """Whoever waits for a connection that others hold is told so, and not that the server is gone."""
    full = Database(replace(graph.options, connections=1, connect_within=SHORT))
    held, free = asyncio.Event(), asyncio.Event()

    async def hold(_: AsyncManagedTransaction) -> None:
        held.set()
        await free.wait()

    holding = asyncio.create_task(full.write(hold))
    await held.wait()

    try:
        for ask in (full.alone("head", realm=REALM), full.read("head", realm=REALM)):
            with pytest.raises(LedgerUnavailable, match="had no free connection"):
                await ask
    finally:
        free.set()
        await holding
        await full.aclose()


@pytest.mark.slow
async def test_a_deadlock_with_an_engineer_reaches_no_caller(graph: Neo4jStore) -> None:
    """F074: a transaction by hand that locks in the other order costs an append a repeat and nothing else."""
    ledger = await graph.open()
    await append(ledger, Change("principal.put", {"id": "instance:seo-7"}))
    by_hand = Database(graph.options)

    for number in range(10):
        head = await ledger.head()
        put = Change("principal.put", {"id": "instance:seo-7", "trust": number})
        edit, entries = await asyncio.gather(
            by_hand.write(_touch_node_then_head), ledger.append(head, [a_command(put, at=now(head))])
        )
        assert edit is None
        assert [entry.revision for entry in entries] == [number + 2]

    await by_hand.aclose()


async def _touch_node_then_head(transaction: AsyncManagedTransaction) -> None:
    touched = await transaction.run("MATCH (p:Principal {id: 'instance:seo-7'}) SET p.touched = true")
    await touched.consume()
    await asyncio.sleep(0.02)
    await rows_of(transaction, "lock_head", realm=REALM, lock="by hand")


async def test_twenty_revocations_under_one_owner_find_an_order(graph: Neo4jStore) -> None:
    """F074: twenty at once, each of fifty edges of one owner, all succeed, and the ledger shows one order."""
    ledger = await graph.open()
    edges = [f"e-{number}" for number in range(1_000)]
    await append(ledger, *(edge_begin(edge_id) for edge_id in edges))

    await asyncio.gather(*(_revoke(ledger, edges[start : start + 50]) for start in range(0, 1_000, 50)))

    assert [entry.revision for entry in await everything(ledger)] == list(range(1, 22))
    assert graph.server.query("MATCH ()-[e:MAY_WRITE]->() RETURN count(e) AS edges") == [{"edges": 0}]
    assert graph.server.query("MATCH ()-[e:WAS_MAY_WRITE]->() RETURN count(e) AS edges") == [{"edges": 1_000}]
    assert await ledger.check() == []


async def _revoke(ledger: Ledger, edge_ids: list[str]) -> None:
    while True:
        try:
            await append(ledger, edges_end(*((edge_id, 1) for edge_id in edge_ids)))
        except HeadMoved:
            continue
        return


@pytest.mark.feature("S83")
async def test_of_fifty_creations_of_one_principal_one_creates_it(graph: Neo4jStore) -> None:
    """F071: fifty at once, each with its own request id: one creates it, the others find it and are told so."""
    ledger = await graph.open()

    told = await asyncio.gather(*(_create(ledger, f"r-{number}") for number in range(50)))

    assert sorted(told) == ["created"] + ["it exists"] * 49
    nodes = graph.server.query("MATCH (p:Principal {id: 'instance:seo-7'}) RETURN count(p) AS nodes")
    assert nodes == [{"nodes": 1}]
    assert (await ledger.head()).revision == 1


async def _create(ledger: Ledger, request_id: str) -> str:
    name = "instance:seo-7"
    while True:
        head = await ledger.head()
        made = {change.body["id"] for entry in await ledger.read(0, 100) for change in entry.changes}
        if name in made:
            return "it exists"
        try:
            put = Change("principal.put", {"id": name})
            await ledger.append(head, [a_command(put, at=now(head), request_id=request_id)])
        except HeadMoved:
            continue
        return "created"


@pytest.mark.feature("S85")
async def test_fifty_at_once_share_one_driver(graph: Neo4jStore) -> None:
    """F073: parallel reads and appends of one ledger each get their own answer, over one pool."""
    ledger = await graph.open()
    assert isinstance(ledger, Neo4jLedger)
    await append(ledger, request_id="r-0")

    answers = await asyncio.gather(*(ledger.result(f"r-{number % 2}") for number in range(50)))

    assert [None if each is None else each.request_id for each in answers] == ["r-0", None] * 25
