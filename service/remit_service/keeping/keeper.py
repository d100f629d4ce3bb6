"""Makes a checkpoint when one is worth its cost, in one of all replicas of a ledger.

It is worth it when a start would have to apply about as many rows one by one as the image saves reading. Every replica
sees the same rows, so all of them come to it at the same moment: each waits a random while and looks again, and whoever
is first anchors its image, which the others see in the tail.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import TYPE_CHECKING, Final

import structlog

from remit_graph.errors import GraphError
from remit_service.keeping.checkpoints import keep_checkpoint
from remit_service.replica.loading import anchored_revision

if TYPE_CHECKING:
    from remit_graph.model.change import Entry
    from remit_service.keeping.checkpoints import Submit
    from remit_service.replica.replica import Replica

ROWS: Final = 50_000
"""Rows that are applied one by one in two seconds: no checkpoint is made for fewer."""

EDGES_PER_ROW: Final = 2
"""An edge is read from an image in half the time that a row of the log takes."""

SPREAD_SECONDS: Final = 5.0
"""Replicas wait for a chance time up to this, and as long again for each `SPREAD_EDGES`: larger images take longer."""

SPREAD_EDGES: Final = 100_000

RETRY_SECONDS: Final = 60.0
"""Pause after a checkpoint that failed."""

_log = structlog.get_logger(__name__)


class Keeper:
    """Keeps checkpoints of one replica's ledger."""

    def __init__(
        self, replica: Replica, submit: Submit, *, rows: int = ROWS, spread_seconds: float = SPREAD_SECONDS
    ) -> None:
        """Count nothing yet."""
        self._replica = replica
        self._submit = submit
        self._at_least = rows
        self._spread = spread_seconds
        self._rows = 0
        self._due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        replica.subscribe(self._see)

    def start(self) -> None:
        """Begin to keep; the rows that the replica had to apply when it was loaded count too."""
        self._rows += self._replica.rows_replayed
        self._task = asyncio.create_task(self._run(), name="remit-keeper")
        self._note()

    async def aclose(self) -> None:
        """Stop; a checkpoint that is being made is given up."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    @property
    def is_due(self) -> bool:
        """Whether a checkpoint is worth its cost."""
        return self._rows >= max(self._at_least, len(self._replica.view.edges) // EDGES_PER_ROW)

    def _see(self, entry: Entry) -> None:
        if any(anchored_revision(change) is not None for change in entry.changes):
            self._rows = 0
            return
        self._rows += len(entry.changes) + 1
        self._note()

    def _note(self) -> None:
        if self.is_due:
            self._due.set()

    async def _run(self) -> None:
        while True:
            await self._due.wait()
            spread = self._spread * (1 + len(self._replica.view.edges) / SPREAD_EDGES)
            await asyncio.sleep(random.random() * spread)  # noqa: S311 - spread, not secret
            self._due.clear()
            if not self.is_due:
                continue
            try:
                kept = await keep_checkpoint(self._replica, self._submit)
            except GraphError as error:
                _log.warning("no checkpoint", reason=error.message, advice=error.advice)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                _log.info("checkpoint", revision=kept.revision, bytes=kept.size, seconds=round(kept.seconds, 2))
            self._note()
