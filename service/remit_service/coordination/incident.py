"""Incidents: declared by someone with the authority to, they carry priority and takeovers (rules.md 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_service.coordination.gate import lasting
from remit_service.coordination.settle import settle
from remit_service.coordination.values import Answer, Ask, Refusal, Steps
from remit_service.coordination.work import Work, refuse

if TYPE_CHECKING:
    from remit_service.coordination.command import DeclareIncident
    from remit_service.coordination.values import Verdict

STATUSES: Final = ("OPEN", "CLOSED")


def declare(work: Work, command: DeclareIncident) -> Steps:
    """Carry out `DeclareIncident`: the actor may DECLARE_INCIDENT on the very resource it names."""
    if command.status not in STATUSES:
        problem = f"`{command.status}` is none of {', '.join(STATUSES)}"
        return refuse("malformed_request", pointer="/status", problem=problem)
    if command.severity not in work.tables.incident_priority:
        known = ", ".join(sorted(work.tables.incident_priority))
        return refuse("malformed_request", pointer="/severity", problem=f"`{command.severity}` is none of {known}")
    work.questions += 1
    verdict: Verdict = yield Ask(request=command.resource, caller=command.caller, phase="probe")
    against = lasting(work.tables, verdict)
    if against is not None or verdict.claim is None:
        return Refusal(code=against or verdict.codes[0], outcome=verdict.outcome, reasons=verdict.reasons)
    known_incident = work.record("incident", command.incident_id)
    if known_incident is not None and known_incident["resource_key"] != verdict.claim.key:
        return refuse("already_exists", id=command.incident_id)
    if known_incident is None and command.status == "CLOSED":
        return refuse("invalid_transition", id=command.incident_id, state="unknown", step="close")
    record = {
        "id": command.incident_id,
        "incident_id": command.incident_id,
        "severity": command.severity,
        "resource_key": verdict.claim.key,
        "status": command.status,
        "actor": command.actor,
        "proof": list(verdict.proof),
        "declared_at": known_incident["declared_at"] if known_incident is not None else work.at,
        "changed_at": work.at,
    }
    same = known_incident is not None and all(
        known_incident[name] == record[name] for name in ("severity", "status", "resource_key")
    )
    if not same:
        work.change("incident.put", record)
        # Who responds to it comes earlier in its queues from now on, or no longer does.
        yield from settle(work, ())
    return Answer(result={name: record[name] for name in ("incident_id", "severity", "resource_key", "status")})
