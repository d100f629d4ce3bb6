"""An index of things by selector that answers what overlaps and what contains, without comparing every pair.

A tree of segments in which `*` is a branch of its own. The view has a tree too, which finds what covers one key
while it is being changed; this one is filled once and asks about selectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from remit_graph.model.key import WILDCARD, Segments, parse_selector

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


class _Node(Generic[T]):
    __slots__ = ("children", "items")

    def __init__(self) -> None:
        self.children: dict[str, _Node[T]] = {}
        self.items: list[T] = []


class Selectors(Generic[T]):
    """Items by selector, in the order they were added."""

    def __init__(self) -> None:
        """Start empty."""
        self._root: _Node[T] = _Node()

    def add(self, selector: str, item: T) -> None:
        """Enter `item` under `selector`."""
        node = self._root
        for segment in parse_selector(selector):
            node = node.children.setdefault(segment, _Node())
        node.items.append(item)

    def overlapping(self, selector: str) -> Iterator[T]:
        """Iterate the items whose selector could cover a key that `selector` covers too."""
        yield from _overlapping(self._root, parse_selector(selector), 0)

    def containing(self, selector: str) -> Iterator[T]:
        """Iterate the items whose selector covers everything that `selector` covers, a key included."""
        yield from _containing(self._root, parse_selector(selector), 0)


def _overlapping(node: _Node[T], segments: Segments, at: int) -> Iterator[T]:
    yield from node.items
    if at >= len(segments) or segments[at] == WILDCARD:
        branches = list(node.children.values())
    else:
        branches = [node.children[each] for each in (segments[at], WILDCARD) if each in node.children]
    for child in branches:
        yield from _overlapping(child, segments, at + 1)


def _containing(node: _Node[T], segments: Segments, at: int) -> Iterator[T]:
    yield from node.items
    if at == len(segments):
        return
    for each in dict.fromkeys((segments[at], WILDCARD)):
        child = node.children.get(each)
        if child is not None:
            yield from _containing(child, segments, at + 1)
