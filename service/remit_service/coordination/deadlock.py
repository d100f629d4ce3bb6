"""Waits that would close a cycle are refused at once (coordination.md 3, FM-038).

A holder waits for every holder of a conflicting lease, and for every request before its own that it collides with. Who
comes last gives way, and that is always the request that is just being made: whether it would have to wait, or would be
granted before others who wait, and make them wait for somebody who waits for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_service.coordination.behind import after, before, in_the_way, rivals, still_asks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit_service.coordination.values import Record
    from remit_service.coordination.work import Work


def closes_cycle(work: Work, newcomer: Record) -> str | None:
    """Return the holder over whom a wait would come back to the one who begins it, or None."""
    me, tables = newcomer["holder"], work.view.coordination
    overtaken = {other["holder"] for other in after(work, newcomer)}
    mine = tables.waiting.get(me, ())
    if not overtaken and not tables.held.get(me) and not mine:
        # Nobody can be waiting for someone who neither holds nor asks for anything, nor comes before anybody.
        return None
    # Whom it overtakes waits for it from now on, and may be waited for by its other requests.
    return _way_to(work, {me, *overtaken}, blockers(work, newcomer) | _blockers_of(work, mine))


def grant_closes_cycle(work: Work, newcomer: Record) -> str | None:
    """Return the holder over whom those who would wait for a grant are waited for by its holder already, or None."""
    waiting = work.view.coordination.waiting.get(newcomer["holder"])
    if not waiting:
        return None
    kept_waiting = {other["holder"] for other in rivals(work, newcomer)}
    return _way_to(work, kept_waiting, _blockers_of(work, waiting)) if kept_waiting else None


def is_in_cycle(work: Work, waiter: Record) -> bool:
    """Whether a wait has come to lead back to its holder, because the order of its queue has moved.

    The order of requests is total, so only who holds or asks for something else besides can be in a cycle.
    """
    tables, me = work.view.coordination, waiter["holder"]
    if len(tables.waiting.get(me, ())) + len(tables.held.get(me, ())) < 2:  # noqa: PLR2004 - this one and another
        return False
    return _way_to(work, {me}, blockers(work, waiter)) is not None


def _way_to(work: Work, goals: set[str], starts: Iterable[str]) -> str | None:
    """Return the first of `starts` from which somebody of `goals` is waited for, or None."""
    waiting = work.view.coordination.waiting
    seen: set[str] = set()
    frontier = [(each, each) for each in sorted(starts)]
    while frontier:
        holder, first = frontier.pop()
        if holder in goals:
            return first
        if holder not in seen:
            seen.add(holder)
            frontier.extend((each, first) for each in sorted(_blockers_of(work, waiting.get(holder, ()))))
    return None


def _blockers_of(work: Work, waiter_ids: Iterable[str]) -> set[str]:
    waiters = (work.view.records["waiter"][each] for each in waiter_ids)
    return {each for waiter in waiters if still_asks(work, waiter) for each in blockers(work, waiter)}


def blockers(work: Work, waiter: Record) -> set[str]:
    """Return the holders a request waits for."""
    holders = {lease["holder"] for lease, _ in in_the_way(work, waiter)}
    return holders | {other["holder"] for other in before(work, waiter)}
