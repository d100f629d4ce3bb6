"""End authority: edges, delegations, principals, and everything below; what rested on them alone ends with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from remit_graph.laws.ground import principals_above
from remit_graph.model.builtin import Governance
from remit_graph.model.change import Change
from remit_graph.model.edge import ROOT_GRANTS, Edge, EdgeType
from remit_graph.view.fall import Fall, fall
from remit_graph.view.grounds import ViewGrounds
from remit_service.governance.law import Actor, edge_facts, permitted, refused_by_policy
from remit_service.governance.making import ends_of
from remit_service.writer.command import Accepted, Refused, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.policy import Policy

    Consequences = Callable[[View, Sequence[Edge], Fall, Instant], "Also"]


@dataclass(frozen=True, slots=True)
class Also:
    """What ends besides edges: leases, waiters, capabilities, approvals; by noun, with the changes that end them."""

    changes: tuple[Change, ...] = ()
    ended: Mapping[str, list[str]] = field(default_factory=dict)


def nothing_else(_view: View, _named: Sequence[Edge], _fallen: Fall, _at: Instant) -> Also:
    """Return that nothing besides edges rests on what ends."""
    return Also()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is to be ended: one edge by id, or a principal with all that hangs on it."""

    edge_id: str | None = None
    principal: str | None = None


def revoke(
    policy: Policy, view: View, at: Instant, actor: Actor, target: Target, *, consequences: Consequences = nothing_else
) -> Verdict:
    """Decide a revocation, with its whole subtree in one revision."""
    named = _named(view, target)
    if isinstance(named, Refused):
        return named
    decision = permitted(policy, view, at, actor, Governance.REVOKE, revocation=_facts(view, at, actor, target, named))
    if refused := refused_by_policy(decision):
        return refused
    fallen = fall(view, named, at, policy.scales)
    also = consequences(view, named, fallen, at)
    cause = "removed" if target.principal is not None else "revoked"
    changes = [*ends_of(named, cause), *ends_of(fallen.fallen(named), "revoked"), *_moves(view, fallen)]
    if target.principal is not None:
        changes.append(Change("principal.end", {"id": target.principal}))
    return Accepted(changes=(*changes, *also.changes), result=_result(named, fallen, also, target))


def _named(view: View, target: Target) -> list[Edge] | Refused:
    if target.principal is not None:
        if target.principal not in view.principals:
            message = f"`{target.principal}` is no principal of this realm"
            return Refused(code="unknown_subject", message=message, facts={"id": target.principal})
        if target.principal in view.realm.root:
            message = f"`{target.principal}` is a root of this realm; name another root first"
            return Refused(code="still_referenced", message=message, facts={"id": target.principal})
        return sorted(
            (edge for edge in view.edges.values() if target.principal in (edge.from_, edge.to)),
            key=lambda edge: edge.edge_id,
        )
    edge = view.edges.get(target.edge_id or "")
    if edge is None:
        ended = view.history.get(target.edge_id or "", ())
        how = f" any more: it was {ended[-1].ended_by} at revision {ended[-1].revision_to}" if ended else ""
        return Refused(code="no_authority", message=f"there is no current edge `{target.edge_id}`{how}")
    return [edge]


def _moves(view: View, fallen: Fall) -> list[Change]:
    """End the old and begin the new version of each delegation that stays under another right."""
    changes: list[Change] = []
    for edge_id in sorted(fallen.moved):
        changes += ends_of([view.edges[edge_id]], "amended")
        changes.append(Change("edge.begin", fallen.moved[edge_id].record()))
    return changes


def _result(named: Sequence[Edge], fallen: Fall, also: Also, target: Target) -> dict[str, Any]:
    delegations = [each for each in sorted(fallen.ended) if fallen.ended[each].edge is EdgeType.DELEGATES]
    grants = [each.edge_id for each in named if each.edge is not EdgeType.DELEGATES]
    ended: dict[str, Any] = {
        "edges": grants,
        "delegations": delegations,
        "capabilities": [],
        "leases": [],
        "waiters": [],
    }
    ended |= {noun: sorted(ids) for noun, ids in also.ended.items()}
    if target.principal is not None:
        ended["principals"] = [target.principal]
    moved = [{"delegation_id": each, "under": fallen.moved[each].under} for each in sorted(fallen.moved)]
    return {"ended": ended, "re_anchored": moved, "truncated": False}


def _facts(view: View, at: Instant, actor: Actor, target: Target, named: Sequence[Edge]) -> dict[str, Any]:
    graph = ViewGrounds(view=view, at=at)
    mine = graph.acts_as(actor.principal)
    one = named[0] if target.principal is None else None
    targets = _targets(named) if one is not None else {str(target.principal)}
    above = set(principals_above(one, graph)) - {one.to} if one is not None else set()
    rights = [
        edge
        for holder in sorted(mine)
        for edge in view.outgoing(EdgeType.MAY_REVOKE, holder)
        if edge.to in targets | above and graph.live(edge)
    ]
    return {
        "maker": one is not None and one.issuer in mine,
        "above": bool(above & mine),
        "keys": _keys(one),
        "edges": [edge_facts(edge, view) for edge in rights],
    }


def _targets(named: Sequence[Edge]) -> set[str]:
    """Return the principals whose authority the named edges are."""
    return {edge.from_ if edge.edge in ROOT_GRANTS else edge.to for edge in named}


def _keys(edge: Edge | None) -> list[str]:
    if edge is None or edge.edge not in ROOT_GRANTS:
        return []
    segments = edge.to.split(":")
    return [":".join(segments[:end]) for end in range(len(segments), 0, -1)]
