"""What falls when edges end: every delegation that rested on them alone (rules.md 3, coordination.md 5).

A delegation rests on a right (`under`) and on authority to hand on. When either ends, the delegation ends with it,
unless another live right of its delegator contains its whole stored scope, window and depth: then it stays as it is,
under that right. What ended never revives. The result does not depend on the order in which edges are looked at.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from remit_graph.laws.delegation import Bounds, reanchored
from remit_graph.laws.ground import grounds_of
from remit_graph.model.edge import MEMBERSHIPS, ROOT_GRANTS, Edge, EdgeType
from remit_graph.view.apply import right_of
from remit_graph.view.grounds import ViewGrounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from remit_graph.model.condition import Scales
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View


@dataclass(slots=True)
class Fall:
    """What an ending takes along.

    Attributes:
        ended: Edges that end, by id: those that were named, and those that fall with them.
        moved: Delegations that stay, under another right; the version they will have.
    """

    ended: dict[str, Edge] = field(default_factory=dict)
    moved: dict[str, Edge] = field(default_factory=dict)

    def fallen(self, named: Iterable[Edge]) -> list[Edge]:
        """Return what ends beyond the named edges, by edge id."""
        own = {edge.edge_id for edge in named}
        return [self.ended[each] for each in sorted(self.ended) if each not in own]


def fall(view: View, named: Iterable[Edge], at: Instant, scales: Scales) -> Fall:
    """Return what ends when the `named` current edges end."""
    result = Fall(ended={edge.edge_id: edge for edge in named})
    bounds = Bounds(max_depth=view.realm.max_delegation_depth, scales=scales, actions=view.actions)
    pending = deque(sorted(result.ended.values(), key=lambda edge: edge.edge_id))
    while pending:
        for delegation in _resting_on(view, pending.popleft(), result):
            stands = _stands(view, delegation, result, at, bounds)
            if stands is None:
                result.ended[delegation.edge_id] = delegation
                result.moved.pop(delegation.edge_id, None)
                pending.append(delegation)
            elif stands.under != delegation.under:
                result.moved[delegation.edge_id] = replace(stands, version=delegation.version + 1)
    return result


def _resting_on(view: View, edge: Edge, result: Fall) -> list[Edge]:
    """Return the current delegations that may rest on an edge and have not ended, by edge id."""
    candidates: dict[str, Edge] = {}
    for delegation in _candidates(view, edge, result):
        if delegation.edge_id not in result.ended:
            candidates[delegation.edge_id] = delegation
    return [candidates[each] for each in sorted(candidates)]


def _candidates(view: View, edge: Edge, result: Fall) -> Iterator[Edge]:
    for edge_id in view.under.get(edge.edge_id, ()):
        yield view.edges[edge_id]
    for edge_id, moved in result.moved.items():
        if moved.under is not None and right_of(moved.under) == edge.edge_id:
            yield view.edges[edge_id]
    if edge.edge in ROOT_GRANTS:
        for holder in _who_acts_as(view, edge.from_):
            yield from view.outgoing(EdgeType.DELEGATES, holder)
    elif edge.edge in MEMBERSHIPS:
        for holder in _who_acts_as(view, edge.from_):
            yield from view.outgoing(EdgeType.DELEGATES, holder)
            yield from view.incoming(EdgeType.DELEGATES, holder)


def _who_acts_as(view: View, principal: str) -> list[str]:
    """Return the principal and all that reach it over memberships, dead ones included: they are asked about anyway."""
    found, frontier = [principal], [principal]
    while frontier:
        each = frontier.pop()
        for kind in MEMBERSHIPS:
            for edge in view.incoming(kind, each):
                if edge.from_ not in found:
                    found.append(edge.from_)
                    frontier.append(edge.from_)
    return sorted(found)


def _stands(view: View, delegation: Edge, result: Fall, at: Instant, bounds: Bounds) -> Edge | None:
    """Return the delegation as it stands without what ended, or None where nothing carries it."""
    grounds = ViewGrounds(view=view, at=at, without=result.ended.keys(), moved=result.moved)
    asked = result.moved.get(delegation.edge_id, delegation)
    if asked.under is not None:
        kept = reanchored(asked, grounds_of(asked, grounds, under=right_of(asked.under)), bounds)
        if kept is not None:
            return kept
    return reanchored(asked, grounds_of(asked, grounds), bounds)
