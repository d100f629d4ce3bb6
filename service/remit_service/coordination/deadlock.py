"""Waits that would close a cycle are refused at once (coordination.md 3, FM-038).

A holder waits for every holder of a conflicting lease, and for every request before its own that it collides with. Who
comes last gives way, and that is always the request that is just being made: whether it would have to wait, or would be
granted before others who wait, and make them wait for somebody who waits for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_service.coordination.behind import after, before, in_the_way, rivals, still_asks
from remit_service.coordination.circles import in_circles
from remit_service.coordination.queue import rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from remit_service.coordination.queue import Rank
    from remit_service.coordination.values import Record
    from remit_service.coordination.work import Work


def closes_cycle(work: Work, newcomer: Record) -> str | None:
    """Return the holder over whom a wait would come back to the one who begins it, or None."""
    me, tables = newcomer["holder"], work.view.coordination
    overtaken = {other["holder"] for other in after(work, newcomer)}
    if not overtaken and not tables.held.get(me) and not tables.waiting.get(me):
        # Nobody can be waiting for someone who neither holds nor asks for anything, nor comes before anybody.
        return None
    # Whom it overtakes waits for it from now on, and may be waited for by its other requests.
    return _way_to(work, {me, *overtaken}, blockers(work, newcomer) | _blockers_of(work, me))


def grant_closes_cycle(work: Work, newcomer: Record) -> str | None:
    """Return the holder over whom those who would wait for a grant are waited for by its holder already, or None."""
    me = newcomer["holder"]
    if not work.view.coordination.waiting.get(me):
        return None
    kept_waiting = {other["holder"] for other in rivals(work, newcomer)}
    return _way_to(work, kept_waiting, _blockers_of(work, me)) if kept_waiting else None


def tied(work: Work) -> Iterator[Record]:
    """Iterate the waits that have come to lead back to their holders, because the order of a queue has moved.

    The youngest comes first, and is to be ended before the next is asked for; that closes no other. The order of
    requests is total, so only who holds or asks for something else besides can be in a cycle.
    """
    circles = in_circles(work) & work.view.coordination.entangled.keys()
    if not circles:
        return
    known: dict[str, set[str]] = {}

    def asked(waiter: Record) -> set[str]:
        if waiter["id"] not in known:
            known[waiter["id"]] = blockers(work, waiter)
        return known[waiter["id"]]

    for waiter in sorted(_asking(work, circles), key=_age, reverse=True):
        if _way_to(work, {waiter["holder"]}, asked(waiter), asked) is not None:
            yield waiter
            known.clear()


def _age(waiter: Record) -> tuple[int, int, str]:
    return waiter["since"], waiter["revision"], waiter["id"]


def _way_to(
    work: Work, goals: set[str], starts: set[str], blockers_of: Callable[[Record], set[str]] | None = None
) -> str | None:
    """Return the first of `starts` from which somebody of `goals` is waited for, or None.

    Requests of one shape wait for the same, the later for all that the earlier do: of a long queue for one key only the
    last one is asked for whom it waits.
    """
    if here := sorted(starts & goals):
        return here[0]
    first = {each: each for each in sorted(starts)}
    asked: dict[str, Rank] = {}
    frontier = list(first)
    while frontier:
        waiters = sorted(_asking(work, frontier), key=lambda each: rank(work, each), reverse=True)
        frontier = []
        for waiter in waiters:
            place, known = rank(work, waiter), asked.get(waiter["shape"])
            if known is not None and place <= known:
                continue
            asked[waiter["shape"]] = place
            for holder in sorted(blockers(work, waiter) if blockers_of is None else blockers_of(waiter)):
                if holder in goals:
                    return first[waiter["holder"]]
                if holder not in first:
                    first[holder] = first[waiter["holder"]]
                    frontier.append(holder)
    return None


def _asking(work: Work, holders: Iterable[str]) -> Iterator[Record]:
    waiting, waiters = work.view.coordination.waiting, work.view.records.get("waiter", {})
    for holder in holders:
        for waiter_id in waiting.get(holder, ()):
            if still_asks(work, waiters[waiter_id]):
                yield waiters[waiter_id]


def _blockers_of(work: Work, holder: str) -> set[str]:
    return {each for waiter in _asking(work, [holder]) for each in blockers(work, waiter)}


def blockers(work: Work, waiter: Record) -> set[str]:
    """Return the holders a request waits for."""
    holders = {lease["holder"] for lease, _ in in_the_way(work, waiter)}
    return holders | {other["holder"] for other in before(work, waiter)}
