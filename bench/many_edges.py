"""A graph of a million edges in Neo4j: how long it takes to go in, to start a decision point on it, and to decide.

The log goes in first, as a first world does, in commands of 20,000 changes. The graph that people query follows after the
commit; it is measured for a while, and the row says how far it came. A start reads the newest checkpoint. No decision
reads the graph of Neo4j, so what a decision costs is what it costs on any store.
"""

from __future__ import annotations

import asyncio
import json
import sys
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Self

from bench.inprocess import measure, shipped
from bench.load_graph import fill
from bench.report import Row, in_a_process, memory_mib, percentiles, tell
from bench.stores import REALM, neo4j, options_of
from bench.world import base, beside, chain, view_of
from remit_graph.neo4j import Neo4jLedger
from remit_graph.neo4j.backlog import advance
from remit_graph.neo4j.database import Database
from remit_service.clock import SystemClock
from remit_service.keeping.checkpoints import keep_checkpoint
from remit_service.replica.loading import without_collections
from remit_service.replica.replica import Replica
from remit_service.writer.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from remit_graph.neo4j import Neo4jOptions

GRAPH_SECONDS = 60.0
"""How long the graph that people query is watched growing."""

DECISIONS = 5_000
ELEMENTS = "MATCH (node) WITH count(node) AS nodes MATCH ()-[edge]->() RETURN nodes, count(edge) AS relationships"


def rows(edges: int) -> list[Row]:
    """Fill a Neo4j, then start on it by replay and from a checkpoint, each in a process of its own."""
    with neo4j() as options:
        if options is None:
            return []
        told = {what: _in_a_process(what, options, edges) for what in ("fill", "graph", "keep", "load")}
    common = {"edges": edges, "store": "neo4j"}
    start, latency = told["load"], told["load"].pop("latency_us")
    return [
        Row("a world into the log of Neo4j", "", edges / told["fill"]["seconds"], {}, {**common, **told["fill"]}),
        Row("the graph of Neo4j after it", "", told["graph"].pop("elements_per_second"), {}, {**common, **told["graph"]}),
        Row("a start by replay from Neo4j, and a checkpoint", "", edges / told["keep"]["seconds"], {}, {**common, **told["keep"]}),
        Row("a start from the checkpoint in Neo4j", "1,000,000 edges <= 60 s, <= 1.5 GiB", edges / start["seconds"], {}, {**common, **start}),
        Row(f"decision among {edges:,} edges, Neo4j", "p99 <= 1.5 x small graph", None, latency, {"p99 against the small graph": start["p99_ratio"]}),
    ]  # fmt: skip


def _in_a_process(what: str, options: Neo4jOptions, edges: int) -> dict[str, Any]:
    tell(f"{edges:,} edges on Neo4j: {what}")
    address = json.dumps({"url": options.url, "user": options.user, "password": options.password})
    found: dict[str, Any] = in_a_process("bench.many_edges", what, address, str(edges))
    return found


async def _fill(options: Neo4jOptions, edges: int) -> dict[str, Any]:
    ledger = await Neo4jLedger.init(options, REALM)
    changes = [*base(), *chain(2), *beside(edges)]
    with _timed() as taken, without_collections():
        await fill(ledger, changes)
    await ledger.aclose()
    return {**taken, "changes": len(changes)}


async def _graph(options: Neo4jOptions, _edges: int) -> dict[str, Any]:
    database = Database(options)

    async def elements() -> int:
        async with database.driver.session() as session:
            record = await (await session.run(ELEMENTS)).single(strict=True)
            return int(record["nodes"]) + int(record["relationships"])

    before, began, more = await elements(), perf_counter(), True
    while more and perf_counter() - began < GRAPH_SECONDS:
        more = await advance(database, REALM)
    taken = perf_counter() - began
    made = await elements() - before
    await database.aclose()
    return {"seconds": round(taken, 1), "is_whole": not more, "elements": made, "elements_per_second": made / taken}


async def _keep(options: Neo4jOptions, _edges: int) -> dict[str, Any]:
    ledger, replica, taken = await _loaded(options)
    writer = Writer(ledger, replica, SystemClock())
    await writer.start()
    with _timed() as kept:
        checkpoint = await keep_checkpoint(replica, writer.submit)
    await writer.aclose()
    await ledger.aclose()
    return {**taken, "checkpoint_mb": round(checkpoint.size / 1e6, 1), "checkpoint_seconds": kept["seconds"]}


async def _load(options: Neo4jOptions, _edges: int) -> dict[str, Any]:
    ledger, replica, taken = await _loaded(options)
    await ledger.aclose()
    policy, small = shipped(), view_of(base(), chain(2))
    figures = {}
    for name, view in (("small", small), ("large", replica.view)):
        measure(policy, view, 200)
        figures[name] = percentiles(measure(policy, view, DECISIONS))
    ratio = round(figures["large"]["p99"] / figures["small"]["p99"], 2)
    return {**taken, "latency_us": figures["large"], "p99_ratio": ratio, "p50_small_us": round(figures["small"]["p50"])}


async def _loaded(options: Neo4jOptions) -> tuple[Neo4jLedger, Replica, dict[str, Any]]:
    with _timed() as taken:
        ledger = await Neo4jLedger.open(options)
        # The graph is another case.
        await ledger._backlog.aclose()  # noqa: SLF001
        replica = Replica(ledger, SystemClock())
        await replica.load()
    found = {"edges_found": len(replica.view.edges), "rows_replayed": replica.rows_replayed}
    return ledger, replica, {**taken, **found, "memory_mib": round(memory_mib())}


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
    "graph": _graph,
    "keep": _keep,
    "load": _load,
}

if __name__ == "__main__":
    what, address, edges = sys.argv[1:]
    print(json.dumps(asyncio.run(WORK[what](options_of(json.loads(address)), int(edges)))))
