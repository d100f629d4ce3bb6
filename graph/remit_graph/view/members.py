"""What a principal acts as or belongs to, over live memberships; REPORTS_TO gives nothing, ever (model.md 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.model.edge import MEMBERSHIPS, EdgeType

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
                for edge in view.out[kind].get(each, {}).values():
                    usable = edge.is_live(at) and edge.epoch >= view.minimum_epoch(edge, writes=writes)
                    if usable and edge.to not in found and edge.to != principal and view.alive(edge.to):
                        found.add(edge.to)
                        above.append(edge.to)
        frontier = above
    return sorted(found)


def effective_trust(view: View, principal: str, at: Instant) -> int:
    """Return the trust a principal has by itself or by what it acts as, whichever is higher."""
    known = view.principals.get(principal)
    trust = known.trust if known is not None else 0
    for edge in view.outgoing(EdgeType.ACTS_AS, principal):
        role = view.principals.get(edge.to)
        if role is not None and role.trust > trust and edge.is_live(at) and view.alive(edge.to):
            trust = role.trust
    return trust
