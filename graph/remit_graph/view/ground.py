"""What the graph says about one resource key, whoever asks: ancestors, dimensions, and the selectors that cover it.

The same for every request on that key until the structure of the graph changes, so it is kept with the view and
dropped with the next structural change. A key above which a PART_OF edge has a window is never kept: its ancestors
change with time alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.edge import EdgeType
from remit_graph.model.key import covers, segments_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View

MAX_ANCESTORS: Final = 256
"""Ancestors of one resource that are looked at; a PART_OF graph wider than this is a mistake in the world."""

MAX_KEPT: Final = 20_000
"""Keys whose ground is kept at once; about 2 KiB each."""


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
    _under: dict[str, bool] = field(default_factory=dict)

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
    if not windowed:
        if len(view.grounds) >= MAX_KEPT:
            view.grounds.clear()
        view.grounds[key] = ground
    return ground


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
