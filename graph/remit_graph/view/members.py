"""What a principal acts as or belongs to, over live memberships; REPORTS_TO gives nothing, ever (model.md 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.model.edge import MEMBERSHIPS

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View


def reached(view: View, principal: str, at: Instant, *, writes: bool) -> list[str]:
    """Return every principal that `principal` reaches over ACTS_AS and MEMBER_OF, sorted, itself left out."""
    found: set[str] = set()
    frontier = [principal]
    while frontier:
        above: list[str] = []
        for each in frontier:
            for kind in MEMBERSHIPS:
                for edge in view.outgoing(kind, each):
                    usable = edge.is_live(at) and edge.epoch >= view.minimum_epoch(edge, writes=writes)
                    if usable and edge.to not in found and edge.to != principal and view.alive(edge.to):
                        found.add(edge.to)
                        above.append(edge.to)
        frontier = above
    return sorted(found)
