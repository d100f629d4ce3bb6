"""Chains and near misses as facts of the policy input (decision.md 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.edge import MEMBERSHIPS, ROOT_GRANTS, Edge, EdgeType
from remit_graph.view.members import effective_trust
from remit_graph.view.near import NearMiss, near_misses
from remit_graph.view.ownership import issuer_standing
from remit_graph.view.prove import UNRESTRICTED, Prover, Restriction

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
    shown, behalf = context.get("proof"), context.get("on_behalf_of")
    restriction = UNRESTRICTED
    if shown is not None or behalf is not None:
        restriction = Restriction(on_behalf_of=behalf, proof=tuple(shown) if shown is not None else None)
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
    glass = view.records.get("break_glass")
    return {
        **_fixed(edge),
        "minimum_epoch": view.minimum_epoch(edge, writes=target.spec.writes),
        "stamped_fields": _stamped_fields(view, target, edge),
        "delegations_after": after,
        "issuer_standing": issuer_standing(view, edge, target.at, target) if root else "none",
        "trust": effective_trust(view, edge.from_ if root else edge.to, target.at),
        "disabled": not (view.alive(edge.from_) and (root or view.alive(edge.to))),
        **({"break_glass": True} if glass and edge.position in glass else {}),
    }


_FIXED: dict[int, tuple[Edge, dict[str, Any]]] = {}
_FIXED_KEPT: Final = 50_000


def _fixed(edge: Edge) -> dict[str, Any]:
    """Return the members of a hop that are the edge's own; kept, since an edge never changes and is shown often."""
    kept = _FIXED.get(id(edge))
    if kept is not None and kept[0] is edge:
        return kept[1]
    members = {
        **_reference(edge),
        "scope": edge.scope.record(),
        "valid_from": edge.valid_from,
        "valid_until": edge.valid_until,
        "epoch": edge.epoch,
        "max_depth": edge.max_depth,
        "issuer": edge.issuer,
        "ownership_epoch": edge.ownership_epoch,
        "rests_on": _stamps(edge),
        "except": list(edge.except_),
    }
    if len(_FIXED) >= _FIXED_KEPT:
        _FIXED.clear()
    _FIXED[id(edge)] = (edge, members)
    return members


def _stamps(edge: Edge) -> list[dict[str, Any]]:
    return [{"edge_id": each, "ownership_epoch": epoch} for each, epoch in edge.rests_on]


def _stamped_fields(view: View, target: Target, edge: Edge) -> list[str]:
    """Return the touched fields that an owner a grant was issued under had, then or now."""
    if not edge.rests_on:
        return []
    owned: set[str] = set()
    for edge_id, _ in edge.rests_on:
        versions = [*view.history.get(edge_id, ()), *([view.edges[edge_id]] if edge_id in view.edges else [])]
        for owns in versions:
            owned.update(target.fields if owns.scope.fields is None else owns.scope.fields)
    return sorted(owned.intersection(target.fields) if target.fields else owned)


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


def near_facts(view: View, target: Target, miss: NearMiss, number: int) -> dict[str, Any]:
    """Return one near miss with the first check it fails."""
    hops = [_near_hop(view, target, edge) for edge in miss.chain.hops]
    return {
        "chain_id": f"n{number}",
        "hops": hops,
        "failed_hop": miss.failed.position,
        "reason": miss.reason,
        "rank": miss.rank,
    }


def _near_hop(view: View, target: Target, edge: Edge) -> dict[str, Any]:
    hop = _reference(edge)
    if edge.edge is EdgeType.OWNS:
        hop["ownership_epoch"] = edge.ownership_epoch
    elif edge.edge in ROOT_GRANTS:
        hop["rests_on"] = _stamps(edge)
        hop["stamped_fields"] = _stamped_fields(view, target, edge)
    return hop
