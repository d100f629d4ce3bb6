"""Changes seen at a resource: what no operation explains went past the protocol (coordination.md 8, S95, S105)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.coordination.holding import WHOLE
from remit_service.coordination.oscillation import note_oscillation
from remit_service.coordination.states import OperationState
from remit_service.coordination.values import Answer, Ask, Refusal, Steps
from remit_service.coordination.work import Work, refuse

if TYPE_CHECKING:
    from remit_graph.model.resource_type import ResourceType
    from remit_service.coordination.command import Observe
    from remit_service.coordination.values import Claim, Record, Verdict

UNCOORDINATED, VIOLATION = "uncoordinated_write", "ownership_violation"


def observe(work: Work, command: Observe) -> Steps:
    """Carry out `Observe`; an explained change is told so and changes nothing."""
    work.questions += 1
    verdict: Verdict = yield Ask(request=command.resource, caller=command.caller, phase="probe")
    claim = verdict.claim
    if claim is None:
        return Refusal(code=verdict.codes[0], outcome=verdict.outcome, reasons=verdict.reasons)
    unknown = [each for each in command.fields if each not in claim.type.fields]
    if unknown:
        return refuse("unknown_field", type=claim.type.name, field=unknown[0])
    explained = _explained_by(work, command, claim.key)
    if explained is not None:
        return Answer(result={"explained": True, "coordination_id": explained})
    seen = _seen_before(work, command, claim.key)
    if seen is not None:
        return Answer(result={"explained": False, "observation_id": seen, "repeated": True})
    return Answer(result=_note(work, command, claim, verdict))


def _explained_by(work: Work, command: Observe, key: str) -> str | None:
    """The operation whose write this is: one that is writing there now, or one that completed with this version."""
    tables = work.view.coordination
    for lease_id in tables.leases.at.get(key, ()):
        lease = work.view.records["lease"][lease_id]
        operation = work.record("operation", lease["coordination_id"])
        if operation is not None and _writes(operation, command):
            return str(operation["id"])
    known = tables.versions.get(key)
    if known is None or command.observed_version not in (known["current"], *known["superseded"]):
        return None
    # A version that was seen before without an operation is no more explained the second time.
    return None if known["by"] in tables.kept_records["observation"].items else str(known["by"])


def _seen_before(work: Work, command: Observe, key: str) -> str | None:
    """The observation that reported this very version already."""
    known = work.view.coordination.versions.get(key)
    if known is None or command.observed_version is None or known["current"] != command.observed_version:
        return None
    return known["by"] if known["by"] in work.view.records["observation"] else None


def _writes(operation: Record, command: Observe) -> bool:
    past = operation["state"] not in (OperationState.BEGUN, OperationState.ENDED)
    own = command.actor is None or operation["principal"] == command.actor
    fields = {name for each in operation["resources"] for name in each["fields"]}
    return past and own and (not fields or set(command.fields) <= fields)


def _note(work: Work, command: Observe, claim: Claim, verdict: Verdict) -> dict[str, Any]:
    managed = any(claim.type.fields[each].managed for each in command.fields)
    finding = VIOLATION if managed and not _is_owners(work, command, verdict) else UNCOORDINATED
    wrote = sorted({f"{claim.key}#{_fence(claim.type, each)}" for each in command.fields or (WHOLE,)})
    body: dict[str, Any] = {
        "id": command.observation_id,
        "resource_key": claim.key,
        "fields": sorted(command.fields),
        "finding": finding,
        "observed_version": command.observed_version,
        "actor": command.actor,
        "owner": claim.owner,
        "reporter": command.reporter,
        "seen_at": min(command.seen_at, work.at),
        "wrote": wrote,
        "at": work.at,
    }
    work.change("observation.put", body)
    if command.actor is not None:
        note_oscillation(work, wrote)
    return {"explained": False, "observation_id": command.observation_id, "finding": finding}


def _is_owners(work: Work, command: Observe, verdict: Verdict) -> bool:
    """Whether the presumed writer might have written in the owner's name; an unknown one might not."""
    if command.actor is None or command.actor not in work.view.principals:
        return False
    rights = {"authority", "ownership", "identity"}
    return not any(work.tables.groups.get(code) in rights for code in verdict.codes)


def _fence(declared: ResourceType, field: str) -> str:
    spec = declared.fields.get(field)
    return field if spec is not None and spec.independent else WHOLE
