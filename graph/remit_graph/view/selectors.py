"""An index of selectors: which of those in use cover a key or its ancestors, without looking at the others.

A tree of segments in which `*` is a branch of its own. Covering a key of n segments walks at most two branches a
segment, so the cost does not depend on how many selectors there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.key import WILDCARD, segments_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit_graph.view.journal import Journal

_USES: Final = ""
"""Key of the counter in a node; no segment is empty."""


class SelectorIndex:
    """Counts the uses of each selector."""

    __slots__ = ("_root",)

    def __init__(self) -> None:
        """Start empty."""
        self._root: dict[str, Any] = {}

    def copied(self) -> SelectorIndex:
        """Return one that shares its branches with this one; they are copied by the journal that writes them."""
        other = SelectorIndex()
        other._root = dict(self._root)
        return other

    def add(self, selector: str, journal: Journal) -> None:
        """Count one more use of `selector`."""
        node = self._root
        for segment in segments_of(selector):
            node = journal.bucket(node, segment)
        journal.put(node, _USES, node.get(_USES, 0) + 1)

    def remove(self, selector: str, journal: Journal) -> None:
        """Count one use less; a selector without uses is no longer found."""
        node = self._root
        for segment in segments_of(selector):
            node = journal.bucket(node, segment)
        if node[_USES] == 1:
            journal.drop(node, _USES)
        else:
            journal.put(node, _USES, node[_USES] - 1)

    def __contains__(self, selector: str) -> bool:
        """Whether `selector` is in use."""
        node = self._root
        for segment in segments_of(selector):
            found = node.get(segment)
            if found is None:
                return False
            node = found
        return _USES in node

    def covering(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Return the selectors in use that cover one of `keys`, sorted."""
        found: set[str] = set()
        for key in keys:
            self._walk(self._root, segments_of(key), 0, [], found)
        return tuple(sorted(found))

    def _walk(self, node: dict[str, Any], segments: tuple[str, ...], at: int, path: list[str], found: set[str]) -> None:
        if _USES in node:
            found.add(":".join(path))
        if at == len(segments):
            return
        for segment in (segments[at], WILDCARD):
            child = node.get(segment)
            if child is not None:
                path.append(segment)
                self._walk(child, segments, at + 1, path, found)
                path.pop()
