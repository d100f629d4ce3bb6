"""What a delegation can rest on, answered from the view; satisfies `remit_graph.laws.ground.Grounds`.

Only what is live counts: the window holds, the epoch is not below the floor for writes, both ends exist and are
enabled. With `dormant` what is stored counts, live or not: what an ending did not touch is not ended by it, even if it
could not be used at this instant anyway. A set of edges can be left out, for asking what would be left without them,
and edges can be replaced, for asking about versions that are not stored yet.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from remit_graph.model.edge import ROOT_GRANTS, Edge, EdgeType
from remit_graph.view.ownership import STANDING, issuer_standing

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View

_ACTS_AS = (EdgeType.ACTS_AS,)
_REACHES = (EdgeType.ACTS_AS, EdgeType.MEMBER_OF)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewGrounds:
    """The rights and authorities of a view.

    Attributes:
        view: The graph.
        at: The instant.
        without: Edge ids that are taken to have ended.
        moved: Edges by id that are taken to stand as given here.
        dormant: Whether stored edges count that are not live.
    """

    view: View
    at: Instant
    without: Container[str] = frozenset()
    moved: Mapping[str, Edge] = field(default_factory=dict)
    dormant: bool = False

    def live(self, edge: Edge) -> bool:
        """Whether an edge counts."""
        if edge.edge_id in self.without:
            return False
        if self.dormant:
            return True
        if not edge.is_live(self.at) or edge.epoch < self.view.minimum_epoch(edge, writes=True):
            return False
        if not self.view.alive(edge.from_):
            return False
        if edge.edge in ROOT_GRANTS:
            return issuer_standing(self.view, edge, self.at) in STANDING
        return self.view.alive(edge.to)

    def stands(self, edge_id: str) -> Edge | None:
        """Return an edge as it stands, whether it counts or not; None where it has ended."""
        if edge_id in self.without:
            return None
        return self.moved.get(edge_id) or self.view.edges.get(edge_id)

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
                for edge in self._counting(self.view.outgoing(kind, each)):
                    if edge.to not in found:
                        found.add(edge.to)
                        frontier.append(edge.to)
        return frozenset(found)

    def _counting(self, edges: Iterator[Edge]) -> Iterator[Edge]:
        for edge in edges:
            stands = self.moved.get(edge.edge_id, edge)
            if self.live(stands):
                yield stands

    def rights(self, delegator: str, delegate: str) -> Iterator[Edge]:
        """Iterate the MAY_DELEGATE edges from the one to the other, exactly."""
        for edge in self._counting(self.view.outgoing(EdgeType.MAY_DELEGATE, delegator)):
            if edge.to == delegate:
                yield edge

    def held(self, principal: str) -> Iterator[Edge]:
        """Iterate the DELEGATES edges to this principal, exactly."""
        return self._counting(self.view.incoming(EdgeType.DELEGATES, principal))

    def roots(self, principal: str) -> Iterator[Edge]:
        """Iterate the root grants from this principal, exactly."""
        for edges in self.view.grants.get(principal, {}).values():
            yield from self._counting(iter(edges.values()))

    def parent(self, delegation: Edge) -> Edge | None:
        """Return what a delegation's `under` names: as it stands, else the version named, even if it has ended."""
        asked = self.moved.get(delegation.edge_id, delegation)
        if asked.under is None:
            return None
        edge_id, _, version = asked.under.rpartition("@")
        found = self.moved.get(edge_id) or self.view.edges.get(edge_id)
        if found is not None:
            return found
        return self.view.version(edge_id, int(version)) if version.isdecimal() else None
