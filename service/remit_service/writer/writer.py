"""Group commit: the commands that have arrived are decided one after the other and appended as one batch.

Rules kept here (architecture.md 3, rules.md 11):

- a batch is decided without awaiting, on the view itself, and taken back before anybody can look;
- nobody reads a change before its append has succeeded;
- one refused command harms no other; a command that alone breaks a constraint is refused alone;
- a request id is settled by its stored result, never by appending again;
- `at` never goes back.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec
import structlog

from remit_graph.errors import (
    ConstraintBroken,
    HeadMoved,
    LedgerError,
    LedgerUnavailable,
    ModelError,
    OutcomeUnknown,
    RequestReused,
)
from remit_graph.model.change import Command, canonical
from remit_graph.view.apply import apply_changes
from remit_graph.view.journal import Journal
from remit_service.writer.command import Accepted, Done, Refused, Submission

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.model.change import Entry
    from remit_graph.model.instant import Instant
    from remit_graph.ports import Ledger
    from remit_service.clock import Clock
    from remit_service.replica.replica import Replica

_log = structlog.get_logger(__name__)

DECIDE_SECONDS: Final = 0.015
"""Longest time one batch may be decided: reads wait meanwhile (rules.md 11)."""

MAX_BATCH: Final = 256
MUCH_ENDED: Final = 2_000
"""Edges that end in one command without being tried before: each costs about 15 us, and as much to take back."""

MAX_ATTEMPTS: Final = 64
"""Lost races after which a command is told that the ledger is too busy."""


@dataclass(slots=True)
class _Waiting:
    submission: Submission
    done: asyncio.Future[Done]
    is_stored: bool = False
    """Whether its request id came by in the tail: another process was sent the same command."""


class Writer:
    """Decides and appends for one process."""

    def __init__(self, ledger: Ledger, replica: Replica, clock: Clock) -> None:
        """Start idle; `start` begins the task."""
        self._ledger = ledger
        self._replica = replica
        self._clock = clock
        self._queue: asyncio.Queue[_Waiting] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._running: dict[str, _Waiting] = {}
        replica.subscribe(self._see)

    def _see(self, entry: Entry) -> None:
        waiting = self._running.get(entry.request_id) if entry.request_id else None
        if waiting is not None:
            waiting.is_stored = True

    async def start(self) -> None:
        """Begin to take commands."""
        self._task = asyncio.create_task(self._run(), name="remit-writer")

    async def aclose(self) -> None:
        """Finish what was taken, refuse what waits."""
        if self._task is None:
            return
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        while not self._queue.empty():
            waiting = self._queue.get_nowait()
            _fail(waiting, LedgerUnavailable("the decision point is stopping", advice="send the command again"))

    async def submit(self, submission: Submission) -> Done:
        """Decide a command and append what it changes.

        Raises:
            LedgerUnavailable: nothing was appended; send it again.
            OutcomeUnknown: send it again with the same Idempotency-Key.
        """
        running = self._running.get(submission.request_id) if submission.request_id else None
        if running is not None:
            done = await asyncio.shield(running.done)
            same = running.submission.fingerprint == submission.fingerprint
            return replace(done, replayed=True) if same else Done(verdict=_REUSED, revision=done.revision)
        waiting = _Waiting(submission, asyncio.get_running_loop().create_future())
        if submission.request_id is not None:
            # Before anything is awaited: a repeat that comes meanwhile must find this one.
            self._running[submission.request_id] = waiting
            waiting.done.add_done_callback(lambda _: self._running.pop(submission.request_id or "", None))
            if await self._settled_before(waiting):
                return waiting.done.result()
        self._queue.put_nowait(waiting)
        return await asyncio.shield(waiting.done)

    async def _settled_before(self, waiting: _Waiting) -> bool:
        """Answer a submission whose request id is stored already."""
        try:
            stored = await self._stored(waiting.submission)
        except BaseException as error:
            if not waiting.done.done():
                waiting.done.set_exception(error)
                waiting.done.exception()
            raise
        if stored is not None and not waiting.done.done():
            waiting.done.set_result(stored)
        return stored is not None

    async def _stored(self, submission: Submission) -> Done | None:
        if submission.request_id is None:
            return None
        found = await self._ledger.result(submission.request_id)
        if found is None:
            return None
        if found.fingerprint != submission.fingerprint:
            return Done(verdict=_REUSED, revision=self._replica.view.revision)
        if found.revision > self._replica.view.revision:
            # Another process appended it, and the next command of whoever hears of it here may build on it.
            await self._replica.catch_up()
        result = msgspec.json.decode(found.result)
        return Done(verdict=Accepted(changes=(), result=result), revision=found.revision, replayed=True)

    async def _run(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < MAX_BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            # The append goes on when this task is cancelled: its outcome would be unknown otherwise.
            await asyncio.shield(asyncio.ensure_future(self._settle(batch)))

    async def _settle(self, batch: Sequence[_Waiting]) -> None:
        pending = list(batch)
        for _ in range(MAX_ATTEMPTS):
            try:
                pending = await self._attempt_or_follow(pending)
            except ConstraintBroken as error:
                if len(pending) == 1:
                    _resolve(pending[0], Refused(code=error.code, message=error.message), self._replica.view.revision)
                    return
                for each in pending:
                    await self._settle([each])
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, it must not end the writer
                if not isinstance(error, LedgerError | ModelError):
                    _log.exception("a batch could not be appended")
                for each in pending:
                    _fail(each, error)
                return
            if not pending:
                return
        for each in pending:
            _fail(each, LedgerUnavailable("the ledger is too busy", advice="send the command again"))

    async def _attempt_or_follow(self, pending: list[_Waiting]) -> list[_Waiting]:
        """Decide and append once, or where another process was first, follow it; returns what is still to be done."""
        try:
            return await self._attempt(pending)
        except HeadMoved:
            await self._replica.catch_up()
            return pending

    async def _attempt(self, pending: list[_Waiting]) -> list[_Waiting]:
        """Decide and append once; returns those that did not fit into the batch."""
        # What another process has appended meanwhile is not decided again: it would be refused for being there.
        for waiting in pending:
            if waiting.is_stored:
                await self._settled_before(waiting)
        pending = [waiting for waiting in pending if not waiting.done.done()]
        decided, rest = self._decide(pending)
        commands = [each.command for each in decided if each.command is not None]
        if commands:
            await self._append(decided, commands)
        for each in decided:
            if each.command is None:
                _resolve(each.waiting, each.verdict, self._replica.view.revision)
        return rest

    def _decide(self, pending: Sequence[_Waiting]) -> tuple[list[_Decided], list[_Waiting]]:
        """Decide on the view, each command on what those before it would change, and take all of it back."""
        view = self._replica.view
        at = max(self._clock.now(), view.at)
        journal = Journal()
        started = self._clock.monotonic()
        decided: list[_Decided] = []
        revision = view.revision
        try:
            for index, waiting in enumerate(pending):
                if decided and self._clock.monotonic() - started > DECIDE_SECONDS:
                    return decided, list(pending[index:])
                is_last = index + 1 == len(pending)
                try:
                    each = _decide_one(waiting, view, at)
                    if each.command is not None and not (is_last and _ends_much(each.command)):
                        apply_changes(view, each.command.changes, journal, revision=revision + 1, at=at)
                        journal.put(view.scalars, "revision", revision + 1)
                except Exception as error:  # noqa: BLE001 - whatever it is, it must not end the writer
                    # A fault of this command alone: it is told so, and the others are decided again without it.
                    _log.exception("a command could not be decided", action=waiting.submission.action)
                    _fail(waiting, error)
                    return [], [other for other in pending if other is not waiting]
                revision += each.command is not None
                decided.append(each)
        finally:
            journal.undo()
        return decided, []

    async def _append(self, decided: Sequence[_Decided], commands: Sequence[Command]) -> None:
        head = self._replica.head
        if head is None:
            raise LedgerUnavailable("the ledger was not read yet", advice="wait until the decision point is ready")
        try:
            entries = await self._ledger.append(head, commands)
        except (OutcomeUnknown, RequestReused):
            await self._look_up(decided)
            return
        self._replica.receive(entries)
        revisions = iter(entries)
        for each in decided:
            if each.command is not None:
                _resolve(each.waiting, each.verdict, next(revisions).revision)

    async def _look_up(self, decided: Sequence[_Decided]) -> None:
        """Settle a batch whose outcome is unknown, or of which a request id is known, by the stored results."""
        await self._replica.catch_up()
        for each in decided:
            if each.command is None:
                continue
            stored = await self._stored(each.waiting.submission)
            if stored is not None:
                if not each.waiting.done.done():
                    each.waiting.done.set_result(stored)
            elif each.waiting.submission.request_id is None:
                _fail(
                    each.waiting,
                    OutcomeUnknown("the connection ended while committing", advice="look before you repeat"),
                )
            else:
                await self._settle([each.waiting])


@dataclass(slots=True)
class _Decided:
    waiting: _Waiting
    verdict: Accepted | Refused
    command: Command | None


def _ends_much(command: Command) -> bool:
    """Whether trying a command would hold up reads for long; with none after it in its batch, nobody needs the trial.

    All other commands are tried, so that what the view could not take is not appended either.
    """
    return sum(len(each.body["edges"]) for each in command.changes if each.kind == "edges.end") > MUCH_ENDED


def _decide_one(waiting: _Waiting, view: object, at: Instant) -> _Decided:
    submission = waiting.submission
    try:
        verdict = submission.decide(view, at)  # type: ignore[arg-type]
    except ModelError as error:
        verdict = Refused(code=error.code, message=error.message, facts=error.facts)
    if isinstance(verdict, Refused) or not verdict.changes:
        return _Decided(waiting, verdict, None)
    command = Command(
        action=submission.action,
        actor=submission.actor,
        at=at,
        changes=verdict.changes,
        request_id=submission.request_id,
        fingerprint=submission.fingerprint,
        result=canonical(verdict.result) if submission.request_id is not None else None,
        reason=submission.reason,
    )
    return _Decided(waiting, verdict, command)


_REUSED: Final = Refused(code="idempotency_mismatch", message="this Idempotency-Key was used before with another body")


def _resolve(waiting: _Waiting, verdict: Accepted | Refused, revision: int) -> None:
    if not waiting.done.done():
        waiting.done.set_result(Done(verdict=verdict, revision=revision))


def _fail(waiting: _Waiting, error: Exception) -> None:
    if not waiting.done.done():
        waiting.done.set_exception(error)
