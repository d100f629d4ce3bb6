"""Chains and near misses as facts of the policy input (decision.md 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remit_graph.model.edge import MEMBERSHIPS, ROOT_GRANTS, Edge, EdgeType
from remit_graph.view.near import NearMiss, near_misses
from remit_graph.view.ownership import issuer_standing
from remit_graph.view.prove import Prover, Restriction

if TYPE_CHECKING:

    from remit_graph.model.condition import Scales
    from remit_graph.view.chains import Chain, Found
    from remit_graph.view.state import View
    from remit_graph.view.target import Target


@dataclass(frozen=True, slots=True)
class Proof:
    """What the graph says about a request's authority."""

    found: Found
    near: tuple[NearMiss, ...]


def prove(view: View, target: Target, scales: Scales) -> Proof:
    """Search the chains that could carry the request, and where there is none, what came near."""
    context = target.context
    shown = context.get("proof")
    restriction = Restriction(
        on_behalf_of=context.get("on_behalf_of"), proof=tuple(shown) if shown is not None else None
    )
    prover = Prover(view=view, target=target, scales=scales, restriction=restriction)
    found = prover.find()
    if found.chains:
        return Proof(found, ())
    return Proof(found, tuple(near_misses(view, target, scales, restriction)))


def chain_facts(view: View, target: Target, chain: Chain, number: int) -> dict[str, Any]:
    """Return one candidate with everything the policy checks again."""
    hops = chain.hops
    below = len(hops) - 1
    return {
        "chain_id": f"c{number}",
        "root": hops[0].from_,
        "hops": [_hop(view, target, edge, below - index) for index, edge in enumerate(hops)],
        "memberships": _memberships(view, target, chain),
    }


def _hop(view: View, target: Target, edge: Edge, after: int) -> dict[str, Any]:
    root = edge.edge in ROOT_GRANTS
    holder = view.principals.get(edge.from_ if root else edge.to)
    return {
        **_reference(edge),
        "scope": edge.scope.record(),
        "valid_from": edge.valid_from,
        "valid_until": edge.valid_until,
        "epoch": edge.epoch,
        "minimum_epoch": view.minimum_epoch(edge, writes=target.spec.writes),
        "max_depth": edge.max_depth,
        "delegations_after": after,
        "issuer": edge.issuer,
        "issuer_standing": issuer_standing(view, edge, target.at) if root else "none",
        "ownership_epoch": edge.ownership_epoch,
        "rests_on": [{"edge_id": each, "ownership_epoch": epoch} for each, epoch in edge.rests_on],
        "except": list(edge.except_),
        "trust": holder.trust if holder is not None else 0,
        "disabled": not (view.alive(edge.from_) and (root or view.alive(edge.to))),
    }


def _reference(edge: Edge) -> dict[str, Any]:
    return {
        "edge_id": edge.edge_id,
        "version": edge.version,
        "edge": str(edge.edge),
        "from": edge.from_,
        "to": edge.to,
    }


def _memberships(view: View, target: Target, chain: Chain) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    after = -1
    for edge in chain.edges:
        if edge.edge not in MEMBERSHIPS:
            after += 1
            continue
        rows.append(
            {
                **_reference(edge),
                "valid_from": edge.valid_from,
                "valid_until": edge.valid_until,
                "epoch": edge.epoch,
                "minimum_epoch": view.minimum_epoch(edge, writes=target.spec.writes),
                "disabled": not (view.alive(edge.from_) and view.alive(edge.to)),
                "after": after,
            }
        )
    return rows


def near_facts(miss: NearMiss, number: int) -> dict[str, Any]:
    """Return one near miss with the first check it fails."""
    hops = [_near_hop(edge) for edge in miss.chain.hops]
    return {
        "chain_id": f"n{number}",
        "hops": hops,
        "failed_hop": miss.failed.position,
        "reason": miss.reason,
        "rank": miss.rank,
    }


def _near_hop(edge: Edge) -> dict[str, Any]:
    hop = _reference(edge)
    if edge.edge is EdgeType.OWNS:
        hop["ownership_epoch"] = edge.ownership_epoch
    elif edge.edge in ROOT_GRANTS:
        hop["rests_on"] = [{"edge_id": each, "ownership_epoch": epoch} for each, epoch in edge.rests_on]
    return hop
