"""Clocks: the only places that ask what time it is (house-style 15)."""

from __future__ import annotations

import time
from typing import Protocol

from remit_graph.model.instant import SECOND, Instant


class Clock(Protocol):
    """Wall clock for instants, monotonic clock for durations: a wall clock may be set back (F021)."""

    def now(self) -> Instant:
        """Microseconds UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...


def skew_of(theirs: Instant, *, before: Instant, after: Instant) -> int:
    """Return how far this clock is ahead of another one, microseconds, that was read between two looks at this one.

    Anything between the two may be the true instant of the reading, so what the answer took is no skew.
    """
    return before - theirs if theirs < before else -max(0, theirs - after)


class SystemClock:
    """The clocks of the machine."""

    def now(self) -> Instant:
        """Microseconds UTC."""
        return time.time_ns() // 1_000

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()


class ManualClock:
    """A clock that moves when it is told to; set in process, never over HTTP (rules.md 6)."""

    def __init__(self, at: Instant) -> None:
        """Stand at `at`."""
        self._at = at
        self._monotonic = 0.0

    def now(self) -> Instant:
        """Microseconds UTC."""
        return self._at

    def monotonic(self) -> float:
        """Seconds; moves with `advance` only."""
        return self._monotonic

    def set(self, at: Instant) -> None:
        """Set the wall clock, also back; the monotonic clock stays."""
        self._at = at

    def advance(self, seconds: float) -> None:
        """Move both clocks on."""
        self._at += round(seconds * SECOND)
        self._monotonic += seconds
