"""May somebody write there at all? Asked where a signal names a resource and fields, and no action."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.errors import ModelError
from remit_service.coordination.gate import lasting
from remit_service.coordination.values import Ask, Refusal
from remit_service.coordination.work import Work, refuse

if TYPE_CHECKING:
    from collections.abc import Generator

    from remit_graph.model.registry import Resolved
    from remit_service.coordination.values import Record, Verdict

MAX_CANDIDATES: Final = 8
"""Actions by which somebody may turn out to be allowed to write: more would not make it likelier."""


def resource_of(work: Work, resource: Record, fields: tuple[str, ...]) -> Resolved | Refusal:
    """Return the resource a signal names, or the refusal of one that is not registered or has no such field."""
    try:
        found = work.view.registry.resolve(resource["type"], resource["id"])
    except ModelError as error:
        return refuse(error.code, key=resource["id"], problem=error.message)
    if found is None or (found.type.stored and found.key not in work.view.resources):
        return refuse("unknown_resource", key=f"{resource['type']}:{resource['id']}")
    unknown = [each for each in fields if each not in found.type.fields]
    return refuse("unknown_field", type=found.type.name, field=unknown[0]) if unknown else found


def may_write(
    work: Work, subject: str, resource: Resolved, fields: tuple[str, ...]
) -> Generator[Ask, Verdict, Refusal | None]:
    """Return None where some declared action lets `subject` write one of the fields, else the last refusal."""
    kind, _, name = subject.partition(":")
    refusal = refuse("no_authority", subject=subject, action="write", key=resource.key)
    for action in _actions(work, resource, fields):
        request = {
            "subject": {"type": kind, "id": name},
            "action": {"name": action},
            "resource": {"type": "key", "id": resource.key},
            "context": {},
        }
        work.questions += 1
        verdict: Verdict = yield Ask(request=request, phase="probe")
        code = lasting(work.tables, verdict)
        if code is None:
            return None
        refusal = Refusal(code=code, outcome=verdict.outcome, reasons=verdict.reasons)
    return refusal


def _actions(work: Work, resource: Resolved, fields: tuple[str, ...]) -> list[str]:
    """The declared actions that touch one of the fields; of none, those that touch the whole resource."""
    touched = set(fields) or set(resource.type.fields)
    names = [
        each.name
        for each in work.view.actions.values()
        if each.writes and (touched.intersection(each.fields) if each.fields else not touched)
    ]
    return sorted(names)[:MAX_CANDIDATES]
