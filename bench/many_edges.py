"""A graph of a million edges in Neo4j: how long it takes to go in, to start a decision point on it, and to decide.

It goes in as `remit store import` brings a large world in: into a ledger that is not finished, the log first, in commands
of 20,000 changes, and a checkpoint at the end. A start reads that checkpoint. No decision reads the graph of Neo4j, so
what a decision costs is what it costs on any store. The graph that people query follows; how fast is measured for a
while, and the row says how far it came.
"""

from __future__ import annotations

import asyncio
import json
import sys
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Final, Self

from bench.inprocess import measure, shipped
from bench.load_graph import fill
from bench.report import Row, in_a_process, memory_mib, percentiles, tell
from bench.stores import REALM, neo4j, options_of
from bench.world import base, beside, chain, view_of
from remit_graph.head import Beginning, State, new_store_id
from remit_graph.model.change import SCHEMA
from remit_graph.neo4j import Neo4jLedger
from remit_graph.neo4j.backlog import advance
from remit_graph.neo4j.database import Database
from remit_graph.view.apply import apply
from remit_graph.view.state import View
from remit_service.clock import SystemClock
from remit_service.keeping.checkpoints import keep_checkpoint
from remit_service.replica.loading import without_collections
from remit_service.replica.replica import Replica
from remit_service.writer.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from remit_graph.model.change import Change, Entry
    from remit_graph.neo4j import Neo4jOptions

GRAPH_SECONDS: Final = 60.0
"""How long the graph that people query is watched growing."""

TELL_SECONDS: Final = 10.0
DECISIONS: Final = 5_000
START: Final = "1,000,000 edges <= 60 s, <= 1.5 GiB"
ELEMENTS: Final = "RETURN COUNT { MATCH (node) } + COUNT { MATCH ()-[edge]->() } AS elements"
UNFINISHED: Final = frozenset({State.UNFINISHED})


def rows(edges: int) -> list[Row]:
    """Fill a Neo4j, start on it in a process of its own, and let its graph grow for a while."""
    with neo4j() as options:
        if options is None:
            return []
        told = {what: _in_a_process(what, options, edges) for what in WORK}
    common = {"edges": edges, "store": "neo4j"}
    fill, start, graph = (told[what] for what in WORK)
    latency = start.pop("latency_us")
    return [
        Row("a world into the log of Neo4j", "", edges / fill["seconds"], {}, {**common, **fill}),
        Row("a start from the checkpoint in Neo4j", START, edges / start["seconds"], {}, {**common, **start}),
        Row(f"decision among {edges:,} edges, Neo4j", "p99 <= 1.5 x small graph", None, latency, {"p99 against the small graph": start["p99_ratio"]}),
        Row("elements of the graph of Neo4j after it", "", graph.pop("elements_per_second"), {}, {**common, **graph}),
    ]  # fmt: skip


def _in_a_process(what: str, options: Neo4jOptions, edges: int) -> dict[str, Any]:
    tell(f"{edges:,} edges on Neo4j: {what}")
    address = json.dumps({"url": options.url, "user": options.user, "password": options.password})
    found: dict[str, Any] = in_a_process("bench.many_edges", what, address, str(edges))
    tell(f"{edges:,} edges on Neo4j: {what}: {found}")
    return found


def _changes(edges: int) -> Iterator[Change]:
    yield from (*base(), *chain(2))
    yield from beside(edges)


async def _fill(options: Neo4jOptions, edges: int) -> dict[str, Any]:
    begins = Beginning(store_id=new_store_id(), incarnation=1, schema=SCHEMA, needs="", note="a benchmark")
    ledger = await Neo4jLedger.init(options, REALM, beginning=begins)
    view = View()
    with _timed() as taken, without_collections():
        changes = await fill(ledger, _changes(edges), note=_entered(view))
    with _timed() as kept:
        checkpoint = await _keep(ledger, view)
    await ledger.aclose()
    return {
        **taken, "changes": changes, "checkpoint_mb": round(checkpoint / 1e6, 1),
        "checkpoint_seconds": kept["seconds"], "memory_mib": round(memory_mib()),
    }  # fmt: skip


def _entered(view: View) -> Callable[[Entry], None]:
    """Return what brings a view along, and tells now and then how far it is."""
    began = told_at = perf_counter()

    def note(entry: Entry) -> None:
        nonlocal told_at
        apply(view, entry)
        if perf_counter() - told_at > TELL_SECONDS:
            told_at = perf_counter()
            tell(f"  {len(view.edges):,} edges in {told_at - began:.0f} s")

    return note


async def _keep(ledger: Neo4jLedger, view: View) -> int:
    """Make a checkpoint of a view, and keep it; returns its bytes."""
    replica = Replica(ledger, SystemClock())
    replica.view, replica.head = view, await ledger.head()
    writer = Writer(ledger, replica, SystemClock())
    await writer.start()
    kept = await keep_checkpoint(replica, writer.submit)
    await writer.aclose()
    return kept.size


async def _start(options: Neo4jOptions, edges: int) -> dict[str, Any]:
    with _timed() as taken:
        ledger = await Neo4jLedger.open(options, accepts=UNFINISHED)
        replica = Replica(ledger, SystemClock())
        await replica.load()
    await ledger.aclose()
    found = {"edges_found": len(replica.view.edges), "rows_replayed": replica.rows_replayed}
    if found["edges_found"] < edges:
        raise AssertionError(f"{found['edges_found']} edges of {edges} were found")
    memory = round(memory_mib())
    policy, small = shipped(), view_of(base(), chain(2))
    figures = {}
    for name, view in (("small", small), ("large", replica.view)):
        measure(policy, view, 200)
        figures[name] = percentiles(measure(policy, view, DECISIONS))
    ratio = round(figures["large"]["p99"] / figures["small"]["p99"], 2)
    small_us = round(figures["small"]["p50"])
    return {
        **taken, **found, "memory_mib": memory, "latency_us": figures["large"], "p99_ratio": ratio,
        "p50_small_us": small_us,
    }  # fmt: skip


async def _graph(options: Neo4jOptions, _edges: int) -> dict[str, Any]:
    database = Database(options)

    async def elements() -> int:
        async with database.driver.session() as session:
            record = await (await session.run(ELEMENTS)).single(strict=True)
            return int(record["elements"])

    before, began, more = await elements(), perf_counter(), True
    while more and perf_counter() - began < GRAPH_SECONDS:
        more = await advance(database, REALM)
    taken = perf_counter() - began
    made = await elements() - before
    await database.aclose()
    return {"seconds": round(taken, 1), "is_whole": not more, "elements": made, "elements_per_second": made / taken}


class _timed(dict[str, Any]):  # noqa: N801 - read as a word: `with _timed() as taken`
    """Seconds of the clock and of this process's own work, there when the block has ended."""

    def __enter__(self) -> Self:
        self._began = perf_counter(), process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self["seconds"] = round(perf_counter() - self._began[0], 2)
        self["cpu_seconds"] = round(process_time() - self._began[1], 2)


WORK: dict[str, Callable[[Neo4jOptions, int], Coroutine[Any, Any, dict[str, Any]]]] = {
    "fill": _fill,
    "start": _start,
    "graph": _graph,
}

if __name__ == "__main__":
    what, address, edges = sys.argv[1:]
    print(json.dumps(asyncio.run(WORK[what](options_of(json.loads(address)), int(edges)))))
