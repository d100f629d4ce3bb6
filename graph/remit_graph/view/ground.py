"""What the graph says about one resource key, whoever asks: ancestors, dimensions, and the selectors that cover it.

The same for every request on that key until what it says changes, so it is kept with the view. A change drops what it
may have touched and nothing else: who belongs where and what is handed on says nothing about keys, a grant touches the
keys below its selector where no other has that selector, and a resource or a PART_OF edge any key (F011: not one mark
for everything). A key above which a PART_OF edge has a window is never kept: its ancestors change with time alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.edge import ROOT_GRANTS, EdgeType
from remit_graph.model.key import WILDCARD, covers, segments_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_graph.model.change import Change
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View

MAX_ANCESTORS: Final = 256
"""Ancestors of one resource that are looked at; a PART_OF graph wider than this is a mistake in the world."""

MAX_KEPT: Final = 20_000
"""Keys whose ground is kept at once; about 2 KiB each."""


MAX_SELECTORS: Final = 64
"""Selectors of one revision whose keys are looked for one by one; more drop everything."""

MAX_LOOKED_AT: Final = 2_000
"""Keys that are compared with a selector that has a `*`, which costs microseconds each; more are all dropped."""

_OF_ANY_KEY: Final = frozenset({"realm.set", "resource.put", "resource.end"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What is known of one key.

    Attributes:
        key: The canonical key.
        keys: The key and its ancestors, nearest first.
        dimensions: Declared dimension to the distinct values found nearest, sorted.
        covering: Selectors of root grants in use that cover the key or an ancestor, sorted.
        attributes: The resource's own attributes.
        until: Earliest end of a PART_OF edge above it, or None.
    """

    key: str
    keys: tuple[str, ...]
    dimensions: Mapping[str, Sequence[str]]
    covering: tuple[str, ...]
    attributes: Mapping[str, Any]
    until: Instant | None
    _under: dict[str, bool] = field(default_factory=dict, compare=False)

    def under(self, selector: str) -> bool:
        """Say whether `selector` covers the key or one of its ancestors."""
        known = self._under.get(selector)
        if known is None:
            wanted = segments_of(selector)
            known = any(covers(wanted, segments_of(key)) for key in self.keys)
            self._under[selector] = known
        return known


def ground_of(view: View, key: str, at: Instant) -> Ground:
    """Return the ground of `key` at instant `at`."""
    kept = view.grounds.get(key)
    if isinstance(kept, Ground):
        return kept
    ground, windowed = _below(view, key, at) or _searched(view, key, at)
    if not windowed:
        if len(view.grounds) >= MAX_KEPT:
            view.grounds.clear()
        view.grounds[key] = ground
    return ground


def _below(view: View, key: str, at: Instant) -> tuple[Ground, bool] | None:
    """Return the ground of a key that is part of nothing but its prefix: that one's, and what the key itself adds."""
    prefix = key.rpartition(":")[0]
    if not prefix or any(True for _ in view.outgoing(EdgeType.PART_OF, key)):
        return None
    above = ground_of(view, prefix, at)
    if view.grounds.get(prefix) is not above or key in above.keys or len(above.keys) + 1 >= MAX_ANCESTORS:
        # It changes with time, goes round, or is cut by the bound: looked for from the key itself.
        return None
    stored = view.resources.get(key)
    attributes = stored.attributes if stored is not None else {}
    own = {name: attributes.get(name) for name in view.realm.dimensions}
    added = view.selectors.covering((key,))
    ground = Ground(
        key=key,
        keys=(key, *above.keys),
        dimensions={name: [value] if isinstance(value, str) else above.dimensions[name] for name, value in own.items()},
        covering=tuple(sorted({*above.covering, *added})) if added else above.covering,
        attributes=attributes,
        until=above.until,
    )
    return ground, False


def _searched(view: View, key: str, at: Instant) -> tuple[Ground, bool]:
    """Return the ground of any key, and whether it changes with time alone."""
    levels, windowed, until = _levels(view, key, at)
    keys = tuple(each for level in levels for each in level)
    stored = view.resources.get(key)
    ground = Ground(
        key=key,
        keys=keys,
        dimensions={name: nearest_values(view, levels, name) for name in view.realm.dimensions},
        covering=view.selectors.covering(keys),
        attributes=stored.attributes if stored is not None else {},
        until=until,
    )
    return ground, windowed


class Moved:
    """What one revision changes of what is kept of keys."""

    __slots__ = ("_everything", "_selectors")

    def __init__(self, *, everything: bool = False) -> None:
        """Start with nothing, or with everything."""
        self._everything = everything
        # Whether each selector that was named was in use before.
        self._selectors: dict[str, bool] = {}

    def note(self, view: View, change: Change) -> None:
        """Note a change that is about to be applied to the view."""
        if self._everything:
            return
        if change.kind in _OF_ANY_KEY:
            self._everything = True
        elif change.kind == "edge.begin":
            self._note(view, change.body["edge"], change.body["to"])
            self._note_current(view, change.body["edge_id"])
        elif change.kind == "edges.end":
            for edge_id, _ in change.body["edges"]:
                self._note_current(view, edge_id)

    def _note_current(self, view: View, edge_id: str) -> None:
        current = view.edges.get(edge_id)
        if current is not None:
            self._note(view, current.edge, current.to)

    def _note(self, view: View, kind: str, to: str) -> None:
        if kind == EdgeType.PART_OF:
            self._everything = True
        elif kind in ROOT_GRANTS and to not in self._selectors:
            self._selectors[to] = to in view.selectors

    def kept(self, view: View) -> dict[str, object] | None:
        """Return what is still true of what is kept, once all is applied; None where nothing of it changed."""
        if self._everything:
            return {}
        moved = {each for each, was in self._selectors.items() if was is not (each in view.selectors)}
        if not moved or not view.grounds:
            return None
        plain = {each for each in moved if WILDCARD not in segments_of(each)}
        broad = moved - plain
        if len(moved) > MAX_SELECTORS or (broad and len(view.grounds) > MAX_LOOKED_AT):
            return {}
        return {key: ground for key, ground in view.grounds.items() if not _touched(ground, plain, broad)}


def _touched(ground: object, plain: set[str], broad: set[str]) -> bool:
    return isinstance(ground, Ground) and (not plain.isdisjoint(ground.keys) or any(map(ground.under, broad)))


def _levels(view: View, key: str, at: Instant) -> tuple[list[list[str]], bool, Instant | None]:
    """Return the key and its ancestors by distance, whether a window was met, and the earliest end of one."""
    levels, seen = [[key]], {key}
    ends: list[Instant] = []
    windowed = False
    while levels[-1] and len(seen) < MAX_ANCESTORS:
        above: set[str] = set()
        for each in levels[-1]:
            prefix = each.rpartition(":")[0]
            if prefix:
                above.add(prefix)
            for edge in view.outgoing(EdgeType.PART_OF, each):
                windowed = windowed or edge.valid_from is not None or edge.valid_until is not None
                if edge.is_live(at):
                    above.add(edge.to)
                    ends.extend([edge.valid_until] if edge.valid_until is not None else [])
        levels.append(sorted(above - seen))
        seen.update(levels[-1])
    return levels, windowed, min(ends, default=None)


def nearest_values(view: View, levels: Sequence[Sequence[str]], name: str) -> list[str]:
    """Return the distinct values of attribute `name` on the nearest level that has any, sorted."""
    for level in levels:
        found: set[str] = set()
        for key in level:
            resource = view.resources.get(key)
            value = resource.attributes.get(name) if resource else None
            if isinstance(value, str):
                found.add(value)
        if found:
            return sorted(found)
    return []
