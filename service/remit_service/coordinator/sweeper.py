"""The sweeper: a task that ends what is over, soon after it is over, in every replica (rules.md 9)."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import TYPE_CHECKING, Final

import structlog

from remit_graph.errors import LedgerError
from remit_graph.model.instant import SECOND
from remit_graph.view.coordination.due import next_due
from remit_service.coordination.command import Sweep

if TYPE_CHECKING:
    from remit_graph.model.change import Entry
    from remit_graph.model.instant import Instant
    from remit_service.coordinator.coordinator import Coordinator
    from remit_service.coordinator.reply import Reply

JITTER_SECONDS: Final = 0.1
"""Replicas wait for a chance time up to this, so that one sweeps and the others find nothing."""

LOOK_SECONDS: Final = 0.5
"""Longest sleep: what is due may have changed meanwhile, and clocks may have been set."""

_CHANCE: Final = random.Random()  # noqa: S311 - spread, not secret
"""Its own, so that nobody who seeds the module's is disturbed."""

_log = structlog.get_logger(__name__)


class Sweeper:
    """Sweeps for one coordinator."""

    def __init__(self, coordinator: Coordinator) -> None:
        """Stand still; `start` begins."""
        self._coordinator = coordinator
        self._task: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        coordinator.point.replica.subscribe(self._see)

    def start(self) -> None:
        """Begin to sweep."""
        self._task = asyncio.create_task(self._run(), name="remit-sweeper")

    async def aclose(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def _see(self, entry: Entry) -> None:
        """Go on at once with what a command has left over, whichever command it was."""
        if any(change.kind == "backlog.put" for change in entry.changes):
            self._woken.set()

    async def once(self) -> Reply:
        """Sweep now, until nothing is left to do."""
        while True:
            reply = await self._coordinator.run(Sweep(), actor="system", action="SWEEP")
            if not reply.body.get("unfinished"):
                return reply

    def due_in_seconds(self) -> float:
        """Return how long until something is over, as far as is known now."""
        at = self._coordinator.point.now()
        soonest = [each for each in (next_due(self._coordinator.view.coordination), self._next_rested()) if each]
        return LOOK_SECONDS if not soonest else min(max((min(soonest) - at) / SECOND, 0.0), LOOK_SECONDS)

    def _next_rested(self) -> Instant | None:
        """When the first key that rests, and that somebody waits for, is free again."""
        tables = self._coordinator.view.coordination
        ends = [free for key, free in tables.delays.items.items() if key in tables.waiters.at]
        return min(ends, default=None)

    def has_work(self) -> bool:
        """Whether something is over or left over, or time may have closed a cycle of waits."""
        may_be_tied = self._coordinator.view.coordination.may_be_tied
        return self._woken.is_set() or may_be_tied or self.due_in_seconds() <= 0

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                pause = self.due_in_seconds() + _CHANCE.random() * JITTER_SECONDS
                await asyncio.wait_for(self._woken.wait(), pause)
            if not self.has_work():
                continue
            # Before the sweep and not after it: who wakes it meanwhile asks for another.
            self._woken.clear()
            try:
                await self.once()
            except LedgerError as error:
                # The next look tries again; nothing depends on a sweep for safety.
                _log.warning("sweep failed", reason=error.message)
