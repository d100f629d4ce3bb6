"""Full garbage collections of a serving process: only while nobody asks (rules.md 11).

Each looks at every object that is not frozen. An explanation of the past rebuilds a graph, and the interpreter would
look at all of it again and again, for seconds, while decisions wait. What no cycle holds goes at once; so all that can
wait for a quiet moment is old garbage in cycles. Young objects are looked at less often than the interpreter would: a
decision makes hundreds and keeps hardly any, and looking at them took a tenth of its time.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

QUIET_SECONDS: Final = 1.0
"""Nobody has asked for so long: idle. Long polls that are open ask nothing meanwhile."""

YOUNG: Final = 20_000
"""Containers made, less those gone, after which the youngest are looked at: some megabytes at most."""

NEVER: Final = 1_000_000_000
"""Collections of the middle generation after which the interpreter makes a full one by itself."""

_OLDEST: Final = 2


@contextmanager
def collecting_nothing() -> Iterator[None]:
    """Collect nothing while the block runs: what is imported stays, and looking at it was a tenth of a start."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@asynccontextmanager
async def collecting_when_idle(
    begun: Callable[[], int], *, quiet_seconds: float = QUIET_SECONDS
) -> AsyncIterator[None]:
    """Leave full collections to quiet moments, and make the others seldom, for as long as the block runs.

    Args:
        begun: How many requests were begun so far.
        quiet_seconds: How long nobody asks before a collection may be made.
    """
    young, middle, oldest = gc.get_threshold()
    gc.set_threshold(max(young, YOUNG), middle, NEVER)
    task = asyncio.create_task(_collect(begun, quiet_seconds), name="remit-garbage")
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        gc.set_threshold(young, middle, oldest)


async def _collect(begun: Callable[[], int], quiet_seconds: float) -> None:
    while True:
        before = begun()
        await asyncio.sleep(quiet_seconds)
        # The third count is of collections of the middle generation: without one, nothing has grown old since.
        if begun() == before and gc.get_count()[_OLDEST]:
            gc.collect()
