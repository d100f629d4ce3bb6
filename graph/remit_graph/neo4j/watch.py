"""How a waiting reader learns of a new revision: at once from this process, within a poll from another.

All who wait share one task that looks at the head. It looks often while revisions come, and more and more seldom while
none does. Where it cannot look, those who wait are woken, and meet the error of the database themselves.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from remit_graph.errors import LedgerError
from remit_graph.watching import UNKNOWN, Listener

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from remit_graph.neo4j.options import Neo4jOptions

SLOWER: Final = 1.3
"""What each look that finds nothing makes of the pause before the next."""


class Bell:
    """Wakes whoever waits for the head to move."""

    def __init__(self, look: Callable[[], Awaitable[int]], options: Neo4jOptions) -> None:
        self._look = look
        self._fast = options.poll_fast.total_seconds()
        self._slow = options.poll_slow.total_seconds()
        self._waiting: set[Listener] = set()
        self._polling: asyncio.Task[None] | None = None

    @contextmanager
    def listening(self) -> Iterator[Listener]:
        """Give a listener that hears every ring."""
        listener = Listener()
        self._waiting.add(listener)
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll())
        try:
            yield listener
        finally:
            self._waiting.discard(listener)
            if not self._waiting and self._polling is not None:
                self._polling.cancel()
                self._polling = None

    def ring(self, revision: int = UNKNOWN) -> None:
        """Tell everyone who waits now that the ledger is at `revision`."""
        for listener in self._waiting:
            listener.hear(revision)

    async def _poll(self) -> None:
        seen: int | None = None
        pause = self._fast
        while True:
            try:
                revision = await self._look()
            except LedgerError:
                self.ring()
                pause = self._slow
            else:
                pause = self._fast if revision != seen else min(pause * SLOWER, self._slow)
                if revision != seen:
                    seen = revision
                    self.ring(revision)
            await asyncio.sleep(pause)
