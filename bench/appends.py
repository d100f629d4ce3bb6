"""Commands through the writer with 1, 8 and 64 callers, with group commit and without, on both stores."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Final

from bench.report import Row, percentiles, tell
from bench.stores import fresh_ledger, name_of, neo4j
from remit_graph.model.change import Change
from remit_service.clock import SystemClock
from remit_service.replica.replica import Replica
from remit_service.writer import writer as of_writer
from remit_service.writer.command import Accepted, Submission
from remit_service.writer.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.neo4j import Neo4jOptions

CALLERS: Final = (1, 8, 64)
THINGS: Final = 200
"""Principals that the commands put, over and over: the graph stays small."""

WARM_UP_SECONDS: Final = 1.0


def rows(seconds: float, *, with_neo4j: bool = True) -> list[Row]:
    """Measure the embedded store and, where there is one, Neo4j."""
    found = _on(None, seconds)
    if with_neo4j:
        with neo4j() as options:
            if options is not None:
                found += _on(options, seconds)
    return found


def _on(options: Neo4jOptions | None, seconds: float) -> list[Row]:
    return [
        asyncio.run(_measured(options, callers, seconds, grouped=grouped))
        for grouped in (False, True)
        for callers in CALLERS
    ]


async def _measured(options: Neo4jOptions | None, callers: int, seconds: float, *, grouped: bool) -> Row:
    how = "group commit" if grouped else "one by one"
    tell(f"appends, {name_of(options)}, {callers} callers, {how}")
    samples: list[float] = []
    with _batches_of(of_writer.MAX_BATCH if grouped else 1):
        async with fresh_ledger(options) as ledger:
            replica = Replica(ledger, SystemClock())
            writer = Writer(ledger, replica, SystemClock())
            await replica.start()
            await writer.start()

            async def call(number: int, until: float) -> None:
                while (began := perf_counter()) < until:
                    await writer.submit(_command(f"service:{number % THINGS}"))
                    samples.append((perf_counter() - began) * 1e6)
                    number += callers

            async def all_for(long: float) -> None:
                until = perf_counter() + long
                await asyncio.gather(*(call(number, until) for number in range(callers)))

            await all_for(min(WARM_UP_SECONDS, seconds))
            samples.clear()
            revision, began, spent = replica.view.revision, perf_counter(), process_time()
            await all_for(seconds)
            taken, cost = perf_counter() - began, process_time() - spent
            done = replica.view.revision - revision
            await writer.aclose()
            await replica.aclose()
    return Row(
        f"appends, {name_of(options)}, {callers} callers, {how}", "", done / taken, percentiles(samples),
        {"commands per CPU second of the client": round(done / cost)},
    )  # fmt: skip


@contextmanager
def _batches_of(most: int) -> Iterator[None]:
    """Let the writer put at most so many commands into one append; nothing but a measurement asks for fewer."""
    before, of_writer.MAX_BATCH = of_writer.MAX_BATCH, most  # type: ignore[misc]
    try:
        yield
    finally:
        of_writer.MAX_BATCH = before  # type: ignore[misc]


def _command(principal: str) -> Submission:
    verdict = Accepted(changes=(Change("principal.put", {"id": principal}),), result={})
    return Submission(action="BENCH", actor="system", decide=lambda _view, _at: verdict)
