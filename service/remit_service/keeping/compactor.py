"""Compacts a ledger by itself, in one of all its replicas: what is older than a number of days goes.

Every replica would come to it at the same moment, so each waits a chance time and looks again: whoever is first moves
the base, which the others find. Two at once do no harm: the later cut counts, and each takes rows out that are left.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

import structlog

from remit_graph.errors import GraphError
from remit_service.keeping.compaction import compact, last_before, plan_compaction, retention_of

if TYPE_CHECKING:
    from datetime import timedelta

    from remit_service.clock import Clock
    from remit_service.keeping.compaction import Compacted
    from remit_service.policy import Policy
    from remit_service.replica.replica import Replica
    from remit_service.writer.command import Done, Submission

EVERY_SECONDS: Final = 3_600.0
"""Between two looks: an hour more or less of history matters to nobody."""

SPREAD_SECONDS: Final = 600.0
"""Replicas wait for a chance time up to this."""

WORTH_ROWS: Final = 20_000
"""Rows for which the state of then is loaded and an image made of it; fewer wait for the next day."""


class Compacting(Protocol):
    """What a compactor needs of a decision point."""

    replica: Replica
    policy: Policy
    clock: Clock

    async def submit(self, submission: Submission) -> Done:
        """Append a command."""


class Compactor:
    """Keeps the history of one ledger to a number of days."""

    def __init__(
        self,
        point: Compacting,
        keep: timedelta,
        *,
        worth_rows: int = WORTH_ROWS,
        every_seconds: float = EVERY_SECONDS,
        spread_seconds: float = SPREAD_SECONDS,
    ) -> None:
        """Do nothing yet."""
        self._point = point
        self._keep = keep
        self._worth = worth_rows
        self._every = every_seconds
        self._spread = spread_seconds
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._run(), name="remit-compactor")

    async def aclose(self) -> None:
        """Stop; what was begun is finished by the next compaction."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def look(self) -> Compacted | None:
        """Compact, if that is worth its cost; returns what was done, or None.

        Raises:
            GraphError: it could not be done; the next look tries again.
        """
        point = self._point
        ledger = point.replica.ledger
        keep = round(self._keep.total_seconds() * 1_000_000)
        plan = await plan_compaction(ledger, await last_before(ledger, point.clock.now() - keep))
        if plan.rows < self._worth:
            # Answers whose time is over go at every look, and rows that a process that was killed had cut off.
            plan = replace(plan, base=plan.before)
        done = await compact(point.replica, point.submit, plan, retention_of(point.policy.tables))
        return done if done.rows or done.answers else None

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(random.random() * self._spread)  # noqa: S311 - spread, not secret
            try:
                done = await self.look()
            except GraphError as error:
                _log.warning("not compacted", reason=error.message, advice=error.advice)
            else:
                if done is not None:
                    _log.info("compacted", history_after=done.base, rows=done.rows, answers=done.answers)
            await asyncio.sleep(self._every)


_log = structlog.get_logger(__name__)
