"""How a waiting reader learns of a new revision: at once from this process, within a poll from another.

All who wait share one task that looks at the head. It looks often while revisions come, and more and more seldom while
none does. It goes on for a moment when nobody waits, so that a reader who comes back need not read what was just seen
to be the end. Where it cannot look, those who wait are woken, and meet the error of the database themselves.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Final

from remit_graph.errors import LedgerError
from remit_graph.watching import UNKNOWN, Listener

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from remit_graph.neo4j.options import Neo4jOptions

SLOWER: Final = 1.3
"""What each look that finds nothing makes of the pause before the next."""


LINGER_SECONDS: Final = 0.2
"""How long the task goes on looking when nobody waits: whoever follows the tail waits again at once."""


class Bell:
    """Wakes whoever waits for the head to move."""

    def __init__(self, look: Callable[[], Awaitable[int]], options: Neo4jOptions) -> None:
        self._look = look
        self._fast = options.poll_fast.total_seconds()
        self._slow = options.poll_slow.total_seconds()
        self._waiting: set[Listener] = set()
        self._wanted_at = 0.0
        self._seen: int | None = None
        self._polling: asyncio.Task[None] | None = None

    @contextmanager
    def listening(self) -> Iterator[Listener]:
        """Give a listener that hears every ring, and knows what was seen a moment ago."""
        if self._polling is None or self._polling.done():
            self._seen = None
            self._polling = asyncio.create_task(self._poll())
        listener = Listener(self._seen)
        self._waiting.add(listener)
        try:
            yield listener
        finally:
            self._waiting.discard(listener)
            self._wanted_at = monotonic()

    async def aclose(self) -> None:
        """Look no more."""
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)

    def ring(self, revision: int = UNKNOWN) -> None:
        """Tell everyone who waits now that the ledger is at `revision`."""
        for listener in self._waiting:
            listener.hear(revision)

    async def _poll(self) -> None:
        pause = self._fast
        while self._waiting or monotonic() - self._wanted_at < LINGER_SECONDS:
            began = monotonic()
            try:
                revision = await self._look()
            except LedgerError:
                self._seen = None
                self.ring()
                pause = self._slow
            else:
                pause = self._fast if revision != self._seen else min(pause * SLOWER, self._slow)
                if revision != self._seen:
                    self._seen = revision
                    self.ring(revision)
            # Where a look takes long the machine is busy, and those who look are a part of what it is busy with.
            await asyncio.sleep(max(pause, monotonic() - began))
