"""The write protocol after `begin`: read, check, execute, verify, then receipt and release in one (coordination.md 7).

The lease is released only after verification and receipt, never on the bare success of the call. A step that does not
follow is refused; an operation that is given up, or whose lease ends, leaves a receipt all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_service.coordination.holding import held_keys
from remit_service.coordination.receipt import ABORTED, COMPLETED, OUTCOME_UNKNOWN, close_operation
from remit_service.coordination.settle import settle
from remit_service.coordination.states import OPERATION_ARROWS, OperationState
from remit_service.coordination.tenure import gone_operation, not_current
from remit_service.coordination.values import Answer, Refusal, Steps
from remit_service.coordination.work import Work, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.coordination.command import Abort, Complete, Executed, FollowUp, Precondition, Verified
    from remit_service.coordination.values import Record

RESULTS: Final = ("applied", "failed", "unknown")


def precondition(work: Work, command: Precondition) -> Answer | Refusal:
    """Carry out `Precondition`: note the version that was read, and compare it with the planned one."""
    operation = _live(work, command.coordination_id, command.principal)
    if isinstance(operation, Refusal):
        return operation
    refusal = _out_of_step(operation, OperationState.READ, "precondition")
    if refusal is not None:
        return refusal
    wanted = command.resource_key or operation["resource_key"]
    place = next((at for at, each in enumerate(operation["resources"]) if each["resource_key"] == wanted), None)
    if place is None:
        return refuse("unknown_resource", key=wanted)
    resource = operation["resources"][place]
    expected = resource.get("expected_version")
    if expected is not None and expected != command.current_version:
        return refuse(
            "stale_resource_version",
            "rebase",
            key=wanted,
            expected_version=expected,
            current_version=command.current_version,
        )
    # What was read is what the write may rest on, where the request was made before it was known.
    read = {**resource, "current_version": command.current_version, "expected_version": command.current_version}
    resources = [read if at == place else each for at, each in enumerate(operation["resources"])]
    changed = _advance(
        work, operation, OperationState.READ, ("read_version", "validate_precondition"), {"resources": resources}
    )
    told = {"expected_version": read["expected_version"], "current_version": command.current_version}
    return Answer(result={"coordination_id": operation["id"], "state": changed["state"], **told})


def executed(work: Work, command: Executed) -> Answer | Refusal:
    """Carry out `Executed`."""
    operation = _held(work, command.coordination_id, command.principal, command.token)
    if isinstance(operation, Refusal):
        return operation
    if command.result not in RESULTS:
        problem = f"`{command.result}` is none of {', '.join(RESULTS)}"
        return refuse("malformed_request", pointer="/result", problem=problem)
    refusal = _out_of_step(operation, OperationState.EXECUTED, "executed") or _unread(operation)
    if refusal is not None:
        return refusal
    execution: dict[str, Any] = {"result": command.result, "at": work.at, "execution_id": f"exec_{operation['id']}"}
    if command.evidence is not None:
        execution["evidence"] = dict(command.evidence)
    changed = _advance(work, operation, OperationState.EXECUTED, ("execute",), {"execution": execution})
    return Answer(
        result={
            "coordination_id": operation["id"],
            "state": changed["state"],
            "execution_id": execution["execution_id"],
        }
    )


def _unread(operation: Record) -> Refusal | None:
    """Every resource is read before any is written."""
    for each in operation["resources"]:
        if each.get("current_version") is None:
            return refuse("version_required", "rebase", key=each["resource_key"])
    return None


def verified(work: Work, command: Verified) -> Answer | Refusal:
    """Carry out `Verified`; a failed verification keeps the lease, so that what went wrong can be mended under it."""
    operation = _held(work, command.coordination_id, command.principal, command.token)
    if isinstance(operation, Refusal):
        return operation
    state = OperationState.VERIFIED if command.passed else OperationState.UNVERIFIED
    refusal = _out_of_step(operation, state, "verified")
    if refusal is not None:
        return refusal
    if command.passed and operation["execution"]["result"] == "failed":
        return refuse("not_verified", id=operation["id"], problem="the call has failed")
    verification = {"passed": command.passed, "checks": [dict(each) for each in command.checks], "at": work.at}
    changed = _advance(work, operation, state, ("verify",), {"verification": verification})
    return Answer(result={"coordination_id": operation["id"], "state": changed["state"], "passed": command.passed})


def _unverified(operation: Record) -> Refusal | None:
    """No change is closed that was not seen to be there."""
    if operation["state"] == OperationState.VERIFIED:
        return None
    return refuse("not_verified", id=operation["id"], problem=f"it is {operation['state']}")


def complete(work: Work, command: Complete) -> Steps:
    """Carry out `Complete`: receipt and release are one revision; a second one is answered with the receipt."""
    closed = work.view.coordination.closed.get(command.coordination_id)
    if closed is not None and closed["principal"] == command.principal and closed["status"] == COMPLETED:
        receipt = work.view.records["receipt"].get(command.coordination_id)
        return Answer(result={"coordination_id": command.coordination_id, "state": "ENDED", "receipt": receipt})
    operation = _held(work, command.coordination_id, command.principal, command.token)
    if isinstance(operation, Refusal):
        return operation
    refusal = _unverified(operation)
    if refusal is not None:
        return refusal
    finals: Mapping[str, str] = command.final_versions
    if command.final_version is not None:
        finals = {**finals, operation["resource_key"]: command.final_version}
    missing = next((each for each in operation["resources"] if each["resource_key"] not in finals), None)
    if missing is not None:
        return refuse("version_required", "rebase", key=missing["resource_key"])
    resources = [{**each, "final_version": finals[each["resource_key"]]} for each in operation["resources"]]
    keys = _keys(work, operation)
    receipt = close_operation(work, {**operation, "resources": resources}, COMPLETED)
    yield from settle(work, keys)
    return Answer(result={"coordination_id": operation["id"], "state": "ENDED", "receipt": receipt})


def abort(work: Work, command: Abort) -> Steps:
    """Carry out `Abort`; doing it twice is as good as once."""
    operation = work.record("operation", command.coordination_id)
    if operation is None:
        closed = work.view.coordination.closed.get(command.coordination_id)
        if closed is None or closed["principal"] != command.principal:
            return refuse("lease_not_held", subject=command.principal, lease_id=command.coordination_id)
        return Answer(result={"coordination_id": command.coordination_id, "state": "ENDED", "status": closed["status"]})
    if operation["principal"] != command.principal:
        return refuse("lease_not_held", subject=command.principal, lease_id=command.coordination_id)
    execution = operation.get("execution")
    unknown = execution is not None and execution["result"] == "unknown"
    keys = _keys(work, operation)
    receipt = close_operation(
        work, operation, OUTCOME_UNKNOWN if unknown else ABORTED, {"reason": command.reason, "by": command.principal}
    )
    yield from settle(work, keys)
    return Answer(
        result={"coordination_id": operation["id"], "state": "ENDED", "status": receipt["status"], "receipt": receipt}
    )


def follow_up(work: Work, command: FollowUp) -> Answer:
    """Carry out `FollowUp`: outcomes are monitored apart, and no lease is held meanwhile (S66)."""
    receipt = work.view.records["receipt"].get(command.receipt["id"], command.receipt)
    finding = {**command.finding, "by": command.actor, "at": work.at}
    changed = {**receipt, "outcome_checks": [*receipt.get("outcome_checks", ()), finding]}
    work.change("receipt.put", changed)
    return Answer(result={"receipt_id": receipt["id"], "outcome_checks": changed["outcome_checks"]})


def _live(work: Work, coordination_id: str, principal: str) -> Record | Refusal:
    operation = work.record("operation", coordination_id)
    if operation is None:
        return gone_operation(work, coordination_id, principal)
    if operation["principal"] != principal:
        return refuse("lease_not_held", subject=principal, lease_id=coordination_id)
    if not work.lives(operation):
        return refuse("lease_expired", "acquire", lease_id=coordination_id, expires_at=operation["expires_at"])
    return operation


def _held(work: Work, coordination_id: str, principal: str, token: int) -> Record | Refusal:
    """An operation whose leases are all current under the token that is shown."""
    operation = _live(work, coordination_id, principal)
    if isinstance(operation, Refusal):
        return operation
    if token != operation["lease_epoch"]:
        code = "stale_fencing_token" if token < operation["lease_epoch"] else "lease_not_held"
        facts = {"fencing_token": token, "key": operation["resource_key"], "current_token": operation["lease_epoch"]}
        return refuse(code, **facts, subject=principal, lease_id=coordination_id)
    for lease_id in operation["lease_ids"]:
        lease = work.record("lease", lease_id)
        if lease is None:
            return gone_operation(work, coordination_id, principal)
        refusal = not_current(work, lease, principal, lease["lease_epoch"])
        if refusal is not None:
            return refusal
    return operation


def _out_of_step(operation: Record, to: OperationState, name: str) -> Refusal | None:
    if to in OPERATION_ARROWS[OperationState(operation["state"])]:
        return None
    return refuse("invalid_transition", id=operation["id"], state=operation["state"], step=name)


def _advance(
    work: Work, operation: Record, to: OperationState, steps: tuple[str, ...], more: Mapping[str, Any]
) -> Record:
    done = [{"step": each, "at": work.at} for each in steps]
    changed = {**operation, **more, "state": str(to), "steps": [*operation["steps"], *done]}
    work.change("operation.put", changed)
    return changed


def _keys(work: Work, operation: Record) -> list[str]:
    """Every key that becomes free with an operation; of one without lease those it waited on in its line."""
    leases = [each for each in (work.record("lease", one) for one in operation["lease_ids"]) if each is not None]
    keys = held_keys(leases)
    return keys or [each["resource_key"] for each in operation["resources"]]
