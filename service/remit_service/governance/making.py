"""Make and amend edges: grants, rights, memberships and delegations, each judged by its law and by the policy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from remit_graph.laws.delegation import Bounds, check_delegation
from remit_graph.laws.grant import check_grant
from remit_graph.laws.ground import Ground, grounds_of
from remit_graph.laws.owns import check_owns, owns_overlap
from remit_graph.laws.refusal import Refusal
from remit_graph.model.builtin import Governance
from remit_graph.model.change import Change
from remit_graph.model.edge import GRANT_CLASS, MEMBERSHIPS, RESOURCE_EDGES, Edge, EdgeType
from remit_graph.model.instant import format_instant
from remit_graph.view.grounds import ViewGrounds
from remit_service.governance.law import Actor, edge_facts, permitted, refused_by_policy
from remit_service.governance.spec import EdgeSpec, next_version
from remit_service.writer.command import Accepted, Refused, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.policy import Policy

MAX_GROUNDS: Final = 16
"""Grounds of one delegation that the policy is shown (rules.md 3, by the same measure as chains)."""


def make_delegation(policy: Policy, view: View, at: Instant, actor: Actor, spec: EdgeSpec) -> Verdict:
    """Decide a new delegation: what it leaves open is filled in, what it would widen is named."""
    if missing := _missing(view, spec.edge, at):
        return missing
    asked = replace(spec.edge, version=next_version(view, spec.edge.edge_id), epoch=view.authority_epoch)
    action, ends = Governance.DELEGATE, _over(view, spec.edge)
    return _delegate(policy, view, at, actor, asked, action=action, under=spec.under, ends=ends)


def _delegate(
    policy: Policy,
    view: View,
    at: Instant,
    actor: Actor,
    asked: Edge,
    *,
    action: Governance,
    under: str | None,
    ends: tuple[Change, ...],
) -> Verdict:
    graph = ViewGrounds(view=view, at=at, without=frozenset({asked.edge_id}))
    grounds = list(grounds_of(asked, graph, under=under))
    bounds = Bounds(max_depth=view.realm.max_delegation_depth, scales=policy.scales, actions=view.actions)
    judgement = check_delegation(asked, grounds, bounds)
    stands = judgement.edge or judgement.closest or asked
    facts = _delegation_facts(view, at, actor, stands, grounds)
    decision = permitted(policy, view, at, actor, action, delegation=facts)
    if refused := refused_by_policy(decision, judgement.refusals):
        return refused
    return Accepted(changes=(*ends, Change("edge.begin", stands.record())), result=shown(stands))


def _delegation_facts(view: View, at: Instant, actor: Actor, edge: Edge, grounds: list[Ground]) -> dict[str, Any]:
    delegate = view.principals[edge.to]
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
        "trust": delegate.trust,
        "classes": sorted({each.class_ for each in covered}),
        "grounds": [
            {"right": edge_facts(each.right, view), "authority": edge_facts(each.authority, view)}
            for each in grounds[:MAX_GROUNDS]
        ],
    }


def make_grant(policy: Policy, view: View, at: Instant, actor: Actor, spec: EdgeSpec) -> Verdict:
    """Decide a new grant, right, ownership, membership or structural edge."""
    if missing := _missing(view, spec.edge, at):
        return missing
    asked = replace(spec.edge, version=next_version(view, spec.edge.edge_id), epoch=view.authority_epoch)
    return _grant(policy, view, at, actor, asked, action=Governance.GRANT, ends=_over(view, spec.edge))


def _grant(
    policy: Policy, view: View, at: Instant, actor: Actor, asked: Edge, *, action: Governance, ends: tuple[Change, ...]
) -> Verdict:
    stands = _stamped(view, asked)
    broken = [*_issuer_law(view, at, actor, stands, policy), *_undeclared(view, stands)]
    decision = permitted(policy, view, at, actor, action)
    if refused := refused_by_policy(decision, broken):
        return refused
    return Accepted(changes=(*ends, Change("edge.begin", stands.record())), result=shown(stands))


def amend(policy: Policy, view: View, at: Instant, actor: Actor, spec: EdgeSpec, *, version: int | None) -> Verdict:
    """Decide an amendment: the next version begins where the current one ends, in one revision.

    Args:
        policy: The policy in force.
        view: The graph.
        at: The instant.
        actor: Who asks.
        spec: The edge as it is to be.
        version: What the caller believes is current (`If-Match`), or None.
    """
    current = view.edges.get(spec.edge.edge_id)
    if current is None:
        return Refused(code="no_authority", message=f"there is no current edge `{spec.edge.edge_id}`")
    if version is not None and version != current.version:
        return Refused(
            code="stale_expected_revision",
            message=f"version {version} of `{current.edge_id}` was expected, and {current.version} is current",
            facts={"current_version": current.version},
        )
    ends = (Change("edges.end", {"edges": [[current.edge_id, current.version]], "cause": "amended"}),)
    asked = replace(spec.edge, version=next_version(view, current.edge_id), epoch=view.authority_epoch)
    if current.edge is EdgeType.DELEGATES:
        return _delegate(policy, view, at, actor, asked, action=Governance.AMEND, under=None, ends=ends)
    return _grant(policy, view, at, actor, asked, action=Governance.AMEND, ends=ends)


def _over(view: View, edge: Edge) -> tuple[Change, ...]:
    """Return the end of the version whose time was over: it stays where it is until its id is granted again (F017)."""
    current = view.edges.get(edge.edge_id)
    if current is None:
        return ()
    return (Change("edges.end", {"edges": [[current.edge_id, current.version]], "cause": "expired"}),)


def _missing(view: View, edge: Edge, at: Instant) -> Refused | None:
    """Refuse what exists already and has not run out, and ends that nobody declared."""
    current = view.edges.get(edge.edge_id)
    if current is not None and (current.valid_until is None or at < current.valid_until):
        return Refused(
            code="already_exists",
            message=f"`{edge.edge_id}` exists already; amend it, or choose another id",
            facts={"id": edge.edge_id},
        )
    ends = [edge.from_] if edge.edge in (GRANT_CLASS.keys() | {EdgeType.OWNS}) else [edge.from_, edge.to]
    for end in ends if edge.edge not in RESOURCE_EDGES else ():
        if end not in view.principals:
            return Refused(code="unknown_subject", message=f"`{end}` is no principal of this realm", facts={"id": end})
    return None


def _stamped(view: View, edge: Edge) -> Edge:
    """Stamp a grant with each OWNS it rests on, and an OWNS with its epoch (rules.md 4)."""
    owns = [each for held in view.owners.values() for each in held.values()]
    if edge.edge is EdgeType.OWNS:
        past = [each for ended in view.history.values() for each in ended if each.edge is EdgeType.OWNS]
        epochs = [each.ownership_epoch or 0 for each in [*owns, *past] if owns_overlap(each, replace(edge, except_=()))]
        return replace(edge, ownership_epoch=1 + max(epochs, default=0))
    if edge.edge not in GRANT_CLASS:
        return edge
    probe = replace(edge, edge=EdgeType.OWNS)
    stamps = {(each.edge_id, each.ownership_epoch or 0) for each in owns if owns_overlap(each, probe)}
    return replace(edge, rests_on=tuple(sorted(stamps)))


def _issuer_law(view: View, at: Instant, actor: Actor, edge: Edge, policy: Policy) -> list[Refusal]:
    broken: list[Refusal] = []
    root = actor.is_root(view, at)
    if not root and not actor.speaks_for(edge.issuer, view, at):
        message = f"`{actor.principal}` is not `{edge.issuer}`, which is to issue `{edge.edge_id}`, nor acts as it"
        broken.append(Refusal(code="no_authority", message=message, dimension="issuer", offending=(edge.issuer,)))
    if edge.edge is EdgeType.OWNS:
        owns = [each for held in view.owners.values() for each in held.values()]
        return broken + check_owns(edge, owns, view.realm.root)
    if edge.edge in GRANT_CLASS:
        return broken + check_grant(edge, view.outgoing(EdgeType.OWNS, edge.issuer), view.realm.root, policy.scales)
    if edge.edge is EdgeType.MAY_DELEGATE and edge.issuer == edge.from_:
        # What is handed on is judged when it is handed on; an owner may say who it would hand its own to.
        return broken
    if not root and edge.issuer not in view.realm.root:
        what = "memberships" if edge.edge in MEMBERSHIPS else f"{edge.edge} edges"
        message = f"{what} are made by a root principal, and `{edge.issuer}` is none"
        broken.append(Refusal(code="no_authority", message=message, dimension="issuer", offending=(edge.issuer,)))
    return broken


def _undeclared(view: View, edge: Edge) -> list[Refusal]:
    """Refuse names that the realm does not declare: an edge with one would cover nothing."""
    found: list[tuple[str, str]] = []
    found += [("actions", each) for each in edge.scope.actions or () if each not in view.actions]
    found += [("where", name) for name, _ in edge.scope.where if name not in view.realm.dimensions]
    return [
        Refusal(
            code="unknown_action" if dimension == "actions" else "condition_unknown",
            message=f"`{edge.edge_id}` names `{name}`, which this realm does not declare",
            dimension=dimension,
            offending=(name,),
        )
        for dimension, name in found
    ]


def shown(edge: Edge) -> Mapping[str, Any]:
    """Return an edge as answers show it: with instants as text, and by the name its kind goes by."""
    record = edge.record()
    for name in ("valid_from", "valid_until"):
        if name in record:
            record[name] = format_instant(record[name])
    if edge.edge is EdgeType.DELEGATES:
        record["delegation_id"] = record["edge_id"]
    return record


def ends_of(edges: Iterable[Edge], cause: str) -> list[Change]:
    """Return the changes that end edges, at most a thousand a row."""
    pairs = [[each.edge_id, each.version] for each in edges]
    return [
        Change("edges.end", {"edges": pairs[start : start + 1_000], "cause": cause})
        for start in range(0, len(pairs), 1_000)
    ]
