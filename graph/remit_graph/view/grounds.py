"""What a delegation can rest on, answered from the view; satisfies `remit_graph.laws.ground.Grounds`.

Only what is live counts: the window holds, the epoch is not below the floor for writes, both ends exist and are
enabled. A set of edges can be left out, for asking what would be left without them, and edges can be replaced, for
asking about delegations that have moved but are not stored yet.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from remit_graph.model.edge import ROOT_GRANTS, Edge, EdgeType
from remit_graph.view.ownership import issuer_standing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View

_ACTS_AS = (EdgeType.ACTS_AS,)
_REACHES = (EdgeType.ACTS_AS, EdgeType.MEMBER_OF)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewGrounds:
    """The live rights and authorities of a view.

    Attributes:
        view: The graph.
        at: The instant.
        without: Edge ids that are taken to have ended.
        moved: Delegations by id that are taken to stand as given here.
    """

    view: View
    at: Instant
    without: AbstractSet[str] = frozenset()
    moved: Mapping[str, Edge] = field(default_factory=dict)

    def live(self, edge: Edge) -> bool:
        """Whether an edge counts at the instant."""
        if edge.edge_id in self.without or not edge.is_live(self.at):
            return False
        if edge.epoch < self.view.minimum_epoch(edge, writes=True) or not self.view.alive(edge.from_):
            return False
        if edge.edge in ROOT_GRANTS:
            return issuer_standing(self.view, edge, self.at) != "none"
        return self.view.alive(edge.to)

    def acts_as(self, principal: str) -> frozenset[str]:
        """Return the principal and all it reaches over ACTS_AS."""
        return self._closure(principal, _ACTS_AS)

    def reaches(self, principal: str) -> frozenset[str]:
        """Return the principal and all it reaches over ACTS_AS and MEMBER_OF."""
        return self._closure(principal, _REACHES)

    def _closure(self, principal: str, kinds: tuple[EdgeType, ...]) -> frozenset[str]:
        found, frontier = {principal}, [principal]
        while frontier:
            each = frontier.pop()
            for kind in kinds:
                for edge in self.view.outgoing(kind, each):
                    if edge.to not in found and self.live(edge):
                        found.add(edge.to)
                        frontier.append(edge.to)
        return frozenset(found)

    def rights(self, delegator: str, delegate: str) -> Iterator[Edge]:
        """Iterate the MAY_DELEGATE edges from the one to the other, exactly."""
        for edge in self.view.outgoing(EdgeType.MAY_DELEGATE, delegator):
            if edge.to == delegate and self.live(edge):
                yield edge

    def held(self, principal: str) -> Iterator[Edge]:
        """Iterate the DELEGATES edges to this principal, exactly."""
        for edge in self.view.incoming(EdgeType.DELEGATES, principal):
            if self.live(edge):
                yield self.moved.get(edge.edge_id, edge)

    def roots(self, principal: str) -> Iterator[Edge]:
        """Iterate the root grants from this principal, exactly."""
        for edges in self.view.grants.get(principal, {}).values():
            for edge in edges.values():
                if self.live(edge):
                    yield edge

    def parent(self, delegation: Edge) -> Edge | None:
        """Return the edge that a delegation's `under` names, or None; it may be one that is left out."""
        stands = self.moved.get(delegation.edge_id, delegation)
        if stands.under is None:
            return None
        edge_id, _, version = stands.under.rpartition("@")
        found = self.moved.get(edge_id)
        if found is not None and str(found.version) == version:
            return found
        return self.view.version(edge_id, int(version)) if version.isdecimal() else None
