"""The end of operations and of leases alone, each with its receipt (evidence.md 1).

One receipt says why this actor was the one allowed to act; a second, where the call was made, says what happened. They
refer to each other and never replace each other. Receipt and release are one revision: at no instant is there a
completed receipt with the lease held, or the lease gone without a receipt (S98).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.coordination.lease import end_lease
from remit_service.coordination.oscillation import note_oscillation
from remit_service.coordination.states import Cause, LeaseState, OperationState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.coordination.values import Record
    from remit_service.coordination.work import Work

COMPLETED, ABORTED, EXPIRED, PREEMPTED, REVOKED, OUTCOME_UNKNOWN = STATUSES = (
    "COMPLETED", "ABORTED", "EXPIRED", "PREEMPTED", "REVOKED", "OUTCOME_UNKNOWN",
)  # fmt: skip


def lose_lease(
    work: Work,
    lease: Record,
    state: LeaseState,
    *,
    cause: Cause | None = None,
    code: str | None = None,
    by: str | None = None,
    reason: str | None = None,
) -> None:
    """End a lease that was not given back, and with it the operation it was taken for, which holds all or nothing."""
    end_lease(work, lease, state, cause=cause, code=code, by=by, reason=reason)
    status = EXPIRED if state is LeaseState.EXPIRED else PREEMPTED if cause is Cause.PREEMPTION else REVOKED
    why = {"cause": cause and str(cause), "code": code, "by": by, "reason": reason}
    operation = work.record("operation", lease["coordination_id"])
    if operation is not None:
        close_operation(work, operation, status, why)
        return
    receipt = _receipt_of_lease(work, lease, status)
    work.change("receipt.put", receipt | _known(why))


def close_operation(work: Work, operation: Record, status: str, why: Mapping[str, Any] | None = None) -> Record:
    """End an operation: give back what it still holds, write its receipts; return the coordination receipt."""
    for lease_id in operation["lease_ids"]:
        lease = work.record("lease", lease_id)
        if lease is not None:
            end_lease(work, lease, LeaseState.RELEASED)
    execution = operation.get("execution")
    if execution is not None and execution["result"] == "unknown" and status not in (COMPLETED, OUTCOME_UNKNOWN):
        why = {**(why or {}), "ended_as": status}
        status = OUTCOME_UNKNOWN
    receipt = _receipt_of_operation(work, operation, status) | _known(why or {})
    if execution is not None:
        work.change("receipt.put", _execution_receipt(work, operation, execution))
    work.change("receipt.put", receipt)
    work.change(
        "operation.end",
        {"id": operation["id"], "state": str(OperationState.ENDED), "status": status, "ended_at": work.at},
    )
    if status == COMPLETED:
        _advance_line(work, operation, receipt)
        note_oscillation(work, receipt["wrote"])
    return receipt


def _known(why: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in why.items() if value is not None}


def _receipt_of_operation(work: Work, operation: Record, status: str) -> dict[str, Any]:
    resources = operation["resources"]
    completed = status == COMPLETED
    receipt: dict[str, Any] = {
        "id": operation["id"],
        "receipt_id": operation["id"],
        "record": "coordination",
        "coordination_id": operation["id"],
        "principal": operation["principal"],
        "resource_key": resources[0]["resource_key"],
        "resource_keys": [each["resource_key"] for each in resources],
        "action": resources[0]["action"],
        "fields": resources[0]["fields"],
        "owner": resources[0]["owner"],
        "authority_epoch": operation["authority_epoch"],
        "ownership_epoch": max(resources[0]["ownership_epochs"].values(), default=None),
        "ownership_epochs": resources[0]["ownership_epochs"],
        "policy_epoch": operation["policy_epoch"],
        "lease_id": operation["lease_ids"][0] if operation["lease_ids"] else None,
        "lease_ids": operation["lease_ids"],
        "lease_epoch": operation["lease_epoch"],
        "expected_version": resources[0].get("expected_version"),
        "final_version": resources[0].get("final_version"),
        "conflicts": operation["conflicts"],
        "acquired_at": operation["created_at"],
        "released_at": work.at,
        "status": status,
        "decision_id": operation["decision_id"],
        "authority_origin": resources[0]["proof"],
        "approvals": operation["approvals"],
        "change_id": operation["change_id"],
        "purpose": operation["purpose"],
        "work_set_id": operation["work_set_id"],
        "steps": [*operation["steps"], {"step": "receipt", "at": work.at}, {"step": "release", "at": work.at}],
        "wrote": [fence for each in resources for fence in each["fences"]] if completed else [],
        "versions": [_version(each) for each in resources if each.get("final_version") is not None]
        if completed
        else [],
    }
    if operation.get("execution") is not None:
        receipt["execution_id"] = f"exec_{operation['id']}"
    return receipt


def _version(resource: Record) -> dict[str, Any]:
    return {
        "key": resource["resource_key"],
        "expected_version": resource.get("expected_version"),
        "final_version": resource["final_version"],
    }


def _receipt_of_lease(work: Work, lease: Record, status: str) -> dict[str, Any]:
    return {
        "id": lease["coordination_id"],
        "receipt_id": lease["coordination_id"],
        "record": "coordination",
        "coordination_id": lease["coordination_id"],
        "principal": lease["holder"],
        "resource_key": lease["resource_key"],
        "resource_keys": [lease["resource_key"]],
        "action": lease["action"],
        "fields": lease["fields"],
        "authority_epoch": lease["authority_epoch"],
        "ownership_epoch": max(lease["ownership_epochs"].values(), default=None),
        "ownership_epochs": lease["ownership_epochs"],
        "policy_epoch": lease["policy_epoch"],
        "lease_id": lease["lease_id"],
        "lease_epoch": lease["lease_epoch"],
        "conflicts": [],
        "acquired_at": lease["acquired_at"],
        "released_at": work.at,
        "status": status,
        "authority_origin": lease["proof"],
        "change_id": lease.get("change_id"),
        "purpose": lease.get("purpose"),
    }


def _execution_receipt(work: Work, operation: Record, execution: Record) -> dict[str, Any]:
    return {
        "id": f"exec_{operation['id']}",
        "receipt_id": f"exec_{operation['id']}",
        "record": "execution",
        "coordination_id": operation["id"],
        "principal": operation["principal"],
        "resource_keys": [each["resource_key"] for each in operation["resources"]],
        "action": operation["resources"][0]["action"],
        "result": execution["result"],
        "evidence": execution.get("evidence"),
        "executed_at": execution["at"],
        "verification": operation.get("verification"),
        "recorded_at": work.at,
    }


def _advance_line(work: Work, operation: Record, receipt: Record) -> None:
    """A completed operation of a line moves it on, with the version the schema is at now."""
    line = operation.get("sequence")
    if line is None:
        return
    record = {
        "id": line["line"],
        "line": line["line"],
        "last": line["number"],
        "resource_key": receipt["resource_key"],
        "version": receipt["final_version"],
        "coordination_id": operation["id"],
        "at": work.at,
    }
    work.change("sequence.put", record)
