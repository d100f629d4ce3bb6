"""How waiters and operations move the tables.

A waiter is a request for a lease that could not be granted yet: `{"id", "waiter_id", "holder", "claims": [...],
"since", "alive_until", "wait_until", "priority", "proof", ...}`. It ends GRANTED, TIMEOUT, REFUSED or LEFT, and can be
asked about for a while afterwards. An operation is one coordinated write from begin to receipt. A backlog is what one
command could not settle of a queue: `{"id", "keys", "looked_at": [waiter ids], "at"}`; it is due at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from remit_graph.view.coordination.due import schedule, unschedule
from remit_graph.view.coordination.leases import entangle, enter, rest, rest_no_more

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.journal import Journal
    from remit_graph.view.state import View

Body = Mapping[str, Any]
WAITER: Final = "waiter"
OPERATION: Final = "operation"
BACKLOG: Final = "backlog"
FIFO: Final = "FIFO"


def waiter_keys(waiter: Body) -> Iterable[str]:
    """Return every key a waiter asks for, once each."""
    return dict.fromkeys(entry["key"] for claim in waiter["claims"] for entry in claim["keys"])


def put_waiter(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """A request begins to wait, or says that it still does."""
    tables, waiter_id = view.coordination, body["id"]
    waiters = journal.bucket(view.records, WAITER)
    known = waiters.get(waiter_id)
    if known is None:
        tables.waiters.add(view, waiter_id, waiter_keys(body), journal)
        enter(tables.waiting, body["holder"], waiter_id, journal)
        entangle(tables, body["holder"], journal)
        if body["acquisition"] != FIFO:
            journal.put(tables.shifting, waiter_id, None)
        enter(tables.asked_by, (WAITER, body["point"]), waiter_id, journal)
    else:
        rest_no_more(tables, WAITER, known, journal)
    rest(tables, WAITER, body, journal)
    schedule(tables, WAITER, waiter_id, min(body["alive_until"], body["wait_until"]), journal)
    journal.put(waiters, waiter_id, body)


def end_waiter(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """A wait is over; `fair` holds the virtual times of the queues it was served from."""
    tables, waiter_id = view.coordination, body["id"]
    waiters = journal.bucket(view.records, WAITER)
    known = waiters.get(waiter_id)
    if known is None:
        return
    tables.waiters.remove(waiter_id, journal)
    journal.leave(tables.waiting, known["holder"], waiter_id)
    entangle(tables, known["holder"], journal)
    journal.drop(tables.shifting, waiter_id)
    journal.leave(tables.asked_by, (WAITER, known["point"]), waiter_id)
    rest_no_more(tables, WAITER, known, journal)
    unschedule(tables, WAITER, waiter_id, journal)
    journal.drop(waiters, waiter_id)
    tables.left.add(waiter_id, {**known, **body}, journal)
    for key, times in (body.get("fair") or {}).items():
        journal.put(tables.fair, key, times)
    for key in waiter_keys(known):
        # A queue that ran empty starts its shares anew.
        if key not in tables.waiters.at:
            journal.drop(tables.fair, key)


def put_backlog(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """A queue is to be looked at again, by the next sweep."""
    schedule(view.coordination, BACKLOG, body["id"], body["at"], journal)
    journal.put(journal.bucket(view.records, BACKLOG), body["id"], body)


def end_backlog(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """A queue was looked at again."""
    unschedule(view.coordination, BACKLOG, body["id"], journal)
    journal.drop(journal.bucket(view.records, BACKLOG), body["id"])


def put_operation(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """An operation begins, or takes a step."""
    tables, operation_id = view.coordination, body["id"]
    operations = journal.bucket(view.records, OPERATION)
    if operation_id not in operations:
        enter(tables.operating, body["principal"], operation_id, journal)
        enter(tables.asked_by, (OPERATION, body["point"]), operation_id, journal)
    if not body["lease_ids"]:
        # With a lease it ends when the lease does.
        schedule(tables, OPERATION, operation_id, body["expires_at"], journal)
    journal.put(operations, operation_id, body)


def end_operation(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
    """An operation has its receipt."""
    tables, operation_id = view.coordination, body["id"]
    operations = journal.bucket(view.records, OPERATION)
    known = operations.get(operation_id)
    if known is None:
        return
    journal.leave(tables.operating, known["principal"], operation_id)
    journal.leave(tables.asked_by, (OPERATION, known["point"]), operation_id)
    unschedule(tables, OPERATION, operation_id, journal)
    journal.drop(operations, operation_id)
    tables.closed.add(operation_id, {**known, **body}, journal)
