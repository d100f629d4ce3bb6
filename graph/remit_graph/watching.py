"""How a reader waits for the next revision, the same on every ledger.

A listener is there before the first read, and hears of every revision after that, so none is missed between the read
and the wait. What it hears is a hint and nothing more: the reader reads again, unless it knows by then all that the
hint was about. So a process does not read back what it has just appended itself.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import timedelta

    from remit_graph.model.change import Entry

AT_ONCE: Final = 1_000
"""Revisions that are read at once; whoever is further behind asks again."""

UNKNOWN: Final = sys.maxsize
"""The revision of a hint that names none: it is beyond whatever anybody knows."""

BREATH: Final = 4
"""Turns of the event loop from hearing of a revision to reading it: whoever appended it has it by then."""


class Listener:
    """What one reader has heard since it read last; lives on one event loop.

    Attributes:
        seen: Where the ledger was seen to stand a moment before, by whoever has looked ever since; None if nobody has.
    """

    def __init__(self, seen: int | None = None) -> None:
        """Have heard nothing; to be made on a running loop."""
        self.seen = seen
        self._heard = asyncio.Event()
        self._newest = 0

    def hear(self, revision: int) -> None:
        """Hear that the ledger is at `revision` or later; `UNKNOWN` where only something seems to be new."""
        self._newest = max(self._newest, revision)
        self._heard.set()

    def forget(self) -> None:
        """Begin anew: what was heard before is about to be read."""
        self._newest = 0
        self._heard.clear()

    async def beyond(self, known: Callable[[], int]) -> None:
        """Return when something was heard of that is not known by then."""
        while await self._heard.wait():
            for _ in range(BREATH):
                if self._newest <= known():
                    break
                await asyncio.sleep(0)
            if self._newest > known():
                return
            self._heard.clear()


async def wait_for_entries(
    listener: Listener,
    read: Callable[[int, int], Awaitable[Sequence[Entry]]],
    within: timedelta,
    known: Callable[[], int],
) -> Sequence[Entry]:
    """Return up to `AT_ONCE` entries after what is known, as soon as there is one; nothing when the time is over.

    Args:
        listener: Hears of new revisions already.
        read: Returns so many entries after a revision.
        within: The longest wait.
        known: The revision that the caller has by now.
    """
    deadline = asyncio.get_running_loop().time() + within.total_seconds()
    was_read = listener.seen is None or listener.seen > known()
    while True:
        if was_read:
            listener.forget()
            if entries := await read(known(), AT_ONCE):
                return entries
        try:
            async with asyncio.timeout_at(deadline):
                await listener.beyond(known)
            was_read = True
        except TimeoutError:
            # Silence alone proves nothing: whoever looks may have been cut off.
            return [] if was_read else await read(known(), AT_ONCE)
