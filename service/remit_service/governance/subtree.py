"""Find what falls with a large subtree without holding anybody up: in slices, before the command reaches the writer.

What was found holds only for the graph it was found on. `Found.holds` says whether that graph is still the one a
command is decided on; if not, the command looks for itself, which is right and only slower.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from remit_graph.view.fall import Fall, falling
from remit_service.governance.ending import Target, named_by
from remit_service.writer.command import Refused

if TYPE_CHECKING:
    from remit_graph.model.change import Entry
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.point import DecisionPoint

LARGE: Final = 1_000
"""Delegations below which a fall is found within a few milliseconds, in the writer."""

SLICE_SECONDS: Final = 0.005
"""How long one slice may hold the loop; reads are answered between two slices."""

ATTEMPTS: Final = 3
"""How often a search begins anew because the graph moved meanwhile."""

_STRUCTURE: Final = frozenset(
    {"edge.begin", "edges.end", "epoch.set", "principal.end", "principal.put", "realm.set", "action.put", "action.end"}
)
"""Kinds of change that can alter what rests on what."""


@dataclass(frozen=True, slots=True)
class Found:
    """What falls with a target, and the revision of the graph it was found on."""

    fall: Fall
    revision: int


class Subtrees:
    """Looks for large subtrees on one decision point."""

    def __init__(self, point: DecisionPoint) -> None:
        """Watch for changes of structure."""
        self._point = point
        self._moved_at = 0
        point.replica.subscribe(self._note)

    def _note(self, entry: Entry) -> None:
        if any(change.kind in _STRUCTURE for change in entry.changes):
            self._moved_at = entry.revision

    def holds(self, found: Found, view: View) -> bool:
        """Whether `found` is true of `view`: nothing moved since, and no other command of the batch is tried on it."""
        head = self._point.replica.head
        return head is not None and view.revision == head.revision and self._moved_at <= found.revision

    async def find(self, target: Target | None) -> Found | None:
        """Return what falls with a target, or None where it is small, or where the graph does not stand still."""
        view = self._point.view
        if target is None or not is_large(view, target):
            return None
        for _ in range(ATTEMPTS):
            found = await self._search(target, self._point.now())
            if found is not None:
                return found
        return None

    async def _search(self, target: Target, at: Instant) -> Found | None:
        view, clock = self._point.view, self._point.clock
        named = named_by(view, target)
        if isinstance(named, Refused):
            return None
        begun_at = view.revision
        steps = falling(view, named, at, self._point.policy.scales)
        until = clock.monotonic() + SLICE_SECONDS
        while True:
            try:
                next(steps)
            except StopIteration as stop:
                return Found(stop.value, begun_at) if self._moved_at <= begun_at else None
            if clock.monotonic() > until:
                await asyncio.sleep(0)
                if self._moved_at > begun_at or self._point.view is not view:
                    return None
                until = clock.monotonic() + SLICE_SECONDS


def is_large(view: View, target: Target) -> bool:
    """Whether more than a few delegations may rest on a target; looks no further than it has to."""
    named = named_by(view, target)
    frontier = [] if isinstance(named, Refused) else [edge.edge_id for edge in named]
    seen = set(frontier)
    while frontier and len(seen) <= LARGE:
        for child in view.under.get(frontier.pop(), ()):
            if child not in seen:
                seen.add(child)
                frontier.append(child)
    return len(seen) > LARGE
