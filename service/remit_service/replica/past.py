"""The last minute of the view, ready to be gone back to: pages of one search answer for one revision (rules.md 13).

What each entry wrote is remembered and can be taken back and put back, within one turn of the event loop, so that
nobody else ever meets an earlier view.

    with replica.past.at(replica.view, revision) as view:
        ...  # no await here
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from remit_graph.model.instant import SECOND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.model.change import Entry
    from remit_graph.view.journal import Journal
    from remit_graph.view.state import View

KEPT: Final = 60 * SECOND
"""How long an entry can be taken back, by its own instant and that of the newest one."""

MAX_ENTRIES: Final = 2_000
"""Entries that are taken back at most: each way must fit into a slice of a search."""


class NotKept(Exception):
    """The revision is further back than what is kept."""


class Past:
    """What the newest entries wrote."""

    def __init__(self) -> None:
        """Start without a past."""
        self._entries: deque[tuple[int, int, Journal]] = deque()

    def note(self, entry: Entry, journal: Journal) -> None:
        """Remember an entry that was just applied, and forget what is too old."""
        self._entries.append((entry.revision, entry.at, journal))
        while len(self._entries) > MAX_ENTRIES or self._entries[0][1] < entry.at - KEPT:
            self._entries.popleft()

    def forget(self) -> None:
        """Forget everything: the view is another one."""
        self._entries.clear()

    def keeps(self, view: View, revision: int) -> bool:
        """Whether `view` can be brought back to `revision`."""
        oldest = self._entries[0][0] - 1 if self._entries else view.revision
        return oldest <= revision <= view.revision

    @contextmanager
    def at(self, view: View, revision: int) -> Iterator[View]:
        """Bring `view` back to `revision` and forward again; nothing may be awaited meanwhile.

        Raises:
            NotKept: it cannot be brought back that far.
        """
        if not self.keeps(view, revision):
            raise NotKept
        taken = [journal for number, _, journal in self._entries if number > revision]
        for journal in reversed(taken):
            journal.flip()
        try:
            yield view
        finally:
            for journal in taken:
                journal.flip()
