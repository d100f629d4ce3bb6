"""Capabilities and approvals: what was given out for one request, and ends by itself.

Both rest on the edges in `proof`, so that what ends these is asked about them; what ended is kept for a while, so that
whoever presents it is told how.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.view.coordination.due import schedule, unschedule
from remit_graph.view.coordination.leases import enter, rest, rest_no_more

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.journal import Journal
    from remit_graph.view.state import View

    Body = Mapping[str, Any]
    Handler = Callable[[View, Body, Journal, int, Instant], None]


def put_pass(noun: str) -> Handler:
    """Return the handler of `<noun>.put`: given out, or resting on another proof now."""

    def put(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
        tables, item = view.coordination, body["id"]
        table = journal.bucket(view.records, noun)
        known = table.get(item)
        if known is not None:
            rest_no_more(tables, noun, known, journal)
        else:
            enter(tables.asked_by, (noun, body["point"]), item, journal)
        rest(tables, noun, body, journal)
        schedule(tables, noun, item, body["expires_at"], journal)
        journal.put(table, item, body)

    return put


def end_pass(noun: str) -> Handler:
    """Return the handler of `<noun>.end`: over, revoked, or used up."""

    def end(view: View, body: Body, journal: Journal, _revision: int, _at: Instant) -> None:
        tables, item = view.coordination, body["id"]
        table = journal.bucket(view.records, noun)
        known = table.get(item)
        if known is None:
            return
        journal.leave(tables.asked_by, (noun, known["point"]), item)
        rest_no_more(tables, noun, known, journal)
        unschedule(tables, noun, item, journal)
        journal.drop(table, item)
        tables.spent.add(item, {**known, **body}, journal)

    return end
