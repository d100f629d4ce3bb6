"""The replica: the view, how fresh it is, and who waits for it to move.

The view is written in this module only, and only with what the ledger has. Between two awaits of the event loop it
does not change, so a decision that collects its facts without awaiting sees one revision.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog

from remit_graph.errors import LedgerError, LedgerUnavailable, SchemaTooNew
from remit_graph.model.change import Entry
from remit_graph.view.apply import apply
from remit_graph.view.journal import Journal
from remit_graph.view.state import View
from remit_service.replica.past import Past

if TYPE_CHECKING:
    from remit_graph.ports import Head, Ledger
    from remit_service.clock import Clock

LOAD_CHUNK: Final = 2_000
"""Revisions read at once while loading."""

WATCH: Final = timedelta(seconds=1)
"""How long one look at the tail waits; each that returns proves that the view is up to date."""

RETRY_SECONDS: Final = 0.2
_log = structlog.get_logger(__name__)

Listener = Callable[[Entry], None]


class Replica:
    """Keeps one view in step with one ledger."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        """Start empty; `load` fills it."""
        self.ledger = ledger
        self.view = View()
        self.past = Past()
        self.head: Head | None = None
        self.stopped_by: SchemaTooNew | None = None
        self.load_failures = 0
        self.skew: int = 0
        self._clock = clock
        self._confirmed: float | None = None
        self._moved = asyncio.Event()
        self._tail: asyncio.Task[None] | None = None
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> None:
        """Call `listener` with every entry right after the view has it."""
        self._listeners.append(listener)

    @property
    def is_loaded(self) -> bool:
        """Whether the whole ledger was read once."""
        return self._confirmed is not None

    def staleness_seconds(self) -> float:
        """How long ago it was last known that the view is the ledger's head; infinite before the first load."""
        return float("inf") if self._confirmed is None else self._clock.monotonic() - self._confirmed

    async def load(self) -> None:
        """Read the ledger from the newest checkpoint to its head; nothing is kept of a load that fails (F013).

        Raises:
            LedgerError: it cannot be read, or holds what this program does not know.
        """
        started = self._clock.monotonic()
        head = await self._read_head()
        view = View()
        try:
            while view.revision < head.revision:
                for entry in await self.ledger.read(view.revision, LOAD_CHUNK):
                    apply(view, entry)
        except LedgerError:
            self.load_failures += 1
            raise
        self.view, self.head = view, head
        self.past.forget()
        self._confirmed = started
        gc.collect()
        gc.freeze()

    async def start(self) -> None:
        """Load, then follow the tail in the background."""
        await self.load()
        self._tail = asyncio.create_task(self._follow(), name="remit-tail")

    async def aclose(self) -> None:
        """Stop following."""
        if self._tail is not None:
            self._tail.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._tail

    async def _follow(self) -> None:
        while True:
            try:
                started = self._clock.monotonic()
                entries = await self.ledger.watch(self.view.revision, WATCH)
                self.receive(entries)
                self._confirmed = max(self._confirmed or started, started)
            except SchemaTooNew as error:
                # A change of a later version: stop here for good, never skip it (rules.md 2).
                self.stopped_by = error
                _log.error("stopped", reason=error.message, advice=error.advice)
                return
            except LedgerUnavailable as error:
                _log.warning("ledger unavailable", reason=error.message)
                await asyncio.sleep(RETRY_SECONDS)
            except LedgerError as error:
                _log.error("ledger refused", reason=error.message)
                await asyncio.sleep(RETRY_SECONDS)

    def receive(self, entries: Sequence[Entry]) -> None:
        """Apply entries that follow the view; those it has already are passed over.

        Raises:
            SchemaTooNew: at the first one this program does not know; the view stays before it.
        """
        moved = False
        for entry in entries:
            if entry.revision <= self.view.revision:
                continue
            journal = Journal()
            apply(self.view, entry, journal)
            self.past.note(entry, journal)
            moved = True
            if self.head is not None:
                self.head = replace(self.head, revision=entry.revision, hash=entry.hash, at=entry.at)
            for listener in self._listeners:
                listener(entry)
        if moved:
            self._moved.set()
            self._moved = asyncio.Event()

    async def _read_head(self) -> Head:
        """Read the head, and how far this process's clock is from the ledger's, less the time the answer took."""
        before = self._clock.now()
        head = await self.ledger.head()
        after = self._clock.now()
        # Anything within the round trip may be the true instant of the reading.
        self.skew = before - head.now if head.now < before else max(0, head.now - after) * -1
        return head

    async def catch_up(self) -> Head:
        """Bring the view to the ledger's head as of now.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        started = self._clock.monotonic()
        head = await self._read_head()
        while self.view.revision < head.revision:
            self.receive(await self.ledger.read(self.view.revision, LOAD_CHUNK))
        self._confirmed = max(self._confirmed or started, started)
        self.head = replace(head, revision=self.view.revision, hash=self.view.hash, at=self.view.at)
        return self.head

    async def reached(self, revision: int, within: timedelta) -> bool:
        """Wait until the view is at `revision` or later; False when `within` is over first."""
        deadline = self._clock.monotonic() + within.total_seconds()
        while self.view.revision < revision:
            left = deadline - self._clock.monotonic()
            if left <= 0:
                return False
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._moved.wait(), left)
        return True
