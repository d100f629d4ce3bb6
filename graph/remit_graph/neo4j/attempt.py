"""A managed function, counted: how often it failed for a passing reason, and whether it got as far as the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from neo4j.exceptions import TransientError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from neo4j import AsyncManagedTransaction

T = TypeVar("T")

MAX_REPEATS: Final = 5
"""How often a transaction that the database gave up for a deadlock is begun again (faults.md F074)."""


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
