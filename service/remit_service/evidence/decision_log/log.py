"""The decision log over any sink: a bounded queue, one task that stores it in order, and what happens when it is full.

- Records are encoded when they are queued, so that the queue is bounded in what it holds.
- A record that must exist waits for its line to be stored, within a bound. One that nobody waits for any more is taken
  out of the queue, unless it is on its way already; a record of kind `unrecorded_decision` then says it was denied.
- A batch that could not be stored is sent again as it was, byte for byte, so that a service can drop what it got twice.
- Where records were lost, the next line is a gap record with their number.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import structlog

from remit_service.evidence.decision_log.chain import Link, append
from remit_service.evidence.decision_log.errors import RecordingFailed, SinkUnavailable
from remit_service.evidence.decision_log.event import timestamp
from remit_service.evidence.decision_log.scribe import is_required

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from remit_graph.model.instant import Instant
    from remit_service.decision.caller import Caller
    from remit_service.decision.decision import Decision
    from remit_service.decision.request import Evaluation
    from remit_service.evidence.decision_log.scribe import Scribe
    from remit_service.evidence.decision_log.sinks import Sink

BATCH: Final = 512
LINGER_SECONDS: Final = 0.02
"""How long records that nobody waits for are collected, so that one write stores many."""

RETRY_SECONDS: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
CLOSE_SECONDS: Final = 5.0
_log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class _Queued:
    record: bytes
    stored: asyncio.Future[None] | None = None
    is_withdrawn: bool = False


@dataclass(slots=True)
class _Batch:
    """Lines on their way, and where the stream stands after them."""

    queued: list[_Queued]
    lines: list[bytes]
    link: Link


class BufferedLog:
    """A `DecisionLog` over one sink."""

    def __init__(
        self, sink: Sink, scribe: Scribe, now: Callable[[], Instant], *, buffer: int, wait_seconds: float
    ) -> None:
        """Queue what `scribe` writes for `sink`; `start` begins to store it.

        Args:
            sink: Where lines go.
            scribe: Spells records and keeps the newest at hand.
            now: The clock, for records of its own.
            buffer: Records that may wait.
            wait_seconds: How long a decision waits for a record that must exist.
        """
        self._sink = sink
        self.scribe = scribe
        self._now = now
        self._buffer = buffer
        self._wait_seconds = wait_seconds
        self._queue: deque[_Queued] = deque()
        self._batch: _Batch | None = None
        self._wake = asyncio.Event()
        self._urgent = asyncio.Event()
        self._room = asyncio.Event()
        self._is_closing = False
        self._lost: Counter[str] = Counter()
        self._gap: Counter[str] = Counter()
        self._link: Link | None = None
        self._task: asyncio.Task[None] | None = None
        self._problem: str | None = None

    async def start(self) -> None:
        """Open the stream and begin to store."""
        self._link, torn = await self._sink.open()
        if torn:
            self._queue.append(_Queued(self._gap_record({"torn": 1}, bytes_dropped=torn)))
            self._wake.set()
        self._task = asyncio.create_task(self._store(), name="remit-decision-log")

    async def record(
        self, decision: Decision, evaluation: Evaluation, caller: Caller, labels: Mapping[str, Any]
    ) -> None:
        """Record a decision; waits only where the action class demands that the record exists."""
        record = self.scribe.decision(decision, evaluation, caller, labels)
        if is_required(decision):
            await self._record_now(decision, record, labels)
        else:
            self._offer(record)

    def note(self, event: Mapping[str, Any]) -> None:
        """Queue a record of something that is no decision."""
        self._offer(self.scribe.other({"timestamp": timestamp(self._now()), **event}))

    def _offer(self, record: bytes) -> None:
        if len(self._queue) >= self._buffer:
            self._lost["buffer_full"] += 1
            self._gap["buffer_full"] += 1
            return
        self._push(_Queued(record))

    def _push(self, queued: _Queued) -> None:
        if self._gap:
            self._queue.append(_Queued(self._gap_record(self._gap)))
            self._gap = Counter()
        self._queue.append(queued)
        self._wake.set()

    def _gap_record(self, lost: Mapping[str, int], **facts: Any) -> bytes:
        return self.scribe.other({"kind": "gap", "timestamp": timestamp(self._now()), "lost": dict(lost), **facts})

    async def _record_now(self, decision: Decision, record: bytes, labels: Mapping[str, Any]) -> None:
        queued = _Queued(record, asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(self._wait_seconds):
                while len(self._queue) >= self._buffer:
                    self._room.clear()
                    await self._room.wait()
                self._push(queued)
                self._urgent.set()
                await queued.stored  # type: ignore[misc]
        except TimeoutError:
            queued.is_withdrawn = True
            self.note({"kind": "unrecorded_decision", "unrecorded": decision.decision_id, **labels})
            reason = self._problem or f"no record was stored within {self._wait_seconds} s"
            raise RecordingFailed(reason) from None

    async def _store(self) -> None:
        """Store the queue in order, until it is closed and empty."""
        attempt = 0
        while True:
            await self._wake.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LINGER_SECONDS):
                    await self._urgent.wait()
            self._wake.clear()
            self._urgent.clear()
            while self._queue or self._batch:
                self._batch = self._batch or self._next_batch()
                if await self._send(self._batch):
                    self._batch, attempt = None, 0
                    continue
                await asyncio.sleep(RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)])
                attempt += 1
            if self._is_closing:
                return

    def _next_batch(self) -> _Batch:
        assert self._link is not None  # noqa: S101 - `start` has opened the stream
        batch = _Batch([], [], self._link)
        while self._queue and len(batch.lines) < BATCH:
            queued = self._queue.popleft()
            if queued.is_withdrawn:
                continue
            batch.link, line = append(batch.link, queued.record)
            batch.queued.append(queued)
            batch.lines.append(line)
        self._room.set()
        return batch

    async def _send(self, batch: _Batch) -> bool:
        waited_for = [each.stored for each in batch.queued if each.stored is not None]
        try:
            if batch.lines:
                await self._sink.write(batch.lines, durably=bool(waited_for))
        except SinkUnavailable as error:
            if self._problem is None:
                _log.error("decision log cannot write", reason=error.message)
            self._problem = f"the decision log cannot write: {error.message}"
            return False
        self._link, self._problem = batch.link, None
        for stored in waited_for:
            if not stored.done():
                stored.set_result(None)
        return True

    def recent(self, limit: int) -> list[Mapping[str, Any]]:
        """Return the newest records of this process, newest first."""
        return self.scribe.recent(limit)

    async def find(self, decision_id: str) -> Mapping[str, Any] | None:
        """Return the record of a decision, from memory or from what the sink can search."""
        record = self.scribe.find(decision_id) or await self._sink.find(f'"decision_id":"{decision_id}"'.encode())
        return None if record is None else msgspec.json.decode(record)

    @property
    def lost(self) -> Mapping[str, int]:
        """How many records were lost since the start, by cause."""
        return dict(self._lost)

    @property
    def link(self) -> Link | None:
        """Where the stream stands, for an anchor in the ledger."""
        return self._link

    def problems(self) -> list[str]:
        """Return what is wrong with the log now."""
        return [self._problem] if self._problem is not None else []

    async def aclose(self) -> None:
        """Store what is queued, within a bound, and close the stream."""
        if self._gap:
            self._queue.append(_Queued(self._gap_record(self._gap)))
            self._gap = Counter()
        self._is_closing = True
        self._urgent.set()
        self._wake.set()
        if self._task is not None:
            _, late = await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()
                await asyncio.wait({task})
        left = len(self._queue) + (len(self._batch.lines) if self._batch else 0)
        if left:
            _log.error("decision log closed with records that were not stored", count=left)
        await self._sink.close()
