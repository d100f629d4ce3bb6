"""What `begin` and the taking of leases share: their options, and the three answers they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_service.decision.resolve import subject_of as find_principal
from remit_service.http.coordination.tell import answer

if TYPE_CHECKING:
    from fastapi import Response

    from remit_service.coordinator.reply import Reply
    from remit_service.decision.caller import Caller
    from remit_service.http.coordination.desk import Desk
    from remit_service.http.coordination.read import Body

MODES: Final = ("exclusive", "shared")
POLL_SECONDS: Final = 20
"""The long poll that a waiting caller is pointed at."""


def options_of(document: Body) -> dict[str, Any]:
    """Return how leases are asked for."""
    return {
        "purpose": document.text("purpose"),
        "mode": document.choice("mode", MODES, "exclusive"),
        "ttl_us": document.microseconds("ttl_seconds"),
        "wait_us": document.microseconds("wait_seconds") or 0,
        "keep_alive_us": document.microseconds("keep_alive_seconds") or None,
        "preempt": document.flag("preempt", default=False),
        "work_set_id": document.text("work_set_id"),
    }


def acquired(desk: Desk, caller: Caller, reply: Reply) -> Response:
    """Return 201 with the lease, or 202 with the place in the queue.

    Raises:
        ProblemError: it was refused.
    """
    if reply.is_waiting:
        path = waiter_path(reply)
        return answer(desk, caller, reply, status=202, body=queued(reply), headers={"Location": path})
    lease = reply.body.get("lease")
    headers = {} if lease is None else {"ETag": etag(lease)}
    return answer(desk, caller, reply, status=201, headers=headers)


def waiter_path(reply: Reply) -> str:
    """Return where a wait is asked about."""
    return f"/v1/waiters/{reply.body['waiter_id']}"


def queued(reply: Reply) -> dict[str, Any]:
    """Return what a waiting caller is told, with where to ask on."""
    return {**reply.body, "poll": f"{waiter_path(reply)}?wait={POLL_SECONDS}"}


def etag(lease: Any) -> str:
    """Return the entity tag of a lease: its version, which every renewal raises."""
    return f'"{lease["version"]}"'


def subject_of(desk: Desk, document: Body) -> str | None:
    """Return the principal that a step names, where it names one; a name that is nobody's stays as it is."""
    if document.members.get("subject") is None:
        return None
    entity = document.entity("subject")
    found = find_principal(entity, desk.coordinator.view)
    return f"{entity.type}:{entity.id}" if found is None else found.id
