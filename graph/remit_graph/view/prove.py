"""The chains that could carry a request: the search with every check that prunes it.

What is left out here cannot hold in Rego either: the same laws are applied there to what is handed over, and a
differential test keeps both equal. Ownership, required trust and capabilities are judged by the policy alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from remit_graph.model.edge import GRANT_CLASS, MEMBERSHIPS, ROOT_GRANTS, Edge, EdgeType
from remit_graph.view.chains import Found, Rules, current_memberships, search
from remit_graph.view.ownership import STANDING, issuer_standing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.model.condition import Scales
    from remit_graph.view.state import View
    from remit_graph.view.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Restriction:
    """What narrows a search, never what widens it (rules.md 3).

    Attributes:
        on_behalf_of: Only chains whose root this principal holds.
        proof: Only the chain with these authority edges, root first.
    """

    on_behalf_of: str | None = None
    proof: tuple[str, ...] | None = None


UNRESTRICTED = Restriction()


@dataclass(slots=True)
class Prover:
    """One request's search; makes nothing that outlives it.

    Attributes:
        view: The graph.
        target: What is asked for.
        scales: Ordered scales of the policy data.
        restriction: What narrows the search.
    """

    view: View
    target: Target
    scales: Scales
    restriction: Restriction = UNRESTRICTED
    _holds: dict[str, bool] = field(default_factory=dict)

    def find(self) -> Found:
        """Return the candidates, shortest first."""
        proof = self.restriction.proof
        found = search(self.target.subject.id, self._rules())
        if proof is not None:
            found.chains = [each for each in found.chains if tuple(hop.edge_id for hop in each.hops) == proof]
        return found

    def _rules(self) -> Rules:
        realm, delegations = self.view.realm, self.view.into[EdgeType.DELEGATES]
        return Rules(
            usable=self.usable,
            roots=self._roots,
            incoming=lambda principal: delegations[principal].values() if principal in delegations else (),
            memberships=current_memberships(self.view),
            max_depth=realm.max_delegation_depth,
            max_edges=realm.max_chain_hops,
        )

    def usable(self, edge: Edge, below: int) -> bool:
        """Say whether an edge could stand in a chain with `below` delegations after it."""
        if edge.max_depth is not None and edge.max_depth < below and edge.edge not in MEMBERSHIPS:
            return False
        known = self._holds.get(edge.edge_id)
        if known is None:
            known = self._holds[edge.edge_id] = self._check(edge)
        return known

    def _check(self, edge: Edge) -> bool:
        view, target, proof = self.view, self.target, self.restriction.proof
        membership = edge.edge in MEMBERSHIPS
        if proof is not None and not membership and edge.edge_id not in proof:
            return False
        if not edge.is_live(target.at) or edge.epoch < view.minimum_epoch(edge, writes=target.spec.writes):
            return False
        if not view.alive(edge.from_) or not (edge.edge in ROOT_GRANTS or view.alive(edge.to)):
            return False
        return membership or edge.scope.refusal(target, self.scales) is None

    def _roots(self, principal: str, below: int) -> Iterator[Edge]:
        held = self.view.grants.get(principal)
        wanted = self.restriction.on_behalf_of
        if not held or (wanted is not None and wanted != principal):
            return
        for selector in self.target.ground.covering:
            if selector in held:
                for edge in held[selector].values():
                    if self._root_holds(edge) and self.usable(edge, below):
                        yield edge

    def _root_holds(self, edge: Edge) -> bool:
        if GRANT_CLASS.get(edge.edge, self.target.spec.class_) != self.target.spec.class_:
            return False
        if any(self.target.under(each) for each in edge.except_):
            return False
        return issuer_standing(self.view, edge, self.target.at, self.target) in STANDING
