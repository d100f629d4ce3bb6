"""Human presence: a signal that somebody edits, which holds every write of others to the touched fields (rules.md 10).

It is accepted from its actor, if the actor may write there, and from an enforcement point trusted for `presence`. One
principal has one presence on one resource; the newest says which fields it touches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.coordination.guards import quota_refusal
from remit_service.coordination.settle import settle
from remit_service.coordination.values import Answer, Refusal, Steps
from remit_service.coordination.work import Work, refuse
from remit_service.coordination.writers import may_write, resource_of

if TYPE_CHECKING:
    from remit_service.coordination.command import EndPresence, SignalPresence
    from remit_service.coordination.values import Record


def signal(work: Work, command: SignalPresence) -> Steps:
    """Carry out `SignalPresence`."""
    bound = work.tables.leases.presence_us
    if not 0 < command.ttl_us <= bound:
        return refuse("malformed_request", pointer="/ttl_seconds", problem=f"a presence lives at most {bound} us")
    if command.actor not in work.view.principals:
        return refuse("unknown_subject", subject=command.actor)
    resource = resource_of(work, command.resource, command.fields)
    if isinstance(resource, Refusal):
        return resource
    if command.from_actor:
        refusal = yield from may_write(work, command.actor, resource, command.fields)
        if refusal is not None:
            return refusal
    record = _record_of(command, work, resource.key)
    known = work.record("presence", record["id"])
    over = None if known is not None else quota_refusal(work, "presence", command.actor, command.point, 1)
    if over is not None:
        return over
    work.change("presence.put", record)
    if known is not None and _narrows(known, record):
        yield from settle(work, [resource.key])
    return Answer(result={"presence_id": record["id"], "expires_at": record["expires_at"]})


def _narrows(before: Record, after: Record) -> bool:
    """Whether some field that was touched is not any more; no fields are the whole resource."""
    return bool(after["fields"]) and (not before["fields"] or bool(set(before["fields"]) - set(after["fields"])))


def _record_of(command: SignalPresence, work: Work, key: str) -> dict[str, Any]:
    presence_id = f"{command.actor}@{key}"
    return {
        "id": presence_id,
        "presence_id": presence_id,
        "resource_key": key,
        "actor": command.actor,
        "point": command.point,
        "interactive_editor": command.interactive_editor,
        "fields": sorted(set(command.fields)),
        "last_activity": min(command.last_activity, work.at),
        "ttl_us": command.ttl_us,
        "expires_at": work.at + command.ttl_us,
    }


def stop(work: Work, command: EndPresence) -> Steps:
    """Carry out `EndPresence`; whoever was held by it and waits may go on."""
    presence = work.record("presence", command.presence_id)
    if presence is None:
        return Answer(result={"presence_id": command.presence_id, "ended": False})
    end_presence(work, presence, "left")
    yield from settle(work, [presence["resource_key"]])
    return Answer(result={"presence_id": command.presence_id, "ended": True})


def end_presence(work: Work, presence: Record, cause: str) -> None:
    """End a presence."""
    work.change("presence.end", {"id": presence["id"], "cause": cause, "ended_at": work.at})
