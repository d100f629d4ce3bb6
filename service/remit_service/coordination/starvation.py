"""FM-039, starvation: a wait that went beyond the ageing bound is told of, whether it was granted in the end or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from remit_service.coordination.values import Record
    from remit_service.coordination.work import Work

MODE: Final = "FM-039"


def note_starvation(work: Work, waiter: Record) -> None:
    """Tell a waiter's holder, and whoever watches notices, that it waited longer than the bound (S77)."""
    waited = work.at - waiter["since"]
    if waited <= work.tables.ageing_us:
        return
    body = {
        "id": work.new_id("note"),
        "subject": waiter["holder"],
        "code": "coordination_timeout",
        "failure_mode": MODE,
        "waiter_id": waiter["id"],
        "resource_key": waiter["resource_key"],
        "waited_us": waited,
        "bound_us": work.tables.ageing_us,
        "at": work.at,
    }
    work.change("notice.put", body)
