"""Who waits for the view to move: each is woken once, and looks for itself whether what it waited for is there."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from remit_service.clock import Clock


class Moves:
    """The moves of one view."""

    def __init__(self, clock: Clock) -> None:
        """Wait by `clock`, which only bounds the waiting."""
        self._clock = clock
        self._next = asyncio.Event()

    def tell(self) -> None:
        """Wake everybody who waits now."""
        self._next.set()
        self._next = asyncio.Event()

    async def following(self) -> None:
        """Wait for the next move."""
        await self._next.wait()

    async def until(self, holds: Callable[[], bool], within: timedelta) -> bool:
        """Wait until a condition on the view holds; False when `within` is over first."""
        deadline = self._clock.monotonic() + within.total_seconds()
        while not holds():
            left = deadline - self._clock.monotonic()
            if left <= 0:
                return False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self.following()
        return True
