"""The tail of the ledger, as a replica looks at it: how long a look waits for news, and how long for an answer at all.

A ledger that says nothing in that time is taken to be gone. Each look that was in vain leaves the next one more time,
since the ledger may be at work on a large revision; a look that succeeds takes that back.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from remit_graph.errors import LedgerUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from remit_graph.model.change import Entry
    from remit_graph.ports import Ledger

WATCH: Final = timedelta(seconds=1)
"""How long one look at the tail waits at most; each that returns proves that the view is up to date."""

LOOKS: Final = 4
"""Looks at the tail within the longest staleness, so that one that fails makes no answer stale."""

SILENCE: Final = timedelta(seconds=2)
"""How much longer than asked for a look may take; then its connection is taken to be dead (faults.md F054)."""

MOST_SILENCES: Final = 4
"""Silences that a look may take after others were in vain: it may be at work on a large revision."""

T = TypeVar("T")


class Tail:
    """Looks at the tail of one ledger."""

    def __init__(self, ledger: Ledger, max_staleness: timedelta) -> None:
        """Look so often that a view which is at most so stale is confirmed in time."""
        self._ledger = ledger
        self._within = min(WATCH, max_staleness / LOOKS)
        self._silences = 1

    async def news(self, known: Callable[[], int]) -> Sequence[Entry]:
        """Return revisions after the one that is known, or nothing when none came for a while.

        Raises:
            LedgerError: the ledger cannot be read, or does not answer.
        """
        entries = await self.answer_to(self._ledger.watch(known(), self._within, known=known))
        self._silences = 1
        return entries

    async def answer_to(self, work: Awaitable[T]) -> T:
        """Return what a question to the ledger is answered with.

        Raises:
            LedgerUnavailable: it does not answer.
        """
        # Not `wait_for`, which may swallow the cancelling of this task (python/cpython#86296).
        try:
            async with asyncio.timeout((self._within + SILENCE * self._silences).total_seconds()):
                return await work
        except TimeoutError as error:
            self._silences = min(self._silences * 2, MOST_SILENCES)
            raise LedgerUnavailable("the ledger does not answer", advice="it is tried again by itself") from error
