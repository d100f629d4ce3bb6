"""One driver of one process, and the ways to use it: a managed read, a managed write, a statement by itself.

Rules (reference: the driver's manual, "Transactions"):
- one driver for the life of the ledger, one session for each use; sessions are never shared by tasks;
- a managed function may run more than once, so it has no side effects outside of its transaction;
- what ends during the commit is `OutcomeUnknown` and never tried again here;
- each transaction has a time after which the database itself ends it, so that no stopped process keeps a lock, and a
  somewhat longer one after which a database that says nothing is given up here.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from neo4j import READ_ACCESS, WRITE_ACCESS, AsyncGraphDatabase, Query, unit_of_work
from neo4j.exceptions import ConnectionAcquisitionTimeoutError, DriverError, IncompleteCommit, Neo4jError

from remit_graph.errors import LedgerUnavailable
from remit_graph.neo4j.attempt import FIRST_PAUSE_SECONDS, JITTER, LONGER, Attempt, RepeatedTooOftenError, repeated
from remit_graph.neo4j.faults import silent, translate, translated
from remit_graph.neo4j.statements import STATEMENTS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

    from neo4j import AsyncDriver, AsyncManagedTransaction, AsyncResult

    from remit_graph.errors import LedgerError
    from remit_graph.neo4j.options import Neo4jOptions

T = TypeVar("T")

if TYPE_CHECKING:
    Work: TypeAlias = Callable[[AsyncManagedTransaction], Awaitable[T]]

STREAMED: Final = 2_000
"""Rows that the driver holds of an answer that is read as it arrives."""


class Database:
    """A database and this process's connections to it."""

    def __init__(self, options: Neo4jOptions) -> None:
        self.options = options
        self.url = options.url
        self._closed = False
        self._tasks: set[asyncio.Task[Any]] = set()
        with translated(self.url):
            self.driver: AsyncDriver = AsyncGraphDatabase.driver(
                options.url,
                auth=(options.user, options.password),
                connection_timeout=options.connect_within.total_seconds(),
                connection_acquisition_timeout=options.connect_within.total_seconds() * 2,
                max_connection_pool_size=options.connections,
                max_transaction_retry_time=options.retry_for.total_seconds(),
                # The driver's own first pause is a second: longer than a decision point can let its callers wait.
                initial_retry_delay=FIRST_PAUSE_SECONDS,
                retry_delay_multiplier=LONGER,
                retry_delay_jitter_factor=JITTER,
                # It would go along with each transaction, and tell the server which of two ways we began it.
                telemetry_disabled=True,
                keep_alive=True,
                notifications_min_severity="OFF",
                user_agent="remit",
            )

    async def read(self, name: str, /, *, newest: bool = False, **parameters: Any) -> list[dict[str, Any]]:
        """Run the query `name` and return its rows; with `newest` never on a member that may lag behind."""

        async def work(transaction: AsyncManagedTransaction) -> list[dict[str, Any]]:
            return await rows_of(transaction, name, **parameters)

        return await self.reading(work, newest=newest)

    async def reading(self, work: Work[T], *, newest: bool = False, within: timedelta | None = None) -> T:
        """Run `work` in a transaction that only reads; it may take longer than one that holds a lock."""
        access = WRITE_ACCESS if newest else READ_ACCESS
        return await self._finish(self._run(work, access, within or self.options.hold_at_most))

    async def write(self, work: Work[T], *, hold_at_most: timedelta | None = None) -> T:
        """Run `work` in a transaction that is committed if it returns, and rolled back if it raises.

        If the caller is cancelled, whether it happened is unknown to the caller only.
        """
        return await self._finish(self._run(work, WRITE_ACCESS, hold_at_most or self.options.hold_at_most))

    async def alone(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """Run the query `name` once, outside of a managed transaction: one round trip, for what looks all the time."""
        return await self._finish(self._alone(name, parameters))

    async def once(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """Run the query `name` by itself, again where it failed for a passing reason: for what may be run twice.

        One round trip, where a managed transaction takes three; what it locks is held for no client's sake.
        """
        hold_at_most = self.options.hold_at_most.total_seconds()
        return await self._finish(self._alone(name, parameters, self.options.retry_for, hold_at_most))

    async def stream(self, name: str, /, **parameters: Any) -> AsyncIterator[dict[str, Any]]:
        """Run the query `name` once and yield its rows as they arrive, for answers that are too large to hold."""
        self._require_open()
        with translated(self.url):
            async with self.driver.session(
                database=self.options.database, default_access_mode=READ_ACCESS, fetch_size=STREAMED
            ) as session:
                async for record in await session.run(STATEMENTS[name], parameters):
                    yield dict(record)

    async def aclose(self) -> None:
        """Let writes that have begun end, and give every connection back."""
        self._closed = True
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.driver.close()

    async def _finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Let `work` end also if the caller is cancelled: a connection that is left in the middle is lost."""
        running = asyncio.create_task(work)
        self._tasks.add(running)
        running.add_done_callback(self._tasks.discard)
        return await asyncio.shield(running)

    async def _alone(
        self,
        name: str,
        parameters: dict[str, Any],
        retry_for: timedelta = timedelta(),
        hold_at_most: float | None = None,
    ) -> list[dict[str, Any]]:
        self._require_open()

        async def run() -> list[dict[str, Any]]:
            async with self.driver.session(database=self.options.database) as session:
                return await _all(await session.run(Query(STATEMENTS[name], timeout=hold_at_most), parameters))

        try:
            async with asyncio.timeout(self._give_up_after(self.options.hold_at_most)):
                return await repeated(run, retry_for)
        except TimeoutError as error:
            raise silent(self.url) from error
        except (DriverError, Neo4jError) as error:
            raise self._translated(error) from error

    async def _run(self, work: Work[T], access: str, hold_at_most: timedelta) -> T:
        self._require_open()
        attempt = Attempt(work)
        function = unit_of_work(timeout=hold_at_most.total_seconds())(attempt.run)
        try:
            async with (
                asyncio.timeout(self._give_up_after(hold_at_most)),
                self.driver.session(database=self.options.database, default_access_mode=access) as session,
            ):
                if access == WRITE_ACCESS:
                    return await session.execute_write(function)
                return await session.execute_read(function)
        except TimeoutError as error:
            raise silent(self.url, committing=attempt.is_done and access == WRITE_ACCESS) from error
        except IncompleteCommit as error:
            # There is nothing to lose at the end of a transaction that only read.
            if access == READ_ACCESS and attempt.is_done:
                return attempt.result
            raise translate(error, self.url) from error
        except RepeatedTooOftenError as error:
            raise translate(error.last, self.url) from error.last
        except (DriverError, Neo4jError) as error:
            raise self._translated(error) from error

    def _translated(self, error: DriverError | Neo4jError) -> LedgerError:
        """Return what `error` is called at the port; the driver says the same of a full pool and of a silent server."""
        if isinstance(error, ConnectionAcquisitionTimeoutError) and len(self._tasks) <= self.options.connections:
            return silent(self.url)
        return translate(error, self.url)

    def _give_up_after(self, hold_at_most: timedelta) -> float:
        return (hold_at_most + self.options.retry_for + self.options.connect_within).total_seconds()

    def _require_open(self) -> None:
        if self._closed:
            raise LedgerUnavailable(f"the ledger at `{self.url}` is closed", advice="open it again", url=self.url)


async def rows_of(transaction: AsyncManagedTransaction, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
    """Run the query `name` inside a transaction and return its rows."""
    return await _all(await transaction.run(STATEMENTS[name], parameters))


async def _all(result: AsyncResult) -> list[dict[str, Any]]:
    # Not `result.data()`, which copies every value item by item, a checkpoint byte by byte.
    return [dict(record) async for record in result]
