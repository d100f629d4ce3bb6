"""End what was given out: a lease of somebody else's, or a capability. Nothing rests on either, so each ends alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.model.builtin import Governance
from remit_graph.model.change import Change
from remit_graph.model.edge import EdgeType
from remit_graph.view.grounds import ViewGrounds
from remit_graph.view.members import reached
from remit_service.coordination.command import EndLease
from remit_service.coordination.standing import edge_facts
from remit_service.coordination.values import Refusal
from remit_service.coordinator.judge import walked
from remit_service.coordinator.reply import refused
from remit_service.governance.law import Actor, permitted, refused_by_policy
from remit_service.writer.command import Accepted, Refused, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.policy import Policy


def end_lease(
    policy: Policy, view: View, at: Instant, actor: Actor, lease_id: str, *, reason: str | None = None
) -> Verdict:
    """Decide that a lease ends for its holder, and its fence is raised; what waits for it is served."""
    command = EndLease(lease_id=lease_id, actor=actor.principal, reason=reason or "revoked")
    outcome, _ = walked(policy, view, at, command)
    if isinstance(outcome, Refusal):
        return refused(outcome, policy.reasons)
    ended = [lease_id] if outcome.changes else []
    told = {name: value for name, value in outcome.result.items() if name in ("state", "current_token")}
    return Accepted(changes=outcome.changes, result={"ended": {"leases": ended}, "re_anchored": [], **told})


def end_capability(policy: Policy, view: View, at: Instant, actor: Actor, capability_id: str) -> Verdict:
    """Decide that a capability counts no longer: by who asked for it, by whoever may revoke its subject, by a root."""
    record = view.records.get("capability", {}).get(capability_id)
    if record is None:
        message = f"there is no capability `{capability_id}` that could be ended"
        return Refused(code="not_found", message=message, facts={"id": capability_id})
    facts = _facts(view, at, actor, record)
    if refusal := refused_by_policy(permitted(policy, view, at, actor, Governance.REVOKE, revocation=facts)):
        return refusal
    body = {"id": capability_id, "state": "REVOKED", "code": "capability_revoked", "ended_at": at}
    result = {"ended": {"capabilities": [capability_id]}, "re_anchored": []}
    return Accepted(changes=(Change("capability.end", body),), result=result)


def _facts(view: View, at: Instant, actor: Actor, record: Mapping[str, Any]) -> dict[str, Any]:
    graph = ViewGrounds(view=view, at=at)
    mine = graph.acts_as(actor.principal)
    subject = holder_of(record)
    above = {subject, *reached(view, subject, at, writes=True)}
    delegators = {edge.from_ for edge in _proof(view, record) if edge.edge in (EdgeType.DELEGATES, EdgeType.OWNS)}
    rights = [
        edge
        for holder in sorted(mine)
        for edge in view.outgoing(EdgeType.MAY_REVOKE, holder)
        if edge.to in above | delegators and graph.live(edge)
    ]
    return {
        "maker": subject in mine,
        "above": bool(delegators & mine),
        "keys": [],
        "edges": [edge_facts(edge, view) for edge in rights],
    }


def holder_of(record: Mapping[str, Any]) -> str:
    """Return the principal a capability was given to."""
    subject = record["request"]["subject"]
    return f"{subject['type']}:{subject['id']}"


def _proof(view: View, record: Mapping[str, Any]) -> list[Any]:
    found = []
    for position in record.get("proof", ()):
        edge_id, _, version = str(position).rpartition("@")
        edge = view.version(edge_id, int(version)) if version.isdecimal() else None
        if edge is not None:
            found.append(edge)
    return found
