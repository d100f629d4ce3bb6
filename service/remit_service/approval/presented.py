"""The fact `approval` of the policy input: what a request presents, and whether it still speaks of this request.

    context.approval_id = "apr_12"

An approval is of one operation on one version or content; whatever differs makes it stale (S117, S120). A vote counts
while its principal may act at all and while every edge its right rested on is still there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_service.approval.record import PER_CALL, PER_RUN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.decision.resolve import Question

NOUN: Final = "approval"
STALE: Final = "approval_stale"


def approval_fact(view: View, question: Question) -> dict[str, Any] | None:
    """Return the fact, or None where no approval is presented."""
    approval_id = question.evaluation.context.get("approval_id")
    if approval_id is None:
        return None
    record = view.records.get(NOUN, {}).get(approval_id)
    if record is None:
        return {
            "approval_id": approval_id, "quorum": 1, "approvers": [], "current": False, "code": STALE, "mode": PER_CALL,
        }  # fmt: skip
    current = record["expires_at"] > question.at and _fits(record, question)
    return {
        "approval_id": approval_id,
        "quorum": record["quorum"],
        "approvers": approvers_of(view, record, question.at),
        "current": current,
        "code": None if current else STALE,
        "mode": record["mode"],
    }


def approvers_of(view: View, record: Mapping[str, Any], at: Instant) -> list[str]:
    """Return those whose votes count now, sorted; never the one who will act."""
    return sorted(
        each["approver"]
        for each in record["votes"]
        if each["approver"] != record["requester"]
        and view.alive(each["approver"])
        and all(_stands(view, position, at) for position in each["proof"])
    )


def _stands(view: View, position: str, at: Instant) -> bool:
    edge_id, _, version = position.rpartition("@")
    edge = view.edges.get(edge_id)
    return edge is not None and str(edge.version) == version and edge.is_live(at)


def _fits(record: Mapping[str, Any], question: Question) -> bool:
    if question.principal is None or question.action is None or question.resource is None:
        return False
    said = question.evaluation.context
    return (
        question.principal.id == record["requester"]
        and question.action.name == record["action"]
        and question.resource.key in record["resource_keys"]
        and (not record["fields"] or (bool(question.fields) and set(question.fields) <= set(record["fields"])))
        and said.get("expected_version") == record.get("expected_version", said.get("expected_version"))
        and _is_of_content(record, question)
        and (record["mode"] != PER_RUN or record["run_id"] in (said.get("run_id"), said.get("work_set_id")))
    )


def _is_of_content(record: Mapping[str, Any], question: Question) -> bool:
    """Whether what will be written is what was looked at; only a trusted enforcement point says what that is."""
    wanted = record.get("content_hash")
    if wanted is None:
        return True
    return question.caller.trusts("content_hash") and question.evaluation.context.get("content_hash") == wanted
