"""Waits that would close a cycle are refused at once (coordination.md 3, FM-038).

A holder waits for every holder of a conflicting lease, and for every request before its own that it collides with. Who
comes last gives way, and that is always the request that is just being made; where its priority lets it in before
others, these wait for it from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_service.coordination.behind import after, before, in_the_way, still_asks

if TYPE_CHECKING:
    from remit_service.coordination.values import Record
    from remit_service.coordination.work import Work


def closes_cycle(work: Work, newcomer: Record) -> str | None:
    """Return the holder over whom a wait would come back to the one who begins it, or None."""
    me, tables = newcomer["holder"], work.view.coordination
    overtaken = {other["holder"] for other in after(work, newcomer)}
    if not overtaken and not tables.held.get(me) and not tables.waiting.get(me):
        # Nobody can be waiting for someone who neither holds nor asks for anything, nor comes before anybody.
        return None
    seen: set[str] = set()
    frontier = [(each, each) for each in sorted(blockers(work, newcomer))]
    while frontier:
        holder, first = frontier.pop()
        if holder == me or holder in overtaken:
            return first
        if holder in seen:
            continue
        seen.add(holder)
        for waiter_id in tables.waiting.get(holder, ()):
            waiter = work.view.records["waiter"][waiter_id]
            if still_asks(work, waiter):
                frontier.extend((each, first) for each in sorted(blockers(work, waiter)))
    return None


def blockers(work: Work, waiter: Record) -> set[str]:
    """Return the holders a request waits for."""
    holders = {lease["holder"] for lease, _ in in_the_way(work, waiter)}
    return holders | {other["holder"] for other in before(work, waiter)}
