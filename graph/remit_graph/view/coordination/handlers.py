"""Which handler serves which kind of change of coordination."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.view.coordination import leases, passes, queue, signals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.journal import Journal
    from remit_graph.view.state import View

HANDLERS: Final[Mapping[str, Callable[[View, Mapping[str, Any], Journal, int, Instant], None]]] = {
    "lease.put": leases.put_lease,
    "lease.end": leases.end_lease,
    "waiter.put": queue.put_waiter,
    "waiter.end": queue.end_waiter,
    "backlog.put": queue.put_backlog,
    "backlog.end": queue.end_backlog,
    "operation.put": queue.put_operation,
    "operation.end": queue.end_operation,
    "receipt.put": signals.put_receipt,
    "observation.put": signals.put_observation,
    "presence.put": signals.put_presence,
    "presence.end": signals.end_presence,
    "incident.put": signals.put_incident,
    "incident.end": signals.end_incident,
    "transfer.put": signals.put_transfer,
    "work_set.put": signals.put_work_set,
    "work_set.end": signals.end_work_set,
    "conflict.put": signals.put_conflict,
    "notice.put": signals.put_notice,
    "notice.end": signals.end_notice,
    "incarnation.set": signals.set_incarnation,
    "capability.put": passes.put_pass("capability"),
    "capability.end": passes.end_pass("capability"),
    "approval.put": passes.put_pass("approval"),
    "approval.end": passes.end_pass("approval"),
}
"""Kind to handler; nouns that are missing here (`sequence`) have nothing but their record."""


def structure_moved(view: View, key: str, journal: Journal) -> None:
    """Enter leases, waiters and work sets again whose key has another place in the structure now."""
    tables = view.coordination
    # What is kept of keys is of the structure before, and what comes later in this revision would be entered by it.
    journal.put(view.__dict__, "grounds", {})
    for index in (tables.leases, tables.waiters, tables.work_sets):
        index.moved(view, key, journal)
