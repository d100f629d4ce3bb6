"""Whether the engine that answers decisions still does: asked again and again, for readiness.

A dead engine denies everything. A balancer has to hear of it without waiting for somebody's deny, and has to hear again
when it is well. A server that only lags behind is well: decisions are made in this process meanwhile (`standby`). So an
OPA that fetches its first bundle through the balancer finds this process ready, and the two do not wait for each other.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog

from remit_service.engines.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_service.engines.ports import PolicyEngine

EVERY: Final = timedelta(seconds=1)
"""How long an engine that died is still called well, beside the time of one question."""

_log = structlog.get_logger(__name__)


class EngineWatch:
    """Looks after whatever engine is in force.

    Attributes:
        failure: Why the engine cannot decide, as of the last look; None where it can.
    """

    def __init__(self, engine: Callable[[], PolicyEngine], *, every: timedelta = EVERY) -> None:
        """Watch what `engine` returns; a policy that is put in force brings another one."""
        self.failure: EngineError | None = None
        self._engine = engine
        self._every = every.total_seconds()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Look once, and from then on in the background."""
        await self.look()
        self._task = asyncio.create_task(self._follow(), name="remit-engine-watch")

    async def aclose(self) -> None:
        """Stop looking."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def look(self) -> None:
        """Ask the engine for a decision on nothing, and note what is wrong with it."""
        before = self.failure
        try:
            await self._engine().check()
        except EngineError as error:
            self.failure = error
            if before is None or before.message != error.message:
                _log.warning("the policy engine cannot decide", reason=error.message, advice=error.advice)
        else:
            self.failure = None
            if before is not None:
                _log.info("the policy engine decides again")

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            await self.look()
