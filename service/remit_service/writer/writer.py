"""Group commit: the commands that have arrived are decided one after the other and appended as one batch.

Rules kept here (architecture.md 3, rules.md 11):

- a batch is decided without awaiting, on the view itself, and taken back before anybody can look (`deciding`);
- nobody reads a change before its append has succeeded, although the next batch is decided on it (`ahead`);
- one refused command harms no other; a command that alone breaks a constraint is refused alone;
- a request id is settled by its stored result, never by appending again;
- `at` never goes back;
- whoever loses an append takes a turn, so that no process starves another (`turns`).
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
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
from remit_service.writer.ahead import decide_ahead
from remit_service.writer.arrivals import Arrivals
from remit_service.writer.command import Accepted, Done, Refused, Submission, Waiting
from remit_service.writer.deciding import DECIDE_SECONDS, Draft
from remit_service.writer.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from remit_graph.model.change import Entry
    from remit_graph.ports import Ledger
    from remit_service.clock import Clock
    from remit_service.replica.replica import Replica

_log = structlog.get_logger(__name__)

MAX_BATCH: Final = 256

MAX_LOST: Final = 64
"""Lost races after which a command is told that the ledger is too busy."""

_BUSY: Final = "the ledger is too busy"
_AGAIN: Final = "send the command again"
_REUSED: Final = Refused(code="idempotency_mismatch", message="this Idempotency-Key was used before with another body")


class Writer:
    """Decides and appends for one process."""

    def __init__(self, ledger: Ledger, replica: Replica, clock: Clock, *, in_turn: bool = True) -> None:
        """Start idle; `start` begins the task. `in_turn` is left out to measure how the quickest starves the others."""
        self._ledger = ledger
        self._replica = replica
        self._clock = clock
        self._arrivals = Arrivals()
        self._turns = Turns(ledger, replica, clock, wanted=in_turn)
        self._task: asyncio.Task[None] | None = None
        self._settling: asyncio.Task[None] | None = None
        self._is_closing = False
        self._running: dict[str, Waiting] = {}
        self._suspicious: list[Callable[[], None]] = []
        replica.subscribe(self._see)

    def suspect(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the store holds what the view does not know of: somebody edited it by hand."""
        self._suspicious.append(listener)

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
        self._is_closing = True
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        if self._settling is not None:
            await self._settling
        for waiting in self._arrivals.rest():
            waiting.fail(LedgerUnavailable("the decision point is stopping", advice=_AGAIN))

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
        waiting = Waiting(submission, asyncio.get_running_loop().create_future())
        if submission.request_id is not None:
            # Before anything is awaited: a repeat that comes meanwhile must find this one.
            self._running[submission.request_id] = waiting
            waiting.done.add_done_callback(lambda _: self._running.pop(submission.request_id or "", None))
            if await self._settled_before(waiting):
                return waiting.done.result()
        self._arrivals.put(waiting)
        return await asyncio.shield(waiting.done)

    async def _settled_before(self, waiting: Waiting) -> bool:
        """Answer a submission whose request id is stored already."""
        try:
            stored = await self._stored(waiting.submission)
        except BaseException as error:
            waiting.fail(error)
            raise
        if stored is not None:
            waiting.resolve(stored)
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
            batch = await self._arrivals.take(MAX_BATCH)
            # The append goes on when this task is cancelled: its outcome would be unknown otherwise.
            self._settling = asyncio.create_task(self._settle_in_turn(batch), name="remit-append")
            await asyncio.shield(self._settling)

    async def _settle_in_turn(self, batch: Sequence[Waiting]) -> None:
        try:
            await self._settle(batch)
        finally:
            await self._turns.leave()

    async def _settle(self, batch: Sequence[Waiting], *, alone: bool = False) -> None:
        """Decide and append until nothing of `batch` is left, and what was decided meanwhile.

        Where it is to be settled `alone`, nothing joins it, and what was decided meanwhile waits again: others that
        came earlier wait for its end, which would not come under steady load.
        """
        pending, ahead = list(batch), None
        lost = 0
        while pending and lost < MAX_LOST:
            try:
                await self._turns.wait()
                pending += [] if alone else self._arrived(MAX_BATCH - len(pending))
                draft = await self._decided(pending, ahead)
                pending, ahead = draft.waiting, None
                ahead = await self._append(draft)
                lost = 0
                if alone and ahead is not None:
                    self._arrivals.put_back(ahead.waiting)
                    ahead = None
                pending = [] if ahead is None else ahead.waiting
            except HeadMoved:
                lost += 1
                self._turns.lost()
                pending = await self._follow(pending)
            except ConstraintBroken as error:
                await self._one_by_one(pending, error)
                return
            except ModelError as error:
                _give_up(pending, _of_the_clock(error))
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, it must not end the writer
                _give_up(pending, error)
                return
        for each in pending:
            each.fail(LedgerUnavailable(_BUSY, advice=_AGAIN))

    async def _settle_alone(self, waiting: Waiting) -> None:
        """Settle a command by itself; many that are appended one by one must not cost anybody what he holds."""
        await self._settle(self._arrivals.renewals(), alone=True)
        await self._settle([waiting], alone=True)

    def _arrived(self, at_most: int) -> list[Waiting]:
        """Take what came meanwhile and goes with what waited: renewals, and in a turn of one's own whatever fits."""
        if self._turns.has_rivals:
            return self._arrivals.take_now(at_most)
        return self._arrivals.renewals()

    async def _follow(self, pending: list[Waiting]) -> list[Waiting]:
        """Catch up with whoever was first; returns what is still to be done."""
        try:
            await self._replica.catch_up()
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not end the writer
            _give_up(pending, error)
            return []
        return pending

    async def _one_by_one(self, pending: Sequence[Waiting], error: ConstraintBroken) -> None:
        """Settle a batch that broke a constraint command by command; the one that breaks it alone is refused."""
        if len(pending) > 1:
            for each in pending:
                await self._settle_alone(each)
            return
        refused = Refused(code=error.code, message=error.message)
        pending[0].resolve(Done(verdict=refused, revision=self._replica.view.revision))
        # Its decision found nothing in the way, so the store holds what the log does not (rules.md 11).
        for listener in self._suspicious:
            listener()

    async def _decided(self, taken: Sequence[Waiting], ahead: Draft | None) -> Draft:
        """Return a draft of what was taken, which holds what was decided ahead; what did not fit waits again."""
        # What another process has appended meanwhile is not decided again: it would be refused for being there.
        for waiting in taken:
            if waiting.is_stored:
                await self._settled_before(waiting)
        view = self._replica.view
        if ahead is None or any(each.done.done() for each in ahead.waiting) or not ahead.landed(view):
            ahead = Draft(view)
        known = {id(each) for each in ahead.waiting}
        pending = [each for each in taken if id(each) not in known and not each.done.done()]
        self._arrivals.put_back(ahead.decide(pending, self._clock.now(), self._clock.monotonic, DECIDE_SECONDS))
        return ahead

    async def _append(self, draft: Draft) -> Draft | None:
        """Append what was decided and tell the callers; return what was decided on top of it meanwhile."""
        ahead = await self._appended(draft) if draft.commands else None
        for each in draft.decided:
            if each.command is None:
                each.waiting.resolve(Done(verdict=each.verdict, revision=self._replica.view.revision))
        return ahead

    async def _appended(self, draft: Draft) -> Draft | None:
        head = self._replica.head
        if head is None:
            raise LedgerUnavailable("the ledger was not read yet", advice="wait until the decision point is ready")
        appending = asyncio.create_task(self._ledger.append(head, draft.commands))
        ahead = await self._ahead(draft, appending)
        try:
            entries = await appending
            self._turns.spent()
            await self._replica.receive(entries, draft.made)
        except BaseException as error:
            self._arrivals.put_back([] if ahead is None else ahead.waiting)
            if not isinstance(error, OutcomeUnknown | RequestReused):
                raise
            await self._look_up(draft)
            return None
        revisions = iter(entries)
        for each in draft.decided:
            if each.command is not None:
                each.waiting.resolve(Done(verdict=each.verdict, revision=next(revisions).revision))
        return ahead

    async def _ahead(self, draft: Draft, appending: asyncio.Task[Sequence[Entry]]) -> Draft | None:
        """Decide what arrives meanwhile; where others append too, that would be in vain."""
        if self._turns.has_rivals or self._is_closing:
            await asyncio.wait({appending})
            return None
        return await decide_ahead(draft, appending, self._arrivals, self._clock, MAX_BATCH)

    async def _look_up(self, draft: Draft) -> None:
        """Settle a batch whose outcome is unknown, or of which a request id is known, by the stored results."""
        await self._replica.catch_up()
        for each in draft.decided:
            if each.command is None:
                continue
            stored = await self._stored(each.waiting.submission)
            if stored is not None:
                each.waiting.resolve(stored)
            elif each.waiting.submission.request_id is None:
                each.waiting.fail(
                    OutcomeUnknown("the connection ended while committing", advice="look before you repeat")
                )
            else:
                await self._settle_alone(each.waiting)


def _of_the_clock(error: ModelError) -> LedgerError | ModelError:
    """Return what callers are told where the ledger refused an instant as too far ahead; other errors are theirs.

    No caller chose the instant: their requests are well formed, and this machine's clock is at fault.
    """
    if error.facts.get("at", 0) <= error.facts.get("bound", float("inf")):  # type: ignore[operator]
        return error
    return LedgerUnavailable(
        f"the clock of this decision point is ahead of the ledger's: {error.message}",
        advice="set the clock of this machine; other decision points take commands meanwhile",
    )


def _give_up(pending: Sequence[Waiting], error: Exception) -> None:
    if not isinstance(error, LedgerError | ModelError):
        _log.exception("a batch could not be appended")
    for each in pending:
        each.fail(error)
