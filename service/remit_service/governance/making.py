"""Make and amend edges: grants, rights, owners, memberships and structure, each judged by its law and by the policy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from remit_graph.laws.grant import check_grant
from remit_graph.laws.owns import check_owns, next_ownership_epoch, rests_on
from remit_graph.laws.refusal import Refusal
from remit_graph.model.builtin import Governance
from remit_graph.model.edge import GRANT_CLASS, MEMBERSHIPS, Edge, EdgeType
from remit_graph.view.foundation import owners_over, past_owners
from remit_graph.view.grounds import ViewGrounds
from remit_service.governance.delegating import delegate, make_delegation
from remit_service.governance.law import Actor, permitted, refused_by_policy
from remit_service.governance.names import misnamed, unknown_edge, unknown_ends
from remit_service.governance.power import power_of
from remit_service.governance.versions import begin, ends_of, lives_on, next_version, shown
from remit_service.writer.command import Refused, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.governance.spec import EdgeSpec
    from remit_service.policy import Policy


def make_grant(policy: Policy, view: View, at: Instant, actor: Actor, spec: EdgeSpec) -> Verdict:
    """Decide a new grant, right, ownership, membership or structural edge."""
    if missing := lives_on(view, spec.edge, at) or unknown_ends(view, spec.edge):
        return missing
    edge = spec.edge if spec.names_issuer else replace(spec.edge, issuer=_issuer(view, at, actor, spec.edge))
    return _grant(policy, view, at, actor, edge, action=Governance.GRANT)


def _issuer(view: View, at: Instant, actor: Actor, edge: Edge) -> str:
    """Return in whose name an edge is issued where nobody says: of a root, the delegator, an owner, else the actor.

    Only what the actor acts as counts, so that this adds to nobody's rights.
    """
    voices = [actor.principal, *sorted(ViewGrounds(view=view, at=at).acts_as(actor.principal) - {actor.principal})]
    for may_issue in (
        view.is_root,
        lambda voice: edge.edge is EdgeType.MAY_DELEGATE and voice == edge.from_,
        lambda voice: any(True for _ in view.outgoing(EdgeType.OWNS, voice)),
    ):
        found = next((voice for voice in voices if may_issue(voice)), None)
        if found is not None:
            return found
    return actor.principal


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
        return unknown_edge(view, spec.edge.edge_id)
    if version is not None and version != current.version:
        return Refused(
            code="stale_expected_revision",
            message=f"version {version} of `{current.edge_id}` was expected, and {current.version} is current",
            facts={"current_version": current.version},
        )
    if current.edge is EdgeType.DELEGATES:
        return delegate(policy, view, at, actor, spec.edge, action=Governance.AMEND, under=spec.under)
    return _grant(policy, view, at, actor, spec.edge, action=Governance.AMEND)


def _grant(policy: Policy, view: View, at: Instant, actor: Actor, edge: Edge, *, action: Governance) -> Verdict:
    asked = replace(edge, version=next_version(view, edge.edge_id), epoch=view.authority_epoch)
    stands = stamped(view, asked)
    broken = [*_law(view, at, actor, stands, policy), *misnamed(view, policy, stands)]
    power = power_of(view, at, stands)
    decision = permitted(policy, view, at, actor, action, **({"power": power} if power is not None else {}))
    if refused := refused_by_policy(decision, broken):
        return refused
    return begin(policy, view, at, stands)


def stamped(view: View, edge: Edge) -> Edge:
    """Stamp a grant with each OWNS it rests on, and an OWNS with its epoch (rules.md 4)."""
    if edge.edge is EdgeType.OWNS:
        return replace(edge, ownership_epoch=_ownership_epoch(view, edge))
    if edge.edge in GRANT_CLASS:
        return replace(edge, rests_on=rests_on(edge, owners_over(view, edge.to)))
    return edge


def _ownership_epoch(view: View, owns: Edge) -> int:
    """An owner keeps its epoch while it claims no more than before; otherwise it gets 1 + the highest ever."""
    before = view.edges.get(owns.edge_id)
    others = [*past_owners(view), *(each for each in _owners(view) if each.edge_id != owns.edge_id)]
    if before is None or before.edge is not EdgeType.OWNS or before.from_ != owns.from_:
        return next_ownership_epoch(replace(owns, except_=()), [*others, *([before] if before else [])])
    if (owns.to, owns.scope.fields, owns.except_) == (before.to, before.scope.fields, before.except_):
        return before.ownership_epoch or 1
    return max(before.ownership_epoch or 1, next_ownership_epoch(owns, others))


def _owners(view: View) -> Iterator[Edge]:
    for held in view.owners.values():
        yield from held.values()


def _law(view: View, at: Instant, actor: Actor, edge: Edge, policy: Policy) -> list[Refusal]:
    """Return what the laws refuse: who may issue it, and what it would claim."""
    broken: list[Refusal] = []
    root = actor.is_root(view, at)
    if not root and not actor.speaks_for(edge.issuer, view, at):
        message = f"`{actor.principal}` is not `{edge.issuer}`, which is to issue `{edge.edge_id}`, nor acts as it"
        broken.append(_refused_issuer(edge, message))
    if edge.edge is EdgeType.OWNS:
        return broken + check_owns(edge, _owners(view), view.realm.root)
    if edge.edge in GRANT_CLASS:
        return broken + check_grant(edge, view.outgoing(EdgeType.OWNS, edge.issuer), view.realm.root, policy.scales)
    if edge.edge is EdgeType.MAY_DELEGATE and edge.issuer == edge.from_:
        # What is handed on is judged when it is handed on; an owner may say who it would hand its own to.
        return broken
    if not root and edge.issuer not in view.realm.root:
        what = "memberships" if edge.edge in MEMBERSHIPS else f"{edge.edge} edges"
        broken.append(_refused_issuer(edge, f"{what} are made by a root principal, and `{edge.issuer}` is none"))
    return broken


def _refused_issuer(edge: Edge, message: str) -> Refusal:
    return Refusal(code="no_authority", message=message, dimension="issuer", offending=(edge.issuer,))


__all__ = ["amend", "ends_of", "make_delegation", "make_grant", "shown", "stamped"]
