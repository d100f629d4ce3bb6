"""What turns are worth: four replicas that append as fast as they may, each a process, with turns and without.

Commands arrive at an open rate, whatever becomes of those before. What counts is how many of them a replica had
appended when the time was over; latencies are of those, from the instant each was due. A machine that cannot carry the
rate is asked again for what it carried, less a quarter: shares are about whose turn it is, not about how fast that is.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Final

from bench.report import Row, percentiles, tell
from bench.stores import REALM, neo4j, options_of
from remit_graph.model.change import Change, Command
from remit_graph.neo4j import Neo4jLedger
from remit_graph.neo4j.remove import remove
from remit_graph.sqlite.ledger import SqliteLedger
from remit_service.clock import SystemClock
from remit_service.replica.replica import Replica
from remit_service.writer.command import Accepted, Submission
from remit_service.writer.writer import Writer

if TYPE_CHECKING:
    from remit_graph.ports import Ledger

REPLICAS: Final = 4
RATE: Final = 250
"""Commands a second of each."""

CARRIED: Final = 0.9
"""Less of what was offered than this is more than the machine can carry."""

LESS: Final = 0.75
"""Of what was carried, what is offered the next time."""

TARGET: Final = "each replica within 20 % of its share"
THINGS: Final = 50
"""Principals of each replica that its commands put, over and over: the graph stays small."""

WARM_UP: Final = 300
"""Appends before anything is measured: a server that has just started compiles its queries and itself."""


def rows(seconds: float, *, with_neo4j: bool = True) -> list[Row]:
    """Measure both stores, with turns and without."""
    found = []
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as folder:
        for in_turn in (False, True):
            address = {"path": str(Path(folder) / f"remit-{in_turn}.db")}
            asyncio.run(_make(address))
            found.append(_row("sqlite", address, seconds, in_turn=in_turn))
    if with_neo4j:
        with neo4j() as options:
            if options is not None:
                address = {"url": options.url, "user": options.user, "password": options.password}
                found += _on_neo4j(address, seconds)
    return found


def _on_neo4j(address: dict[str, Any], seconds: float) -> list[Row]:
    found = []
    for in_turn in (False, True):
        asyncio.run(_make(address))
        found.append(_row("neo4j", address, seconds, in_turn=in_turn))
    carried = found[-1].per_second or 0.0
    if 0 < carried < CARRIED * RATE * REPLICAS:
        rate = max(1, int(carried * LESS / REPLICAS))
        asyncio.run(_make(address))
        # The fewer turns there are, the longer it takes until they even out.
        found.append(_row("neo4j", address, seconds * 3, in_turn=True, rate=rate))
    return found


async def _make(address: dict[str, Any]) -> None:
    """Found an empty ledger, in Neo4j in the place of the one before."""
    if "path" in address:
        ledger: Ledger = await SqliteLedger.init(Path(address["path"]), REALM)
    else:
        await remove(options_of(address))
        ledger = await Neo4jLedger.init(options_of(address), REALM)
    for number in range(WARM_UP):
        head = await ledger.head()
        command = Command(
            action="BENCH", actor="system", at=max(head.now, head.at), changes=_changes(f"service:{number % THINGS}")
        )
        await ledger.append(head, [command] * (1 + number % 4))
    await ledger.aclose()


async def _open(address: dict[str, Any]) -> Ledger:
    if "path" in address:
        return await SqliteLedger.open(Path(address["path"]))
    return await Neo4jLedger.open(options_of(address))


def _row(store: str, address: dict[str, Any], seconds: float, *, in_turn: bool, rate: int = RATE) -> Row:
    how = "with turns" if in_turn else "without turns"
    tell(f"{REPLICAS} replicas of {rate} commands/s append to {store} {how}")
    told = [_start(address, seconds, name, rate, in_turn=in_turn) for name in range(REPLICAS)]
    for each in told:
        each.stdout.readline()
    for each in told:
        each.stdin.write(b"go\n")
        each.stdin.flush()
    # What a replica logs comes before its figures.
    ended = [json.loads(each.communicate()[0].splitlines()[-1]) for each in told]
    got = [each["taken"] for each in ended]
    each_second = [round(len(one) / seconds, 1) for one in got]
    share = sum(each_second) / REPLICAS
    facts = {
        "commands_per_second_of_each": each_second,
        "offered_to_each": rate,
        "furthest_from_an_equal_share": f"{max(abs(one / share - 1) for one in each_second):.0%}" if share else "-",
        "p99_ms_of_each": [round(percentiles(one).get("p99", 0) / 1_000, 1) for one in got],
        "failed_of_each": [each["failed"] for each in ended],
        "cpu_seconds_of_each": [each["cpu_seconds"] for each in ended],
    }
    return Row(
        f"{REPLICAS} x {rate} commands/s, {store}, {how}", TARGET if in_turn else "", sum(each_second),
        percentiles([one for some in got for one in some]), facts,
    )  # fmt: skip


def _start(address: dict[str, Any], seconds: float, name: int, rate: int, *, in_turn: bool) -> Any:
    told = [json.dumps(address), str(seconds), str(name), str(rate), str(int(in_turn))]
    command = [sys.executable, "-m", "bench.turns", *told]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def replicate(address: dict[str, Any], seconds: float, name: str, rate: int, *, in_turn: bool) -> dict[str, Any]:
    """Append at a rate for a while, as one of the replicas; return the microseconds each command took, and the cost."""
    clock = SystemClock()
    ledger = await _open(address)
    replica = Replica(ledger, clock)
    writer = Writer(ledger, replica, clock, in_turn=in_turn)
    await replica.start()
    await writer.start()
    await asyncio.gather(*(writer.submit(_command(f"service:{name}-{number}")) for number in range(THINGS)))
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    taken: list[float] = []
    started, spent = perf_counter(), process_time()

    async def one(number: int, due: float) -> None:
        await writer.submit(_command(f"service:{name}-{number % THINGS}"))
        taken.append((perf_counter() - due) * 1e6)

    tasks = []
    for number in range(int(rate * seconds)):
        due = started + number / rate
        if (early := due - perf_counter()) > 0:
            await asyncio.sleep(early)
        tasks.append(asyncio.create_task(one(number, due)))
    await asyncio.sleep(max(0.0, started + seconds - perf_counter()))
    in_time, cost = list(taken), process_time() - spent
    failed = sum(1 for task in tasks if task.done() and task.exception() is not None)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await writer.aclose()
    await replica.aclose()
    await ledger.aclose()
    return {"taken": in_time, "failed": failed, "cpu_seconds": round(cost, 2)}


def _command(principal: str) -> Submission:
    verdict = Accepted(changes=_changes(principal), result={})
    return Submission(action="BENCH", actor="system", decide=lambda _view, _at: verdict)


def _changes(principal: str) -> tuple[Change, ...]:
    return (Change("principal.put", {"id": principal}),)


if __name__ == "__main__":
    where, how_long, who, often, fairly = sys.argv[1:]
    print(
        json.dumps(asyncio.run(replicate(json.loads(where), float(how_long), who, int(often), in_turn=fairly == "1")))
    )
