"""Open waits: long polls and event streams, bounded in number, and over as soon as their client or the server goes.

A client that hung up must not be waited for in its name: it would keep its place in a queue, and be given a lease that
nobody uses (faults.md F063). A server that stops tells those who wait at once, so that they ask another replica.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from remit_service.http.limits import InFlight
from remit_service.http.problems import ProblemError, wait

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from remit_service.http.exchange import Exchange

T = TypeVar("T")


class Poll:
    """One open wait.

    Attributes:
        is_over: Whether there is nobody left to wait for: the client hung up, or the server stops.
    """

    def __init__(self, *ends: asyncio.Task[Any]) -> None:
        """Wait until one of `ends` is done, at most."""
        self.is_over = False
        self._ends = ends

    async def news(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return what `work` comes to, or None where the wait is over before it."""
        task = asyncio.create_task(work)
        try:
            await asyncio.wait((task, *self._ends), return_when=asyncio.FIRST_COMPLETED)
            self.is_over = any(each.done() for each in self._ends)
            return task.result() if task.done() else None
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class Polls:
    """The open waits of one kind."""

    def __init__(self, limit: int, closing: asyncio.Event) -> None:
        """Allow `limit` at once, and none any longer once `closing` is set."""
        self._open = InFlight(limit)
        self._closing = closing

    @property
    def count(self) -> int:
        """How many are open."""
        return self._open.count

    @asynccontextmanager
    async def open(self, exchange: Exchange) -> AsyncIterator[Poll]:
        """Open one for a client.

        Raises:
            ProblemError: 503; there are enough, or the server stops.
        """
        if self._closing.is_set():
            raise ProblemError(wait("overloaded", "this server stops; another one answers", 1))
        if self._open.count >= self._open.limit:
            raise ProblemError(wait("overloaded", f"{self._open.limit} long polls are open", 5))
        ends = [asyncio.create_task(each) for each in (self._closing.wait(), exchange.hung_up())]
        try:
            with self._open:
                yield Poll(*ends)
        finally:
            for each in ends:
                each.cancel()
            await asyncio.gather(*ends, return_exceptions=True)
