"""What is tried again where it failed for a passing reason: how often, after which pauses, and how far it got."""

from __future__ import annotations

import asyncio
from random import uniform
from time import monotonic
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from neo4j.exceptions import DriverError, Neo4jError, TransientError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import timedelta

    from neo4j import AsyncManagedTransaction

T = TypeVar("T")

MAX_REPEATS: Final = 5
"""How often a transaction that the database gave up for a deadlock is begun again (faults.md F074)."""


FIRST_PAUSE_SECONDS: Final = 0.01
LONGER: Final = 1.7
"""What each failure makes of the pause before the next try."""

JITTER: Final = 0.5
"""How much of a pause is chance, so that those who failed together do not try again together."""


async def repeated(run: Callable[[], Awaitable[T]], within: timedelta) -> T:
    """Run what may be run twice, again where it failed for a passing reason, and begin no try after `within`.

    Raises:
        DriverError, Neo4jError: the last failure.
    """
    began, pause, given_up = monotonic(), FIRST_PAUSE_SECONDS, 0
    while True:
        try:
            return await run()
        except (DriverError, Neo4jError) as error:
            given_up += isinstance(error, TransientError)
            is_over = given_up > MAX_REPEATS or monotonic() - began > within.total_seconds()
            if is_over or not error.is_retryable():
                raise
        await asyncio.sleep(pause * uniform(1 - JITTER, 1 + JITTER))  # noqa: S311 - no secret
        pause *= LONGER


class RepeatedTooOftenError(Exception):
    """Ends the driver's own repeating, which is bounded by time alone."""

    def __init__(self, last: TransientError) -> None:
        super().__init__(str(last))
        self.last = last


class Attempt(Generic[T]):
    """Work that the driver may run several times.

    Attributes:
        is_done: Whether the last run came to its end, so that all that was left was the commit.
        result: What it came to.
    """

    result: T

    def __init__(self, work: Callable[[AsyncManagedTransaction], Awaitable[T]]) -> None:
        self._work = work
        self._failed = 0
        self.is_done = False

    async def run(self, transaction: AsyncManagedTransaction) -> T:
        """Run the work once.

        Raises:
            RepeatedTooOftenError: the database gave it up once more than it is begun again.
        """
        self.is_done = False
        try:
            self.result = await self._work(transaction)
        except TransientError as error:
            self._failed += 1
            if self._failed > MAX_REPEATS:
                raise RepeatedTooOftenError(error) from error
            raise
        self.is_done = True
        return self.result
