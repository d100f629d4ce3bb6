"""Hand authority on: a delegation is filled in, judged by laws and policy, and never wider than its ground."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from remit_graph.laws.delegation import Bounds, check_delegation
from remit_graph.laws.ground import Ground, grounds_of
from remit_graph.model.builtin import Governance
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.view.grounds import ViewGrounds
from remit_service.coordination.standing import edge_facts
from remit_service.governance.law import Actor, permitted, refused_by_policy
from remit_service.governance.names import misnamed, unknown_ends
from remit_service.governance.versions import begin, lives_on, next_version
from remit_service.writer.command import Refused, Verdict

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.governance.spec import EdgeSpec
    from remit_service.policy import Policy

MAX_GROUNDS: Final = 16
"""Grounds of one delegation that the policy is shown (rules.md 3, by the same measure as chains)."""

MAX_MADE: Final = 10_000
"""Delegations that one principal may have made and not ended (rules.md 14)."""


def make_delegation(policy: Policy, view: View, at: Instant, actor: Actor, spec: EdgeSpec) -> Verdict:
    """Decide a new delegation: what it leaves open is filled in, what it would widen is named."""
    edge = spec.edge
    if missing := lives_on(view, edge, at) or unknown_ends(view, edge) or _too_many(view, edge.from_):
        return missing
    return delegate(policy, view, at, actor, edge, action=Governance.DELEGATE, under=spec.under)


def delegate(
    policy: Policy, view: View, at: Instant, actor: Actor, edge: Edge, *, action: Governance, under: str | None
) -> Verdict:
    """Decide a delegation, the first version or the next one."""
    asked = replace(edge, version=next_version(view, edge.edge_id), epoch=view.authority_epoch)
    graph = ViewGrounds(view=view, at=at, without=frozenset({asked.edge_id}))
    grounds = list(grounds_of(asked, graph, under=under))
    bounds = Bounds(max_depth=view.realm.max_delegation_depth, scales=policy.scales, actions=view.actions)
    judgement = check_delegation(asked, grounds, bounds)
    stands = judgement.edge or judgement.closest or asked
    decision = permitted(policy, view, at, actor, action, delegation=_facts(view, at, actor, stands, grounds))
    if refused := refused_by_policy(decision, [*judgement.refusals, *misnamed(view, policy, stands)]):
        return refused
    return begin(policy, view, at, stands)


def _too_many(view: View, delegator: str) -> Refused | None:
    made = len(view.out[EdgeType.DELEGATES].get(delegator, ()))
    if made < MAX_MADE:
        return None
    message = f"`{delegator}` has made {made} delegations, and at most {MAX_MADE} may stand at once"
    return Refused(code="limit_exceeded", message=message, facts={"limit": "delegations", "maximum": MAX_MADE})


def _facts(view: View, at: Instant, actor: Actor, edge: Edge, grounds: list[Ground]) -> dict[str, Any]:
    names = edge.scope.actions
    covered = view.actions.values() if names is None else (view.actions[each] for each in names if each in view.actions)
    return {
        "edge_id": edge.edge_id,
        "from": edge.from_,
        "to": edge.to,
        "scope": edge.scope.record(),
        "valid_from": edge.valid_from,
        "valid_until": edge.valid_until,
        "max_depth": edge.max_depth or 0,
        "speaks": actor.speaks_for(edge.from_, view, at),
        "cycle": bool(grounds) and all(edge.to in each.above for each in grounds),
        "trust": view.principals[edge.to].trust,
        "classes": sorted({each.class_ for each in covered}),
        "grounds": [
            {"right": edge_facts(each.right, view), "authority": edge_facts(each.authority, view)}
            for each in grounds[:MAX_GROUNDS]
        ],
    }
