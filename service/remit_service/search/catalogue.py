"""Ids of declared resources by AuthZEN type: what a resource search goes through.

Kept for the newest view and a minute of its past at once: what was removed stays listed and is passed over by whoever
looks it up. Built and read in small steps, since a realm may declare a million resources.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right, insort
from typing import TYPE_CHECKING, Final

from remit_graph.model.key import parse_key
from remit_graph.model.registry import KEY_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.model.change import Entry
    from remit_graph.model.registry import Registry
    from remit_graph.view.state import View

RUN: Final = 4_096
"""Ids of one sorted run: small enough to be sorted, copied or inserted into within a millisecond."""

STEP: Final = 256
"""Resources looked at between two pauses."""

_TYPES: Final = frozenset({"resource_type.put", "resource_type.end", "alias.put", "alias.end"})


class Catalogue:
    """Sorted runs of ids by type."""

    def __init__(self) -> None:
        """Start empty; `build` fills it."""
        self._registry: Registry | None = None
        self._runs: dict[str, list[list[str]]] = {}
        self._known: set[str] = set()
        self._pending: list[str] = []

    def receive(self, entry: Entry) -> None:
        """Take in what an entry declares; other types make it start anew."""
        for change in entry.changes:
            if change.kind == "resource.put":
                self._add(change.body["key"])
            elif change.kind in _TYPES:
                self._registry = None

    def build(self, view: View) -> Iterator[None]:
        """Bring the catalogue up to `view`, a step at a time; it may go on where another search stopped."""
        is_bloated = len(self._known) > 2 * len(view.resources) + RUN
        if is_bloated or view.registry is not self._registry:
            self._registry, self._runs, self._known = view.registry, {}, set()
            self._pending = list(view.resources)
        while self._pending and view.registry is self._registry:
            for key in self._pending[-STEP:]:
                self._add(key)
            del self._pending[-STEP:]
            yield None
        if view.registry is not self._registry:
            yield from self.build(view)

    def _add(self, key: str) -> None:
        registry = self._registry
        if registry is None or key in self._known:
            return
        self._known.add(key)
        self._enter(KEY_TYPE, key)
        segments = parse_key(key)
        declared = registry.type_of(segments)
        if declared is not None:
            self._enter(declared.name, ":".join(declared.key.match(segments) or ()))

    def _enter(self, type_name: str, identifier: str) -> None:
        runs = self._runs.setdefault(type_name, [[]])
        if len(runs[-1]) >= RUN:
            runs.append([])
        insort(runs[-1], identifier)

    def ids(self, type_name: str, after: str) -> Iterator[str]:
        """Iterate the ids of a type that sort after `after`; what is added meanwhile may be missing."""
        return heapq.merge(*(run[bisect_right(run, after) :] for run in self._runs.get(type_name, ())))
