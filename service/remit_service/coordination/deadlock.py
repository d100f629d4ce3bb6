"""Waits that would close a cycle are refused at once (coordination.md 3, FM-038).

A holder waits for every holder of a conflicting lease, and for every request before its own that it collides with. Who
comes last gives way, and that is always the request that is just being made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_service.coordination.compare import judge
from remit_service.coordination.holding import holding_of
from remit_service.coordination.matrix import COMPATIBLE
from remit_service.coordination.overlap import leases_near
from remit_service.coordination.queue import collide, holdings_of, rank, still_asks, waiters_near

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_service.coordination.holding import Holding
    from remit_service.coordination.values import Record
    from remit_service.coordination.work import Work


def closes_cycle(work: Work, newcomer: Record, holdings: Sequence[Holding]) -> str | None:
    """Return the holder over whom a wait would come back to the one who begins it, or None."""
    me, tables = newcomer["holder"], work.view.coordination
    if not tables.held.get(me) and not tables.waiting.get(me):
        # Nobody can be waiting for someone who neither holds nor asks for anything.
        return None
    seen: set[str] = set()
    frontier = [(each, each) for each in sorted(blockers(work, newcomer, holdings))]
    while frontier:
        holder, first = frontier.pop()
        if holder == me:
            return first
        if holder in seen:
            continue
        seen.add(holder)
        for waiter_id in tables.waiting.get(holder, ()):
            waiter = work.view.records["waiter"][waiter_id]
            if still_asks(work, waiter):
                frontier.extend((each, first) for each in sorted(blockers(work, waiter, holdings_of(waiter))))
    return None


def blockers(work: Work, waiter: Record, holdings: Sequence[Holding]) -> set[str]:
    """Return the holders a request waits for."""
    found: set[str] = set()
    for held in holdings:
        for lease in leases_near(work.view, held, work.at):
            if judge(work.view, work.tables, held, holding_of(lease), work.at) != COMPATIBLE:
                found.add(lease["holder"])
    place = rank(work, waiter)
    for other in waiters_near(work, [entry["key"] for held in holdings for entry in held.keys]):
        before = other["id"] != waiter["id"] and still_asks(work, other) and rank(work, other) < place
        if before and other["holder"] != waiter["holder"] and collide(work, holdings, holdings_of(other)):
            found.add(other["holder"])
    return found
