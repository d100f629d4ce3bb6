"""Whose turn it is when a queue is settled: who was passed over so far, and is not to be overtaken.

A waiter may be tried if no lease of others is in its way and nobody who comes before it and collides with it is still
waiting, wherever on its keys that one stands: also far from the keys that became free.

Requests of one shape that exclude each other are told apart by nothing: once one of them was granted or stays, every
later one of another holder is behind it, which a long queue for one key is decided by without comparing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_service.coordination.behind import before, collide, in_the_way
from remit_service.coordination.wait import rests_until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_service.coordination.values import Record
    from remit_service.coordination.work import Work


ENOUGH: Final = 2
"""Holders whose requests of one shape are noted as kept back: nobody is both of them."""


class Turns:
    """One look at some waiters, which come in the order of their ranks."""

    def __init__(self, work: Work, waiters: Sequence[Record]) -> None:
        """Begin before the first of them."""
        self._work = work
        self._here = {each["id"] for each in waiters}
        self._closed: dict[str, str] = {}
        self._staying: dict[str, Record] = {}
        self._holders: dict[str, set[str]] = {}

    def may_try(self, waiter: Record) -> bool:
        """Whether nothing stands in a waiter's way as far as the machine can tell; the policy has the last word."""
        shape, holder = waiter["shape"], waiter["holder"]
        ahead = self._closed.get(shape, holder)
        if ahead == holder and self._is_free(waiter):
            return True
        # Of a long queue the first holders are noted: whoever comes later is behind one of them.
        if len(self._holders.get(shape, ())) < ENOUGH:
            self.stays(waiter)
        return False

    def _is_free(self, waiter: Record) -> bool:
        work = self._work
        if rests_until(work, waiter) is not None or any(True for _ in in_the_way(work, waiter)):
            return False
        return not self._is_behind(waiter) and not self._is_behind_far_ones(waiter)

    def _is_behind(self, waiter: Record) -> bool:
        others = (self._staying[shape] for shape, who in self._holders.items() if who - {waiter["holder"]})
        return any(collide(self._work, waiter, each) for each in others)

    def _is_behind_far_ones(self, waiter: Record) -> bool:
        """Whether somebody comes before it who is not among those that are looked at."""
        return any(True for _ in before(self._work, waiter, without=self._here))

    def stays(self, waiter: Record) -> None:
        """Note that a waiter keeps its place."""
        self._staying.setdefault(waiter["shape"], waiter)
        self._holders.setdefault(waiter["shape"], set()).add(waiter["holder"])
        self._close(waiter)

    def went(self, waiter: Record) -> None:
        """Note that a waiter was granted; what it holds now is compared like any lease."""
        self._close(waiter)

    def _close(self, waiter: Record) -> None:
        if waiter["shape"] not in self._closed and collide(self._work, waiter, waiter):
            self._closed[waiter["shape"]] = waiter["holder"]
