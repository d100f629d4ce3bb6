"""Keeping a lease beside the work, and stopping the work when it is lost (S68, faults.md F059).

How long a lease lasts is counted by this process's own monotonic clock, from the sending of the call that gave or
renewed it: clocks that differ change nothing, and the answer's own way only makes the count shorter. Half-way to
`renew_before` it is renewed; at `renew_before`, not renewed, it counts as lost, so that what is under way is stopped
within the margin that is left. A refusal of the renewal loses it at once.

Not promised: that nothing is written after the loss. What was sent to the resource already, its guard refuses.
"""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, Any, Self, TypeVar

from remit_enforce.client import Answer
from remit_enforce.errors import CallbackFailed, EnforceError, MarginTooShort, StalePlan
from remit_enforce.operations import Renewed, read_as
from remit_enforce.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from remit_enforce.operations import Lease, Operations
    from remit_enforce.plan import Turn

T = TypeVar("T")


class Keeper:
    """Keeps the lease of one operation from `async with` to its end."""

    def __init__(self, operations: Operations, turn: Turn, lease: Lease | None, *, since: float) -> None:
        """Keep `lease`, which was asked for at `since`; without one there is nothing to keep.

        Raises:
            MarginTooShort: one renewal and a pause do not fit into the margin.
        """
        self._operations, self._turn = operations, turn
        self._settings = operations.client.settings
        self._keeping: asyncio.Task[Refusal] | None = None
        self._lease = lease
        self._loss: Refusal | None = None
        self._ends_at: float | None = None
        if lease is not None:
            self._count(lease, since)
            margin = (lease.expires_at - lease.renew_before).total_seconds()
            needed = self._settings.renew_timeout_seconds + self._settings.pause_seconds
            if needed >= margin:
                raise MarginTooShort(margin, needed)

    @property
    def lost(self) -> Refusal | None:
        """Why the lease is lost, or None while it is kept; whoever was stopped looks before its keeper has woken up."""
        if self._loss is None and self._keeping is not None:
            if self._keeping.done() and not self._keeping.cancelled():
                self._loss = self._keeping.result()
            elif time.monotonic() >= self._lost_at:
                self._loss = _not_renewed(None)
        return self._loss

    async def __aenter__(self) -> Self:
        """Begin to keep it."""
        if self._lease is not None:
            self._keeping = asyncio.create_task(self._keep())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop; the lease itself is given back with the operation."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait({self._keeping})

    async def during(self, work: Awaitable[T]) -> T:
        """Return what a callback comes to, while the lease is kept.

        Raises:
            StalePlan: The lease was lost; the callback was cancelled, and given the margin of the lease to end.
            EnforceError: The callback raised it: it wrote nothing.
            CallbackFailed: The callback raised something else.
        """
        task = asyncio.ensure_future(work)
        ends: set[asyncio.Future[Any]] = {task} if self._keeping is None else {task, self._keeping}
        try:
            if self.lost is None:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not task.done():
                task.cancel()
                left = None if self._ends_at is None else max(self._ends_at - time.monotonic(), 0)
                await asyncio.wait({task}, timeout=left)
        if self.lost is not None and not _has_spoken(task):
            raise StalePlan(self.lost)
        return _result(task)

    def _count(self, lease: Lease, since: float) -> None:
        self._lost_at = since + (lease.renew_before - lease.renewed_at).total_seconds()
        self._ends_at = since + (lease.expires_at - lease.renewed_at).total_seconds()
        self._renew_at = (since + self._lost_at) / 2

    async def _keep(self) -> Refusal:
        while True:
            await _until(self._renew_at)
            refusal = await self._renew()
            if refusal is not None:
                return refusal

    async def _renew(self) -> Refusal | None:
        """Renew once, however often that is tried; returns why the lease is lost, or None."""
        last: Refusal | None = None
        while (left := self._lost_at - time.monotonic()) > 0:
            bound = min(left, self._settings.renew_timeout_seconds)
            found = await self._operations.renew(
                self._turn.coordination_id, self._turn.lease_epoch, self._turn.progress, timeout_seconds=bound
            )
            renewed = read_as(Renewed, found) if isinstance(found, Answer) else found
            if isinstance(found, Answer) and isinstance(renewed, Renewed):
                self._take(renewed.lease, found.sent_at)
                return None
            last = renewed if isinstance(renewed, Refusal) else None
            if last is not None and not last.is_fault:
                return last
            pause = self._settings.pause_seconds * random.uniform(0.5, 1.5)  # noqa: S311 - spreads a crowd
            await asyncio.sleep(max(min(pause, self._lost_at - time.monotonic()), 0))
        return _not_renewed(last)

    def _take(self, lease: Lease, since: float) -> None:
        is_longer = self._lease is None or lease.expires_at > self._lease.expires_at
        self._count(lease, since)
        if not is_longer:
            # It is held as long as it may be, and no renewal moves its end.
            self._renew_at = self._lost_at
        self._lease = lease


def _not_renewed(last: Refusal | None) -> Refusal:
    why = "" if last is None else f"; {last}"
    return Refusal(code="lease_not_renewed", message=f"the lease could not be renewed in time{why}", outcome="acquire")


async def _until(instant: float) -> None:
    await asyncio.sleep(max(instant - time.monotonic(), 0))


def _has_spoken(task: asyncio.Future[Any]) -> bool:
    """Whether a callback came to an end of its own: what a cancelled one raises is the cancelling."""
    if not task.done() or task.cancelled():
        return False
    return task.exception() is None or isinstance(task.exception(), EnforceError)


def _result(task: asyncio.Future[T]) -> T:
    if task.cancelled():
        raise CallbackFailed("it was cancelled, and not by its caller")
    try:
        return task.result()
    except EnforceError:
        raise
    except Exception as error:
        raise CallbackFailed(f"{type(error).__name__}: {error}") from error
