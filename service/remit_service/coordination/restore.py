"""A store that was put back from a backup: its first revision ends all that was held from before (rules.md 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_service.coordination.receipt import EXPIRED, close_operation, lose_lease
from remit_service.coordination.settle import end_waiter
from remit_service.coordination.states import LeaseState
from remit_service.coordination.values import Answer

if TYPE_CHECKING:
    from remit_service.coordination.command import BeginIncarnation
    from remit_service.coordination.work import Work


def begin_incarnation(work: Work, command: BeginIncarnation) -> Answer:
    """Carry out `BeginIncarnation`; done once, it finds nothing to do.

    What was held ends as EXPIRED: nobody revoked it, and its tokens are foreign from here on, whatever their number.
    Capabilities end as REVOKED, since whoever holds one must be told that it counts no more. Approvals stay: they are
    votes about a request, and give control to nobody.
    """
    if work.view.incarnation >= command.incarnation:
        return Answer(result={"incarnation": work.view.incarnation, "leases": 0, "waiters": 0})
    leases = list(work.view.records.get("lease", {}).values())
    waiters = list(work.view.records.get("waiter", {}).values())
    for waiter in waiters:
        end_waiter(work, waiter, "REFUSED", code="revision_foreign")
    for lease in leases:
        if work.record("lease", lease["id"]) is not None:
            lose_lease(work, lease, LeaseState.EXPIRED, code="revision_foreign")
    for operation in list(work.view.records.get("operation", {}).values()):
        close_operation(work, operation, EXPIRED, {"code": "revision_foreign"})
    for capability in sorted(work.view.records.get("capability", {})):
        body = {"id": capability, "state": "REVOKED", "code": "capability_revoked", "ended_at": work.at}
        work.change("capability.end", body)
    work.change("incarnation.set", {"id": "incarnation", "incarnation": command.incarnation})
    return Answer(result={"incarnation": command.incarnation, "leases": len(leases), "waiters": len(waiters)})
