"""Long work in slices: between two of them the loop answers whoever waits (rules.md 13)."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

SLICE_SECONDS: Final = 0.005
"""How long one slice may hold the loop; decisions wait no longer than this for it."""

LONGEST_SLICE_SECONDS: Final = 0.1
"""The longest slice of work that must not fall behind."""

GROWTH: Final = 0.1
"""By which part of the time that was taken already a slice of such work grows."""

T = TypeVar("T")


class Pause:
    """Lets others run when it was called for a whole slice without letting them."""

    def __init__(self) -> None:
        """Begin the first slice."""
        self._since = perf_counter()

    async def __call__(self) -> None:
        """Give way, if it is time."""
        if perf_counter() - self._since >= SLICE_SECONDS:
            await asyncio.sleep(0)
            self._since = perf_counter()


class Abandoned(Exception):
    """What was worked on is not there any more."""


def at_once(steps: Generator[None, None, T]) -> T:
    """Run `steps` to their end without a pause, and return what they return."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result


async def in_slices(
    steps: Generator[None, None, T], *, holds: Callable[[], bool] | None = None, urgent: bool = False
) -> T:
    """Run `steps` to their end, letting others run between slices, and return what they return.

    Args:
        steps: Pauses wherever it can be left alone; more often than a slice lasts.
        holds: Asked after each pause; the work is abandoned once it says no.
        urgent: Whether slices grow with the time that was taken, so that it ends however many others want to run.

    Raises:
        Abandoned: `holds` said no.
    """
    began = perf_counter()
    until = began + SLICE_SECONDS
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result
        if (now := perf_counter()) >= until:
            await asyncio.sleep(0)
            if holds is not None and not holds():
                steps.close()
                raise Abandoned
            longer = (now - began) * GROWTH if urgent else 0.0
            until = perf_counter() + min(SLICE_SECONDS + longer, LONGEST_SLICE_SECONDS)
