"""Who waits behind whom, and why: what people ask a queue; nothing here decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.coordination.behind import before, in_the_way, still_asks, waiters_near
from remit_service.coordination.lease import answer_of
from remit_service.coordination.queue import rank
from remit_service.coordination.work import Work

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordination.tables import Tables
    from remit_service.coordination.values import Record


def queue_of(view: View, tables: Tables, key: str, at: Instant) -> list[dict[str, Any]]:
    """Return the waiters at, above and below `key` in their order, each with what it waits for."""
    work = Work(view, tables, at)
    waiting = sorted(
        (each for each in waiters_near(work, [key]) if still_asks(work, each)), key=lambda each: rank(work, each)
    )
    return [
        {
            "waiter_id": waiter["id"],
            "holder": waiter["holder"],
            "resource_key": waiter["resource_key"],
            "acquisition": waiter["acquisition"],
            "priority": waiter["priority"],
            "since": waiter["since"],
            "alive_until": waiter["alive_until"],
            "wait_until": waiter["wait_until"],
            "position": place,
            **_why(work, waiter),
            "waits_for": waits_for(work, waiter),
        }
        for place, waiter in enumerate(waiting, 1)
    ]


def _why(work: Work, waiter: Record) -> dict[str, Any]:
    """Why it began to wait, by its conflict record: also where nobody holds what it waits for, as beside a human."""
    record = work.view.records["conflict"].get(waiter["conflict_id"])
    return {} if record is None else {"outcome": record["decision"], "reason_code": record["reason_code"]}


def waits_for(work: Work, waiter: Record) -> list[dict[str, Any]]:
    """Return the leases and the earlier waiters that stand in the way of one waiter."""
    found = {
        lease["id"]: {
            "lease_id": lease["id"],
            "holder": lease["holder"],
            "key": lease["resource_key"],
            "result": result,
            "held_until": lease["expires_at"],
        }
        for lease, result in in_the_way(work, waiter)
    }
    found |= {
        other["id"]: {"waiter_id": other["id"], "holder": other["holder"], "key": other["resource_key"]}
        for other in before(work, waiter)
    }
    return [found[each] for each in sorted(found)]


def granted_to(view: View, tables: Tables, waiter: Record) -> dict[str, Any]:
    """Return what the holder of a wait that was granted is told, as `begin` would have told it."""
    leases = [each for each in (_lease(view, one) for one in waiter["lease_ids"]) if each is not None]
    operation = view.records.get("operation", {}).get(waiter["coordination_id"])
    told: dict[str, Any] = {
        "coordination_id": waiter["coordination_id"],
        "decision": True,
        "outcome": "execute",
        "lease": answer_of(leases[0], tables) if leases else None,
        "leases": [answer_of(each, tables) for each in leases],
        "obligations": [duty for lease in leases for duty in lease["obligations"]],
    }
    if operation is not None:
        told |= {"state": operation["state"], "lease_epoch": operation["lease_epoch"]}
    return told


def _lease(view: View, lease_id: str) -> Record | None:
    """A lease that is held, or one that has ended since."""
    return view.records.get("lease", {}).get(lease_id) or view.coordination.ended.get(lease_id)
