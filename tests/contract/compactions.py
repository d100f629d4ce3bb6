"""A ledger with a random history, and its compaction as a process of its own would do it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING

from remit_graph.history import Retention
from remit_graph.model.change import Command
from remit_service.clock import SystemClock
from remit_service.keeping.compaction import compact, plan_compaction
from remit_service.replica.replica import Replica
from remit_service.writer.writer import Writer
from tests.support.coordinated_histories import CoordinatedHistory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from remit_graph.model.change import Entry
    from remit_graph.ports import Ledger
    from remit_service.keeping.compaction import Compacted

COMMANDS = 60
FOR_GOOD = Retention(kept_for=timedelta(0))


@asynccontextmanager
async def desk(ledger: Ledger) -> AsyncIterator[tuple[Replica, Writer]]:
    """Run a replica and its writer on a ledger."""
    replica = Replica(ledger, SystemClock())
    writer = Writer(ledger, replica, SystemClock())
    await replica.start()
    await writer.start()
    try:
        yield replica, writer
    finally:
        await writer.aclose()
        await replica.aclose()


async def filled(ledger: Ledger, seed: int) -> Sequence[Entry]:
    """Append a random history of a coordinated realm in one batch."""
    made = CoordinatedHistory(seed)
    commands = [
        Command(action="TEST", actor="system", at=made.at, changes=tuple(changes))
        for changes in islice(made.commands(COMMANDS), COMMANDS)
    ]
    return await ledger.append(await ledger.head(), commands)


async def compacted(ledger: Ledger, revision: int, retention: Retention = FOR_GOOD) -> Compacted:
    """Compact a ledger as a process of its own would."""
    async with desk(ledger) as (replica, writer):
        return await compact(replica, writer.submit, await plan_compaction(ledger, revision), retention)
