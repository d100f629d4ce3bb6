"""Whether the structure of a graph still is what something was found or decided on, while commands go on.

Leases, waiters, receipts and the like move all the time; who holds what authority over what, and by which registry,
moves seldom. Long work about that is worth beginning anew only where it did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from remit_graph.model.change import Entry
    from remit_graph.view.state import View
    from remit_service.point import DecisionPoint

_STRUCTURE: Final = frozenset(
    {
        "action.end", "action.put", "alias.end", "alias.put", "edge.begin", "edges.end", "enforcement_point.end",
        "enforcement_point.put", "epoch.set", "principal.end", "principal.put", "realm.set", "resource.end",
        "resource.put", "resource_type.end", "resource_type.put",
    }
)  # fmt: skip
"""Kinds of change that can alter what rests on what, and what a world is."""


class Structure:
    """Watches one decision point."""

    def __init__(self, point: DecisionPoint) -> None:
        """Watch from here on."""
        self._point = point
        self._moved_at = 0
        point.replica.subscribe(self._note)

    def _note(self, entry: Entry) -> None:
        if any(change.kind in _STRUCTURE for change in entry.changes):
            self._moved_at = entry.revision

    def stands(self, view: View, since: int) -> bool:
        """Whether `view` is the one in use, with the structure that it had at revision `since`."""
        return self._point.view is view and self._moved_at <= since
