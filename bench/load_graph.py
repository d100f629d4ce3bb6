"""How long a decision point takes to load a graph from its ledger, with and without a checkpoint, and the memory."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from bench.report import Row, in_a_process, memory_mib, tell
from bench.world import base, beside, chain
from remit_graph.model.change import Command
from remit_graph.sqlite.ledger import SqliteLedger
from remit_service.clock import SystemClock
from remit_service.keeping.checkpoints import keep_checkpoint
from remit_service.replica.loading import without_collections
from remit_service.replica.replica import Replica
from remit_service.writer.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from remit_graph.model.change import Change, Entry
    from remit_graph.ports import Ledger

CHUNK = 20_000


def rows(edges: int) -> list[Row]:
    """Fill a store with a graph, then load it by replay and from a checkpoint, each in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as folder:
        path = Path(folder) / "remit.db"
        tell(f"a graph of {edges:,} edges goes into the ledger")
        filled = _in_a_process("fill", path, edges)
        tell("it is loaded by replay")
        replayed = _in_a_process("load", path, edges)
        tell("a checkpoint is made")
        kept = _in_a_process("keep", path, edges)
        tell("it is loaded from the checkpoint")
        restored = _in_a_process("load", path, edges)
    common = {"edges": edges, "store": "sqlite"}
    return [
        Row("append a world", "", edges / filled["seconds"], {}, {**common, **filled}),
        Row("load by replay", "", edges / replayed["seconds"], {}, {**common, **replayed}),
        Row("make a checkpoint", "", edges / kept["seconds"], {}, {**common, **kept}),
        Row(
            "load from a checkpoint", "1,000,000 edges <= 60 s, <= 1.5 GiB", edges / restored["seconds"], {},
            {**common, **restored},
        ),
    ]  # fmt: skip


def _in_a_process(what: str, path: Path, edges: int) -> dict[str, Any]:
    found: dict[str, Any] = in_a_process("bench.load_graph", what, str(path), str(edges))
    return found


async def fill(ledger: Ledger, changes: Iterable[Change], *, note: Callable[[Entry], None] = lambda _: None) -> int:
    """Append changes in chunks of 20,000, as a first world enters, tell `note` each revision; return how many."""
    rest, done = iter(changes), 0
    while some := list(islice(rest, CHUNK)):
        head = await ledger.head()
        command = Command(action="APPLY_WORLD", actor="system", at=max(head.now, head.at), changes=tuple(some))
        for entry in await ledger.append(head, [command]):
            note(entry)
        done += len(some)
    return done


async def _work(what: str, path: Path, edges: int) -> dict[str, Any]:
    started, cpu = perf_counter(), process_time()
    facts: dict[str, Any] = {}
    if what == "fill":
        ledger = await SqliteLedger.init(path, "bench")
        with without_collections():
            await fill(ledger, [*base(), *chain(2), *beside(edges)])
    else:
        ledger = await SqliteLedger.open(path)
        replica = Replica(ledger, SystemClock())
        await replica.load()
        facts = {"edges_found": len(replica.view.edges), "rows_replayed": replica.rows_replayed}
        if what == "keep":
            writer = Writer(ledger, replica, SystemClock())
            await writer.start()
            started, cpu = perf_counter(), process_time()
            facts = {"checkpoint_mb": round((await keep_checkpoint(replica, writer.submit)).size / 1e6, 1)}
            await writer.aclose()
    taken = {"seconds": round(perf_counter() - started, 2), "cpu_seconds": round(process_time() - cpu, 2)}
    await ledger.aclose()
    return {**taken, **facts, "memory_mib": round(memory_mib())}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_work(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))))
