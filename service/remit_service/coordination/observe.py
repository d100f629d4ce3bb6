"""Changes seen at a resource: what no operation explains went past the protocol (coordination.md 8, S95, S105)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.model.builtin import Governance
from remit_service.coordination.governed import governed
from remit_service.coordination.holding import WHOLE
from remit_service.coordination.oscillation import note_oscillation
from remit_service.coordination.states import OperationState
from remit_service.coordination.values import Answer, Refusal, Steps
from remit_service.coordination.writers import may_write, resource_of

if TYPE_CHECKING:
    from collections.abc import Generator

    from remit_graph.model.registry import Resolved
    from remit_graph.model.resource_type import ResourceType
    from remit_service.coordination.command import Observe
    from remit_service.coordination.values import Ask, Record, Verdict
    from remit_service.coordination.work import Work

UNCOORDINATED, VIOLATION = "uncoordinated_write", "ownership_violation"


def observe(work: Work, command: Observe) -> Steps:
    """Carry out `Observe`; an explained change is told so and changes nothing."""
    resource = resource_of(work, command.resource, command.fields)
    if isinstance(resource, Refusal):
        return resource
    if not command.is_trusted:
        refusal = yield from governed(work, command.reporter, Governance.REPORT_OBSERVATION)
        if refusal is not None:
            return refusal
    explained = _explained_by(work, command, resource.key)
    if explained is not None:
        return Answer(result={"explained": True, "coordination_id": explained})
    seen = _seen_before(work, command, resource.key)
    if seen is not None:
        return Answer(result={"explained": False, "observation_id": seen, "repeated": True})
    finding = yield from _finding(work, command, resource)
    _note(work, command, resource, finding)
    return Answer(result={"explained": False, "observation_id": command.observation_id, "finding": finding})


def _finding(work: Work, command: Observe, resource: Resolved) -> Generator[Ask, Verdict, str]:
    """A managed field written by nobody who may write it in its owner's name is an ownership violation."""
    if not any(resource.type.fields[each].managed for each in command.fields):
        return UNCOORDINATED
    if command.actor is None or command.actor not in work.view.principals:
        return VIOLATION
    refusal = yield from may_write(work, command.actor, resource, command.fields)
    return UNCOORDINATED if refusal is None else VIOLATION


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


def _note(work: Work, command: Observe, resource: Resolved, finding: str) -> None:
    wrote = sorted({f"{resource.key}#{_fence(resource.type, each)}" for each in command.fields or (WHOLE,)})
    body: dict[str, Any] = {
        "id": command.observation_id,
        "resource_key": resource.key,
        "fields": sorted(command.fields),
        "finding": finding,
        "observed_version": command.observed_version,
        "actor": command.actor,
        "reporter": command.reporter,
        "seen_at": min(command.seen_at, work.at),
        "wrote": wrote,
        "at": work.at,
    }
    work.change("observation.put", body)
    if command.actor is not None:
        note_oscillation(work, wrote)


def _fence(declared: ResourceType, field: str) -> str:
    spec = declared.fields.get(field)
    return field if spec is not None and spec.independent else WHOLE
