"""The embedded ledger under a game: one file, opened by each writer, with its threads out of the way.

What threads do in an order of their own is done at once here, so that a seed always plays the same game. That the lanes
themselves keep their promises is for the contract suite and the chaos tests to show.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from remit_graph.sqlite.lane import Lane
from remit_graph.sqlite.ledger import SqliteLedger
from remit_graph.sqlite.options import SqliteOptions
from tests.model.stores import WRITERS, play_on
from tests.support.quick_folder import quick_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

AT_ONCE: Final = 32
FAR: Final = 4_000_000_000_000_000
"""The store's clock: beyond all clocks of a game, since no `at` may be ahead of it."""


async def _at_once(self: Lane, work: Any) -> Any:
    return self._do(work)


@asynccontextmanager
async def ledgers() -> AsyncIterator[Sequence[SqliteLedger]]:
    """Open one new file as often as there are writers."""
    options = SqliteOptions(clock=lambda: FAR, poll_interval=timedelta(hours=1), readers=1)
    with quick_folder() as folder, patch.object(Lane, "run", _at_once):
        path = folder / "ledger.db"
        opened = [await SqliteLedger.init(path, "bench", options=options)]
        try:
            opened += [await SqliteLedger.open(path, options=options) for _ in range(WRITERS - 1)]
            yield opened
        finally:
            for each in opened:
                await each.aclose()


async def _game(seed: int, count: int) -> int:
    async with ledgers() as opened:
        return await play_on("sqlite", opened, seed, count, AT_ONCE)


def play(seed: int, count: int) -> int:
    """Play one game on the embedded ledger; returns how many commands were sent.

    Raises:
        Found: a law is broken.
    """
    return asyncio.run(_game(seed, count))
