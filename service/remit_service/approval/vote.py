"""Decide what changes an approval: asking for one, agreeing to it, taking it back.

Who agrees holds MAY_APPROVE on every resource of the operation, for an action of class `approve` (`under`), and is not
who will act, nor somebody who acts as the other (S121). The operation is in the context of that decision as `operation`
and who will act as `requester`, so that an edge can be narrowed to some operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import Change
from remit_graph.model.registry import KEY_TYPE
from remit_graph.view.members import reached
from remit_service.approval.presented import NOUN, approvers_of
from remit_service.approval.record import Terms, Vote, new_record, with_vote
from remit_service.coordination.values import Ask
from remit_service.coordinator.judge import judge
from remit_service.decision.caller import Caller
from remit_service.decision.request import Entity, Evaluation
from remit_service.writer.command import Accepted, Refused, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordinator.judge import Decided
    from remit_service.policy import Policy

MAX_LIVE: Final = 10_000
"""Approvals that are open through one enforcement point at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreeing:
    """That somebody agrees.

    Attributes:
        approver: The principal, already proven by whoever takes commands.
        under: The action of class `approve` that its right is for.
    """

    approver: str
    under: str


@dataclass(frozen=True, slots=True)
class Bench:
    """On what an approval is decided.

    Attributes:
        policy: The policy in force.
        view: The graph.
        at: The instant.
        decided: What the policy was asked and answered, for the record.
    """

    policy: Policy
    view: View
    at: Instant
    decided: list[Decided]


def ask(bench: Bench, approval_id: str, point: str, terms: Terms, agreeing: Agreeing | None) -> Verdict:
    """Decide a new approval, with the vote of who makes it unless it is only asked for."""
    count = len(bench.view.coordination.asked_by.get((NOUN, point), ()))
    if count >= MAX_LIVE:
        facts = {"limit": "approvals", "maximum": MAX_LIVE, "count": count}
        return Refused(code="limit_exceeded", message=f"{count} approvals are open, of at most {MAX_LIVE}", facts=facts)
    if terms.expires_at <= bench.at:
        return Refused(code="approval_stale", message="the approval would be over before it is given")
    record = new_record(approval_id, point, terms, bench.at)
    if agreeing is None:
        return _accepted(bench, record)
    return _voted(bench, record, agreeing)


def agree(bench: Bench, approval_id: str, agreeing: Agreeing) -> Verdict:
    """Decide one more vote on an approval that is there."""
    record = _open(bench, approval_id)
    return record if isinstance(record, Refused) else _voted(bench, record, agreeing)


def withdraw(bench: Bench, approval_id: str, principal: str) -> Verdict:
    """Decide that an approval ends: by who will act, or by any of those who agreed."""
    record = _open(bench, approval_id)
    if isinstance(record, Refused):
        return record
    if principal not in {record["requester"], *(each["approver"] for each in record["votes"])}:
        message = f"`{principal}` neither asked for approval `{approval_id}` nor agreed to it"
        return Refused(code="no_authority", message=message)
    body = {"id": approval_id, "state": "WITHDRAWN", "ended_at": bench.at, "by": principal}
    return Accepted(changes=(Change("approval.end", body),), result={"approval_id": approval_id, "state": "WITHDRAWN"})


def _open(bench: Bench, approval_id: str) -> Mapping[str, Any] | Refused:
    record: Mapping[str, Any] | None = bench.view.records.get(NOUN, {}).get(approval_id)
    if record is None or record["expires_at"] <= bench.at:
        return Refused(code="not_found", message=f"there is no open approval `{approval_id}`")
    return record


def _voted(bench: Bench, record: Mapping[str, Any], agreeing: Agreeing) -> Verdict:
    if refused := _of_oneself(bench, record, agreeing):
        return refused
    proof: set[str] = set()
    decision_id = ""
    for key in record["resource_keys"]:
        judged, made = judge(
            bench.policy,
            bench.view,
            bench.at,
            Ask(request=_right(record, key, agreeing), phase="probe", caller=_asking(agreeing)),
        )
        bench.decided.append(made)
        if judged.outcome != "execute":
            first = judged.reasons[0]
            facts = {"reasons": list(judged.reasons), "decision_id": judged.decision_id}
            return Refused(code=str(first["code"]), message=str(first["message"]), facts=facts)
        proof.update(judged.proof)
        decision_id = judged.decision_id
    vote = Vote(approver=agreeing.approver, at=bench.at, proof=tuple(sorted(proof)), decision_id=decision_id)
    return _accepted(bench, with_vote(record, vote))


def _of_oneself(bench: Bench, record: Mapping[str, Any], agreeing: Agreeing) -> Refused | None:
    """Refuse one's own request, also under the name of a role that one of both acts as."""
    approver, requester = agreeing.approver, str(record["requester"])
    same = approver == requester or any(
        other in reached(bench.view, one, bench.at, writes=True)
        for one, other in ((approver, requester), (requester, approver))
    )
    if not same:
        return None
    message = f"`{approver}` cannot approve what `{requester}` asks for"
    return Refused(code="self_approval", message=message, facts={"subject": approver})


def _right(record: Mapping[str, Any], key: str, agreeing: Agreeing) -> Evaluation:
    kind, _, name = agreeing.approver.partition(":")
    context: dict[str, Any] = {"requester": record["requester"], "operation": record["action"]}
    if record["fields"]:
        context["fields"] = list(record["fields"])
    return Evaluation(
        subject=Entity(type=kind, id=name),
        action=agreeing.under,
        resource=Entity(type=KEY_TYPE, id=key),
        context=context,
    )


def _asking(agreeing: Agreeing) -> Caller:
    """Return who puts the question: this service, which knows all that it says in it."""
    return Caller(point=None, identity=agreeing.approver, trusts_all=True)


def _accepted(bench: Bench, record: Mapping[str, Any]) -> Accepted:
    approvers = approvers_of(bench.view, record, bench.at)
    result = {
        "approval_id": record["approval_id"],
        "approvers": approvers,
        "quorum": record["quorum"],
        "complete": len(approvers) >= record["quorum"],
    }
    return Accepted(changes=(Change("approval.put", dict(record)),), result=result)
