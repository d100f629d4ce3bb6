"""Finds what overlaps a key: at it, above it, below it, without looking at anything else.

Ancestors are taken here without their windows: a PART_OF edge that has not begun or has ended still counts, so that an
entry never has to move because time passed. Who asks compares again at its own instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.model.edge import EdgeType
from remit_graph.view.ground import MAX_ANCESTORS, Ground

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from remit_graph.view.journal import Journal
    from remit_graph.view.state import View


def above(view: View, key: str) -> tuple[str, ...]:
    """Return the key and everything above it, whatever the windows of PART_OF edges."""
    known = view.grounds.get(key)
    if isinstance(known, Ground):
        # A ground is kept only where no window was met on the way up.
        return known.keys
    found: dict[str, None] = {key: None}
    frontier = [key]
    while frontier and len(found) < MAX_ANCESTORS:
        each = frontier.pop()
        prefix = each.rpartition(":")[0]
        nearer = [edge.to for edge in view.outgoing(EdgeType.PART_OF, each)]
        for one in [prefix, *nearer] if prefix else nearer:
            if one not in found:
                found[one] = None
                frontier.append(one)
    return tuple(found)


class KeyIndex:
    """Items by the keys they are on.

    Attributes:
        at: Key to the items exactly there.
        below: Key to the items on keys under it, itself included, with how often.
    """

    __slots__ = ("_placed", "at", "below")

    def __init__(self) -> None:
        """Start empty."""
        self.at: dict[str, dict[str, None]] = {}
        self.below: dict[str, dict[str, int]] = {}
        self._placed: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {}

    def add(self, view: View, item: str, keys: Iterable[str], journal: Journal) -> None:
        """Enter an item under its keys."""
        placed = tuple((key, above(view, key)) for key in keys)
        journal.put(self._placed, item, placed)
        for key, ancestors in placed:
            journal.put(journal.bucket(self.at, key), item, None)
            for each in ancestors:
                bucket = journal.bucket(self.below, each)
                journal.put(bucket, item, bucket.get(item, 0) + 1)

    def remove(self, item: str, journal: Journal) -> None:
        """Take an item out."""
        for key, ancestors in self._placed.get(item, ()):
            journal.leave(self.at, key, item)
            for each in ancestors:
                bucket = self.below[each]
                if bucket[item] > 1:
                    journal.put(bucket, item, bucket[item] - 1)
                else:
                    journal.leave(self.below, each, item)
        journal.drop(self._placed, item)

    def moved(self, view: View, key: str, journal: Journal) -> None:
        """Enter again what lies at or below `key`, whose place in the structure has changed."""
        for item in list(self.below.get(key, ())):
            keys = [each for each, _ in self._placed[item]]
            self.remove(item, journal)
            self.add(view, item, keys, journal)

    def ancestors(self, item: str, key: str) -> tuple[str, ...]:
        """Return what lies above one key of an item, the key first."""
        return next((above for each, above in self._placed.get(item, ()) if each == key), (key,))

    def near(self, keys: Sequence[str]) -> set[str]:
        """Return the items at the first of `keys`, below it, or at the others, which are its ancestors."""
        if not self._placed:
            return set()
        found = set(self.below.get(keys[0], _NOTHING))
        for key in keys:
            found.update(self.at.get(key, _NOTHING))
        return found

    def __bool__(self) -> bool:
        """Whether anything is in it."""
        return bool(self._placed)


_NOTHING: Final[dict[str, None]] = {}
