"""What has arrived and is not taken yet: renewals apart, since they go first and into whatever batch is next."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit_service.writer.command import Waiting

BREATH: Final = 2
"""Turns of the event loop between the first arrival and the batch.

One append wakes several callers, some of them a turn later than others, as whoever waits in a queue. What they ask next
fits into one append instead of two: half of the appends, where a key is handed from one to the next.
"""


class Arrivals:
    """Submissions in the order they came, renewals before all others."""

    def __init__(self) -> None:
        """Nothing has arrived."""
        self._renewals: deque[Waiting] = deque()
        self._others: deque[Waiting] = deque()
        self._some = asyncio.Event()

    def put(self, waiting: Waiting) -> None:
        """Let a submission wait for the next batch."""
        (self._renewals if waiting.submission.is_renewal else self._others).append(waiting)
        self._some.set()

    def put_back(self, waiting: Iterable[Waiting]) -> None:
        """Let submissions that were taken wait again, before all others."""
        for each in reversed([*waiting]):
            (self._renewals if each.submission.is_renewal else self._others).appendleft(each)
            self._some.set()

    async def wait(self) -> None:
        """Return when something is there."""
        await self._some.wait()

    async def take(self, at_most: int) -> list[Waiting]:
        """Wait until something is there, and take it with what comes in the same breath."""
        await self.wait()
        for _ in range(BREATH):
            await asyncio.sleep(0)
        return self.take_now(at_most)

    def take_now(self, at_most: int) -> list[Waiting]:
        """Take what is there, all renewals and others up to so many in all."""
        taken = self.renewals()
        while self._others and len(taken) < at_most:
            taken.append(self._others.popleft())
        self._note()
        return taken

    def renewals(self) -> list[Waiting]:
        """Take the renewals that are there, for a batch that is being decided."""
        taken = list(self._renewals)
        self._renewals.clear()
        self._note()
        return taken

    def rest(self) -> list[Waiting]:
        """Take all that is left, for whoever ends."""
        taken = [*self._renewals, *self._others]
        self._renewals.clear()
        self._others.clear()
        self._note()
        return taken

    def _note(self) -> None:
        if not self._renewals and not self._others:
            self._some.clear()
