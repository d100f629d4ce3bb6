"""A table of the newest entries: what was ended stays at hand for a while, and memory stays bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit_graph.view.journal import Journal


class Kept:
    """The newest `limit` entries by key; adding one more forgets the one that was added longest ago.

    What is forgotten depends on the changes alone, so that every replica and every replay forget the same.
    """

    __slots__ = ("_ends", "_slots", "_where", "items", "limit")

    def __init__(self, limit: int) -> None:
        """Start empty."""
        self.limit = limit
        self.items: dict[str, Any] = {}
        self._slots: dict[int, str] = {}
        self._where: dict[str, int] = {}
        self._ends = {"first": 0, "next": 0}

    def get(self, key: str) -> Any:
        """Return the entry, or None where there is none or it was forgotten."""
        return self.items.get(key)

    def pairs(self) -> list[tuple[str, Any]]:
        """Return all entries, the one that is forgotten next first."""
        return [(key, self.items[key]) for _, key in sorted(self._slots.items())]

    def add(self, key: str, value: Any, journal: Journal) -> Any:
        """Put an entry, and return the one that was forgotten for it, or None; one that is there keeps its age."""
        if key in self.items:
            journal.put(self.items, key, value)
            return None
        place = self._ends["next"]
        journal.put(self._slots, place, key)
        journal.put(self._where, key, place)
        journal.put(self._ends, "next", place + 1)
        journal.put(self.items, key, value)
        return self._forget(journal) if len(self.items) > self.limit else None

    def drop(self, key: str, journal: Journal) -> None:
        """Forget one entry."""
        place = self._where.get(key)
        if place is not None:
            journal.drop(self._slots, place)
            journal.drop(self._where, key)
            journal.drop(self.items, key)

    def _forget(self, journal: Journal) -> Any:
        first = self._ends["first"]
        while first not in self._slots:
            first += 1
        journal.put(self._ends, "first", first + 1)
        oldest = self._slots[first]
        forgotten = self.items[oldest]
        self.drop(oldest, journal)
        return forgotten
