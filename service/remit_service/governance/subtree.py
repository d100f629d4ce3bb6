"""Find what falls with a large subtree without holding anybody up: in slices, before the command reaches the writer.

What was found holds only for the graph it was found on. `Found.holds` says whether that graph is still the one a
command is decided on; if not, the command looks for itself, which is right and only slower.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from remit_graph.view.beside import beside
from remit_graph.view.fall import falling
from remit_service.governance.ending import Ending, Target, ending, named_by
from remit_service.slices import Abandoned, in_slices
from remit_service.writer.command import Refused

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.governance.structure import Structure
    from remit_service.point import DecisionPoint

LARGE: Final = 1_000
"""Delegations below which a fall is found within a few milliseconds, in the writer."""

ATTEMPTS: Final = 3
"""How often a search begins anew because the graph moved meanwhile."""


@dataclass(frozen=True, slots=True)
class Found:
    """What ending a target comes to.

    Attributes:
        ending: What it changes, and what is told of it.
        view, revision: The graph it was found on.
    """

    ending: Ending
    view: View
    revision: int


class Subtrees:
    """Looks for large subtrees on one decision point."""

    def __init__(self, point: DecisionPoint, structure: Structure) -> None:
        """Look at the graph of a decision point, whose structure is watched."""
        self._point = point
        self._structure = structure

    def holds(self, found: Found, view: View) -> bool:
        """Whether `found` is true of `view`: nothing moved since, and no other command of the batch is tried on it."""
        head = self._point.replica.head
        stands = head is not None and view.revision == head.revision
        return stands and view is found.view and self._structure.stands(view, found.revision)

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
        view = self._point.view
        named = named_by(view, target)
        if isinstance(named, Refused):
            return None
        begun_at = view.revision

        def stands() -> bool:
            return self._structure.stands(view, begun_at)

        try:
            fallen = await in_slices(falling(view, named, at, self._point.policy.scales), holds=stands)
            ended = await in_slices(ending(view, target, named, fallen), holds=stands)
            # Tried by whoever decides what rests on it, and entered once the ledger has it.
            made = await in_slices(beside(view, ended.changes, revision=begun_at + 1, at=at), holds=stands)
        except Abandoned:
            return None
        return Found(replace(ended, made=made), view, begun_at) if stands() else None


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
