"""From a plan to the right to carry it out: steps 1 to 5, at once or in turn.

What a refusal is raised as: `StalePlan` where what was planned on has moved or was lost, `NeedsPerson` where somebody
has to decide, else `Denied`. A refusal holds nothing; whoever stops waiting leaves the queue.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from remit_enforce.asking import question
from remit_enforce.client import Answer
from remit_enforce.errors import Denied, NeedsPerson, StalePlan
from remit_enforce.operations import Begun, Renewed, Waiting, read_as
from remit_enforce.queueing import QUEUED, in_turn, leave
from remit_enforce.receipt import COMPLETED, DENIED, STEPS
from remit_enforce.refusal import LATE_ANSWER, UNREADABLE_ANSWER, Refusal, unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_enforce.operations import Operations
    from remit_enforce.plan import Plan
    from remit_enforce.receipt import Receipt, Trace

_NOT_FOUND: Final = 404
_STEP_OF_CODE: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("malformed_resource_key", "unknown_action", "unknown_field", "unknown_resource"), "resolve_resource"
    ),
    **dict.fromkeys(("not_owner", "owner_frozen", "ownership_conflict", "ownership_unresolved"), "resolve_owner"),
    "stale_ownership_epoch": "resolve_owner",
    **dict.fromkeys(
        ("conflict_unknown", "conflicting_operation", "human_presence", "resource_coordinated", "sequence_violated"),
        "detect_conflicts",
    ),
    **dict.fromkeys(
        ("coordination_timeout", "deadlock_avoided", "follower", "key_too_broad", "lock_order_violated",
         "preempted", "resource_busy", "under_way"),
        "acquire",
    ),
    **dict.fromkeys(("stale_resource_version", "version_required"), "validate_precondition"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Acquired:
    """The right to act, and the instant of the monotonic clock from which its lease is counted."""

    begun: Begun
    since: float


async def acquire(operations: Operations, plan: Plan, trace: Trace) -> Acquired | Receipt:
    """Begin the operation of a plan, or return the receipt of the one that its key has completed before.

    Raises:
        Denied: It was refused, or nobody could be asked; nothing is held.
    """
    found = await _begin(operations, plan)
    if isinstance(found, Answer) and found.replayed and plan.key is not None:
        return await _begun_before(operations, plan, found, trace)
    is_fresh = isinstance(found, Answer) and found.status != QUEUED and not found.replayed
    if isinstance(found, Answer) and found.status == QUEUED:
        found = await in_turn(operations, found, plan.wait_seconds)
    if isinstance(found, Refusal):
        raise refused(found, trace)
    begun = read_as(Begun, found)
    if isinstance(begun, Begun) and not begun.decision:
        begun = unreadable("what was begun is not permitted", status=found.status)
    if isinstance(begun, Refusal):
        # Whatever it was that was begun, it is not left behind.
        await operations.abort(str(found.document.get("coordination_id")), str(begun))
        raise refused(begun, trace)
    acquired = Acquired(begun, found.sent_at)
    return acquired if is_fresh or begun.lease is None else await _counted_anew(operations, begun, trace)


async def _begin(operations: Operations, plan: Plan) -> Answer | Refusal:
    """Begin; where nobody is left to hear the answer, what was begun is given up."""
    body, key = _body(plan), plan.key or f"enforce-{uuid.uuid4().hex}"
    try:
        found = await operations.begin(body, key)
    except asyncio.CancelledError:
        await _withdraw(operations, body, key, is_own=plan.key is None)
        raise
    if isinstance(found, Refusal) and found.code in (LATE_ANSWER, UNREADABLE_ANSWER):
        await _withdraw(operations, body, key, is_own=plan.key is None)
    return found


async def _withdraw(operations: Operations, body: Mapping[str, Any], key: str, *, is_own: bool) -> None:
    """Ask once more under the same key what was begun, and give it up; else it lasts until its lease expires."""
    found = await operations.begin(body, key, timeout_seconds=operations.client.settings.renew_timeout_seconds)
    if isinstance(found, Refusal) or (found.replayed and not is_own):
        # Under a key of the caller's an earlier run may have begun it, and may be alive.
        return
    begun = read_as(Begun, found) if found.status != QUEUED else read_as(Waiting, found)
    if isinstance(begun, Begun):
        await operations.abort(begun.coordination_id, "its caller did not wait for the answer")
    elif isinstance(begun, Waiting):
        await leave(operations, begun.waiter_id)


async def _counted_anew(operations: Operations, begun: Begun, trace: Trace) -> Acquired:
    """Renew a lease that was given at some moment before its answer was asked for, so that it is known how it lasts."""
    trace.coordination_id = begun.coordination_id
    found = await operations.renew(begun.coordination_id, begun.lease_epoch, None)
    renewed = read_as(Renewed, found) if isinstance(found, Answer) else found
    if isinstance(renewed, Refusal) or isinstance(found, Refusal):
        await operations.abort(begun.coordination_id, f"its lease could not be renewed: {renewed}")
        raise refused(renewed if isinstance(renewed, Refusal) else unreadable("no lease"), trace)
    return Acquired(msgspec.structs.replace(begun, lease=renewed.lease), found.sent_at)


def _body(plan: Plan) -> dict[str, Any]:
    context = dict(plan.context)
    if plan.expected_version is not None:
        context["expected_version"] = plan.expected_version
    asked = question(plan.subject, plan.action, plan.resource, context)
    options = {"purpose": plan.purpose, "ttl_seconds": plan.ttl_seconds, "lease": plan.lease}
    return {**asked, **options, "wait_seconds": plan.wait_seconds}


async def _begun_before(operations: Operations, plan: Plan, found: Answer, trace: Trace) -> Receipt:
    """Return what the first run under this key has come to: a repeat never writes again (S84).

    Raises:
        StalePlan: It ended without a completed write; a retry is a new run, with a key of its own.
        Denied: It is still under way, here or elsewhere; or how it ended cannot be had.
    """
    if found.status == QUEUED:
        polled = await operations.poll(str(found.document.get("waiter_id")), 0)
        if isinstance(polled, Refusal):
            raise refused(polled, trace)
        found = polled
    name = str(found.document.get("coordination_id"))
    kept = await operations.receipt(name) if found.status != QUEUED else None
    if kept is None or (isinstance(kept, Refusal) and kept.status == _NOT_FOUND):
        message = f"a run under key `{plan.key}` has begun and has not ended"
        raise refused(Refusal(code="under_way", message=message, outcome="wait"), trace)
    if isinstance(kept, Refusal):
        raise refused(kept, trace)
    trace.coordination_id, status = name, str(kept.document.get("status"))
    if status == COMPLETED:
        trace.done(*STEPS)
        trace.execution = "applied"
        return trace.receipt(status, document=kept.document, reason="it was completed under this key before")
    message = f"the run under key `{plan.key}` ended as {status}; a retry is a new run with a key of its own"
    error = StalePlan(Refusal(code="invalid_transition", message=message, document=kept.document))
    error.receipt = trace.receipt(status, stopped_at="acquire", document=kept.document, reason=message)
    raise error


def refused(refusal: Refusal, trace: Trace) -> Denied:
    """Return the error that a refusal before the write is, with the receipt of a write that never began."""
    kind = StalePlan if refusal.is_stale else NeedsPerson if refusal.needs_person else Denied
    error = kind(refusal)
    step = _STEP_OF_CODE.get(refusal.code, "resolve_resource" if refusal.is_fault else "validate_authority")
    error.receipt = trace.receipt(DENIED, stopped_at=step, reason=str(refusal))
    return error
