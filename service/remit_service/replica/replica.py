"""The replica: the view, how fresh it is, and who waits for it to move.

The view is written in this module only, and only with what the ledger has. Between two awaits of the event loop it
does not change, so a decision that collects its facts without awaiting sees one revision. A large revision is made
ready beside it, in slices between which decisions are answered by the one before, and comes into force at once.

What the view is confirmed by: a look at the ledger that found nothing newer, or the ledger's head as it was a moment
ago, once the view has reached it. So a replica that is far behind, or that hears nothing, grows stale by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog

from remit_graph.errors import (
    ForeignStore,
    GraphError,
    HistoryRemoved,
    LedgerError,
    LedgerUnavailable,
    SchemaTooNew,
)
from remit_graph.model.change import SCHEMA
from remit_graph.view.apply import apply
from remit_graph.view.beside import beside, is_large
from remit_graph.view.journal import Journal
from remit_graph.view.state import View
from remit_service.clock import skew_of
from remit_service.replica.freshness import Freshness
from remit_service.replica.lineage import left_behind, require_same
from remit_service.replica.loading import load_view, malformed, read_some
from remit_service.replica.moves import Moves
from remit_service.replica.past import Past
from remit_service.replica.tail import Tail
from remit_service.slices import in_slices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from remit_graph.head import Head
    from remit_graph.model.change import Entry
    from remit_graph.ports import Ledger
    from remit_graph.view.beside import Beside
    from remit_service.clock import Clock
    from remit_service.replica.companion import Companion

    Listener = Callable[[Entry], None]

RETRY_SECONDS: Final = 0.2
_log = structlog.get_logger(__name__)


class Replica:
    """Keeps one view in step with one ledger.

    Attributes:
        view: The graph.
        past: How to go back a minute.
        head: Where the ledger stood when the view got its last entry, and where its history began when that was last
            asked; None before the first load.
        stopped_by: Why no further entry can be taken, or None.
        trouble: Why the ledger could not be followed when it was last tried, or None.
        load_failures: Loads that did not succeed.
        rows_replayed: Rows that the last load had to apply one by one, beside a checkpoint.
        skew: How far the clock is ahead of the ledger's, microseconds, less what its answer took.
    """

    def __init__(self, ledger: Ledger, clock: Clock, *, max_staleness: timedelta = timedelta(seconds=5)) -> None:
        """Start empty; `load` fills it."""
        self.ledger = ledger
        self.view = View()
        self.past = Past()
        self.head: Head | None = None
        self.stopped_by: GraphError | None = None
        self.trouble: GraphError | None = None
        self.load_failures = 0
        self.rows_replayed = 0
        self.skew: int = 0
        self._clock = clock
        self._fresh = Freshness(clock)
        self._tail = Tail(ledger, max_staleness)
        self._moves = Moves(clock)
        self._following: asyncio.Task[None] | None = None
        self._listeners: list[Listener] = []
        self._companion: Companion | None = None
        self._taking = asyncio.Lock()

    def subscribe(self, listener: Listener) -> None:
        """Call `listener` with every entry right after the view has it."""
        self._listeners.append(listener)

    async def accompany(self, companion: Companion) -> None:
        """Let `companion` go along with the view from here on."""
        revision = -1
        while revision != self.view.revision:
            revision = self.view.revision
            await companion.prepare_for(self.view)
        self._companion = companion
        companion.settle(self.view)

    @property
    def is_loaded(self) -> bool:
        """Whether the whole ledger was read once."""
        return self._fresh.is_known

    def staleness_seconds(self) -> float:
        """How long ago it was last known that the view is the ledger's head; infinite before the first load."""
        return self._fresh.age_seconds()

    async def start(self, *, patiently: bool = False) -> None:
        """Load, then follow the tail in the background.

        Args:
            patiently: Go on trying where the ledger cannot be read; until then the replica is not loaded (F013).

        Raises:
            LedgerError: the ledger cannot be read, or holds what this program does not know.
        """
        try:
            await self.load()
        except (ForeignStore, SchemaTooNew):
            raise
        except LedgerError as error:
            if not patiently:
                raise
            _log.warning("not loaded", reason=error.message, failures=self.load_failures)
        self._following = asyncio.create_task(self._follow(), name="remit-tail")

    async def aclose(self) -> None:
        """Stop following."""
        if self._following is not None:
            self._following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._following

    async def loaded(self) -> None:
        """Wait until the whole ledger was read, or this replica has stopped."""
        while not self.is_loaded and self.stopped_by is None:
            await self._moves.following()

    async def load(self) -> None:
        """Read the ledger from the newest checkpoint to its head; nothing is kept of a load that fails (F013).

        Raises:
            LedgerError: it cannot be read, or holds what this program does not know.
        """
        started = self._clock.monotonic()
        try:
            head = await self._read_head()
            loaded = await load_view(self.ledger, head)
            if self._companion is not None:
                await self._companion.prepare_for(loaded.view)
        except LedgerError:
            self.load_failures += 1
            raise
        view = loaded.view
        self.view, self.head = view, replace(head, revision=view.revision, hash=view.hash, at=view.at)
        self.rows_replayed = loaded.rows
        self.past.forget()
        self._fresh.begin(started)
        if self._companion is not None:
            self._companion.settle(view)
        self._moves.tell()

    async def _follow(self) -> None:
        while self.stopped_by is None:
            try:
                if self.is_loaded:
                    await self._look()
                else:
                    await self.load()
                self.trouble = None
            except SchemaTooNew as error:
                self._stop(error)
            except GraphError as error:
                self.trouble = error
                _log.warning("the ledger cannot be followed", reason=error.message, advice=error.advice)
                await asyncio.sleep(RETRY_SECONDS)

    async def _look(self) -> None:
        """Take what is new, wait for it a while, and note how fresh the view is."""
        async with self._taking:
            # Whoever takes a large revision just now has read it already.
            pass
        if self._fresh.wants_head:
            await self._tail.answer_to(self._checked_head())
        try:
            entries = await self._tail.news(lambda: self.view.revision)
        except HistoryRemoved as error:
            raise self._left_behind(error) from error
        await self._take_along(entries)
        if not entries:
            self._fresh.idle()

    async def _take_along(self, entries: Sequence[Entry]) -> None:
        """Apply what others appended, once whatever goes along with the view is ready for it."""
        if self._companion is not None and entries:
            await self._companion.prepare(entries)
        await self.receive(entries)

    async def receive(self, entries: Sequence[Entry], made: Beside | None = None) -> None:
        """Apply entries that follow the view; those it has already are passed over.

        Awaits nothing but the slices of a large one, or whoever takes one.

        Args:
            entries: In order.
            made: What the first of them was made ready as, before the ledger had it.

        Raises:
            SchemaTooNew: at the first one this program does not know; the view stays before it.
            LedgerError: one cannot be applied.
        """
        async with self._taking:
            small: list[Entry] = []
            for entry in entries:
                if is_large(entry.changes):
                    self._take_all(small)
                    small = []
                    await self._take_large(entry, made if entry is entries[0] else None)
                else:
                    small.append(entry)
            self._take_all(small)

    async def _take_large(self, entry: Entry, made: Beside | None) -> None:
        view = self.view
        if entry.revision != view.revision + 1 or entry.schema > SCHEMA:
            self._take_all([entry])
            return
        try:
            if made is None or made.view is not view or not await in_slices(made.becoming(entry), urgent=True):
                steps = beside(view, entry.changes, revision=entry.revision, at=entry.at)
                made = await in_slices(steps, urgent=True)
        except Exception as error:
            raise self._refused(entry, error) from error
        # A view that was loaded anew meanwhile has it, or gets it from the tail.
        if self.view is view:
            self._take_all([entry], made)

    def _take_all(self, entries: Sequence[Entry], made: Beside | None = None) -> None:
        moved, before = False, self.view.revision
        try:
            for entry in entries:
                if entry.revision > self.view.revision:
                    self._take(entry, made)
                    moved = True
        finally:
            if self.view.revision != before:
                self._move_head()
            if moved and self._companion is not None:
                self._companion.settle(self.view)
        if moved:
            self._fresh.reached(self.view.revision)
            self._moves.tell()

    def _take(self, entry: Entry, made: Beside | None) -> None:
        journal = Journal()
        try:
            apply(self.view, entry, journal, made=made)
        except Exception as error:
            # A change that cannot be applied is never passed over, and never half there (rules.md 2).
            journal.undo()
            raise self._refused(entry, error) from error
        self.past.note(entry, journal)
        for listener in self._listeners:
            listener(entry)

    def _move_head(self) -> None:
        """Let the head stand where the view does: once for all that was applied, with nothing awaited meanwhile."""
        if self.head is not None:
            self.head = replace(self.head, revision=self.view.revision, hash=self.view.hash, at=self.view.at)

    def _refused(self, entry: Entry, error: Exception) -> GraphError:
        """Stop before an entry that cannot be applied; returns why."""
        reason = error if isinstance(error, SchemaTooNew) else malformed(entry, error)
        self._stop(reason)
        return reason

    def _stop(self, error: GraphError) -> None:
        self.stopped_by = self.stopped_by or error
        _log.error("stopped", reason=error.message, advice=error.advice)
        self._moves.tell()

    async def catch_up(self) -> Head:
        """Bring the view to the ledger's head as of now.

        Raises:
            LedgerError: the ledger cannot be read, or is another one by now.
        """
        if self.stopped_by is not None:
            raise self.stopped_by
        started = self._clock.monotonic()
        head = await self._checked_head()
        while self.view.revision < head.revision:
            async with self._taking:
                pass
            if self.view.revision < head.revision:
                await self._take_along(await self._next())
        self._fresh.confirm(started)
        self.head = replace(head, revision=self.view.revision, hash=self.view.hash, at=self.view.at)
        return self.head

    async def _next(self) -> Sequence[Entry]:
        """Return some revisions after the view's, which is not the last."""
        try:
            return await read_some(self.ledger, self.view.revision)
        except HistoryRemoved as error:
            raise self._left_behind(error) from error

    def _left_behind(self, error: HistoryRemoved) -> LedgerUnavailable:
        """Answer nothing more from a view whose next revision was removed; it is loaded anew by whoever follows."""
        self._forget()
        return left_behind(self.view, error)

    def _forget(self) -> None:
        self._fresh.forget()
        self._moves.tell()

    async def reached(self, revision: int, within: timedelta) -> bool:
        """Wait until the view is at `revision` or later; False when `within` is over first."""
        return await self._moves.until(lambda: self.view.revision >= revision, within)

    async def _read_head(self) -> Head:
        """Read the head, and how far this process's clock is from the ledger's, less the time the answer took."""
        before = self._clock.now()
        head = await self.ledger.head()
        self.skew = skew_of(head.now, before=before, after=self._clock.now())
        return head

    async def _checked_head(self) -> Head:
        """Read the head, and make sure that the view is of this very ledger.

        Raises:
            ForeignStore: it is not; from here on nothing is answered from the view, and the ledger is loaded anew.
        """
        started, had, known = self._clock.monotonic(), self.view.revision, self.head
        head = await self._read_head()
        try:
            if known is not None:
                require_same(head, known, had, self.view)
        except ForeignStore:
            self._forget()
            raise
        if self.head is not None:
            # No revision says that history was cut, so that only the ledger's own head tells where it begins now.
            self.head = replace(self.head, base=max(self.head.base, head.base))
        self._fresh.aim(started, head.revision)
        self._fresh.reached(self.view.revision)
        return head
