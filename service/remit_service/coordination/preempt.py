"""Taking over (coordination.md 4): allowed by the policy alone, and done to all who stand in the way or to none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_service.coordination.compare import judge
from remit_service.coordination.conflict import record_conflict
from remit_service.coordination.expire import freed_by
from remit_service.coordination.holding import held_keys, holding_of
from remit_service.coordination.matrix import COMPATIBLE
from remit_service.coordination.overlap import leases_near
from remit_service.coordination.priority import incidents_over
from remit_service.coordination.receipt import lose_lease
from remit_service.coordination.states import Cause, LeaseState
from remit_service.coordination.work import Work, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_service.coordination.gate import Gate
    from remit_service.coordination.holding import Holding
    from remit_service.coordination.values import Record, Refusal


def take_over(work: Work, gate: Gate, holdings: Sequence[Holding]) -> Refusal | list[str]:
    """End every lease in the way, for the request whose gate says `preempt`.

    Returns:
        The keys that became free, or a refusal where the policy has not seen all holders who would lose.
    """
    judged = {each["lease_id"] for each in gate.conflicts}
    losers: dict[str, Record] = {}
    for held in holdings:
        for lease in leases_near(work.view, held, work.at):
            if judge(work.view, work.tables, held, holding_of(lease), work.at) != COMPATIBLE:
                losers[lease["id"]] = lease
    unseen = sorted(losers.keys() - judged)
    if unseen:
        return refuse("resource_busy", "wait", lease_id=unseen[0], holder=losers[unseen[0]]["holder"])
    winner = holdings[0].holder
    incidents = incidents_over(work.view, holdings[0].key, work.at)
    incident = incidents[0]["incident_id"] if incidents else None
    how = {
        "decision": "preempt",
        "winner": winner,
        "reason_code": "higher_priority" if incident is None else "incident_priority",
    }
    freed: list[str] = []
    for lease in losers.values():
        if work.record("lease", lease["id"]) is None:
            continue
        freed.extend(freed_by(work, lease))
        record_conflict(
            work,
            lease["resource_key"],
            (lease["holder"], winner),
            held_keys([lease]),
            how,
            lease_id=lease["id"],
            incident_id=incident,
        )
        lose_lease(
            work,
            lease,
            LeaseState.REVOKED,
            cause=Cause.PREEMPTION,
            code="preempted",
            by=winner,
            reason=incident,
        )
    return freed
