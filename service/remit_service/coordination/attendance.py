"""Waiters say that they are still there; whoever does not is passed over (F057, F063)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_service.coordination.behind import keys_of, still_asks
from remit_service.coordination.settle import end_waiter, settle
from remit_service.coordination.values import Answer, Steps
from remit_service.coordination.work import Work, refuse

if TYPE_CHECKING:
    from remit_service.coordination.command import KeepWaiting, LeaveQueue


def keep(work: Work, command: KeepWaiting) -> Answer:
    """Carry out `KeepWaiting`: those that are still there live on; the others are left to the sweep."""
    kept: list[str] = []
    for waiter_id in dict.fromkeys(command.waiter_ids):
        waiter = work.record("waiter", waiter_id)
        if waiter is not None and still_asks(work, waiter):
            work.change("waiter.put", {**waiter, "alive_until": work.at + waiter["keep_alive_us"]})
            kept.append(waiter_id)
    return Answer(result={"kept": kept})


def leave(work: Work, command: LeaveQueue) -> Steps:
    """Carry out `LeaveQueue`; leaving twice is as good as once."""
    waiter = work.record("waiter", command.waiter_id)
    if waiter is None:
        left = work.view.coordination.left.get(command.waiter_id)
        if left is None or left["holder"] != command.holder:
            return refuse("lease_not_held", subject=command.holder, lease_id=command.waiter_id)
        return Answer(result={"waiter_id": command.waiter_id, "state": left["state"]})
    if waiter["holder"] != command.holder:
        return refuse("lease_not_held", subject=command.holder, lease_id=command.waiter_id)
    end_waiter(work, waiter, "LEFT")
    yield from settle(work, keys_of(waiter))
    return Answer(result={"waiter_id": command.waiter_id, "state": "LEFT"})
