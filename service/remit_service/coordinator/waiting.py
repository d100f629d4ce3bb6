"""Clients that wait: told as soon as their wait ends, and kept alive together while they are connected.

A client that long-polls or follows the event stream *attends*. All attending waiters of this process are
renewed in one command per half of their life (rules.md 11); one that stops attending is passed over when its waiter
lease ends, and never blocks the queue.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import structlog

from remit_graph.errors import LedgerError
from remit_service.coordination.command import KeepWaiting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from remit_graph.model.change import Entry
    from remit_service.coordinator.coordinator import Coordinator

KEEP_SECONDS: Final = 1.0
"""How often attendance is looked at; a waiter lease is at least twice as long in any sensible configuration."""

_log = structlog.get_logger(__name__)


class Waiting:
    """The waiting clients of one process."""

    def __init__(self, coordinator: Coordinator) -> None:
        """Start with nobody."""
        self._coordinator = coordinator
        self._attending: Counter[str] = Counter()
        self._moved: dict[str, asyncio.Event] = {}
        self._task: asyncio.Task[None] | None = None
        coordinator.point.replica.subscribe(self._see)

    def start(self) -> None:
        """Begin to keep attending clients alive."""
        self._task = asyncio.create_task(self._run(), name="remit-attendance")

    async def aclose(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def _see(self, entry: Entry) -> None:
        for change in entry.changes:
            if change.kind == "waiter.end":
                event = self._moved.pop(change.body["id"], None)
                if event is not None:
                    event.set()

    async def wait(self, waiter_id: str, within_seconds: float) -> Mapping[str, Any] | None:
        """Wait for the end of a wait, at most so long; asking is what keeps it alive.

        Returns:
            The record of the wait, ended or not; None where there is none, or it ended too long ago.
        """
        await self.keep([waiter_id])
        self._attending[waiter_id] += 1
        try:
            if self.is_waiting(waiter_id) and within_seconds > 0:
                event = self._moved.setdefault(waiter_id, asyncio.Event())
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(event.wait(), within_seconds)
        finally:
            self._attending[waiter_id] -= 1
            if not self._attending[waiter_id]:
                del self._attending[waiter_id]
                self._moved.pop(waiter_id, None)
        return self.find(waiter_id)

    def find(self, waiter_id: str) -> Mapping[str, Any] | None:
        """Return the record of a wait, ended or not."""
        view = self._coordinator.view
        found: Mapping[str, Any] | None = view.records.get("waiter", {}).get(waiter_id)
        return found if found is not None else view.coordination.left.get(waiter_id)

    def is_waiting(self, waiter_id: str) -> bool:
        """Whether the wait has not ended, as far as this process knows."""
        return waiter_id in self._coordinator.view.records.get("waiter", {})

    async def keep(self, waiter_ids: Iterable[str]) -> None:
        """Renew what is past half of its life, in one command; nothing where nothing is."""
        view, at = self._coordinator.view, self._coordinator.point.now()
        waiters = view.records.get("waiter", {})
        asking = [
            each
            for each in waiter_ids
            if each in waiters and waiters[each]["alive_until"] - at <= waiters[each]["keep_alive_us"] // 2
        ]
        if asking:
            command = KeepWaiting(waiter_ids=tuple(asking))
            await self._coordinator.run(command, actor="system", action="KEEP_WAITING")

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(KEEP_SECONDS)
            try:
                await self.keep(list(self._attending))
            except LedgerError as error:
                _log.warning("attendance not renewed", reason=error.message)
