"""Deciding a batch: each command on the view with what those before it would change, and all of it taken back.

Nothing is awaited here, so no read sees a change before its append has succeeded, and nothing is locked (rules.md 11).

    draft = Draft(view)
    left = draft.decide(pending, at, monotonic, DECIDE_SECONDS)
    ... append draft.commands ...
    ahead = draft.next()          # while that is on its way: decided on what will be there if it succeeds
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from remit_graph.errors import ModelError
from remit_graph.model.change import Command, canonical
from remit_graph.view.apply import apply_changes
from remit_graph.view.beside import is_large
from remit_graph.view.journal import Journal
from remit_service.writer.command import Accepted, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from remit_graph.model.instant import Instant
    from remit_graph.view.beside import Beside
    from remit_graph.view.state import View
    from remit_service.writer.command import Submission, Waiting

_log = structlog.get_logger(__name__)

DECIDE_SECONDS: Final = 0.015
"""Longest time that is spent on deciding at a stretch: reads wait meanwhile (rules.md 11)."""

MUCH_ENDED: Final = 2_000
"""Edges that end in one command without being tried before: each costs about 15 us, and as much to take back."""

POLICY: Final = "policy."
"""What changes of this kind bring is in force with the view, not before: nothing is decided on what they will be."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A command that was decided: what its caller is told, and what is appended, or None where nothing is."""

    waiting: Waiting
    verdict: Accepted | Refused
    command: Command | None

    @property
    def applied(self) -> Journal | None:
        """How to take its changes back where deciding it has left them in the view."""
        return self.verdict.applied if isinstance(self.verdict, Accepted) else None


class Draft:
    """A batch that is decided in slices; between them the view is as it was.

    Attributes:
        decided: In the order in which they are appended.
        commands: What is appended.
        base: The revision that it follows.
        is_closed: Whether nothing can be decided on top of it: what it ends was too much to be tried.
    """

    def __init__(self, view: View, *, after: Draft | None = None) -> None:
        """Begin an empty one, on the view, or on what it will be once `after` was appended."""
        self.decided: list[Decided] = []
        self.commands: list[Command] = []
        self.is_closed = False
        self._view = view
        self._after = after
        self.base = view.revision if after is None else after.revision
        self._journals: list[Journal] = []

    @property
    def revision(self) -> int:
        """The revision of its last command."""
        return self.base + len(self.commands)

    @property
    def made(self) -> Beside | None:
        """What the first command was made ready as: it was decided on the view as it stood before the batch."""
        first = next((each.verdict for each in self.decided if each.command is not None), None)
        return first.made if isinstance(first, Accepted) else None

    @property
    def waiting(self) -> list[Waiting]:
        """Those whose commands it holds."""
        return [each.waiting for each in self.decided]

    def can_go_on(self) -> bool:
        """Whether more can be decided in it: the view is still the one that it, or what it comes after, began on."""
        begun = self.base if self._after is None else self._after.base
        return not self.is_closed and begun == self._view.revision

    def next(self) -> Draft | None:
        """Return an empty draft on top of this one, or None where nothing may be decided ahead."""
        is_last = self.is_closed or self._after is not None
        return None if is_last or any(map(_stands_alone, self.commands)) else Draft(self._view, after=self)

    def landed(self, view: View) -> bool:
        """Stand on the view, which has just got what this draft comes after; False where it is elsewhere."""
        if self._view is not view or self.base != view.revision:
            return False
        self._after = None
        # They are of tables that the view may have made anew meanwhile.
        self._journals = []
        return True

    def decide(
        self, pending: Sequence[Waiting], now: Instant, monotonic: Callable[[], float], seconds: float
    ) -> Sequence[Waiting]:
        """Decide for at most `seconds`, at least one that may be; return those that have to wait.

        A command whose decision is a fault is told so, and is left out.
        """
        if not pending:
            # To let the view be as it will be, and back, would be work for nobody.
            return []
        ordered = _in_order(pending)
        started = monotonic()
        with self._applied():
            for index, waiting in enumerate(ordered):
                is_over = self.is_closed or (index and monotonic() - started > seconds)
                if is_over or (waiting.submission.is_first and not self._is_on_the_view()):
                    return self._put_off(ordered[index:])
                self._take(waiting, max(now, self._at))
        return []

    def _put_off(self, left: Sequence[Waiting]) -> Sequence[Waiting]:
        """Note which renewals have to wait for what was the first of this batch; it costs them one batch, not more."""
        if any(each.submission.is_first for each in self.waiting):
            for each in left:
                each.is_due = each.submission.is_renewal
        return left

    def _is_on_the_view(self) -> bool:
        return self._after is None and not self.commands

    @property
    def _at(self) -> Instant:
        """The instant before which nothing may be decided."""
        if self.commands:
            return self.commands[-1].at
        return self._view.at if self._after is None else self._after._at  # noqa: SLF001 - of the same kind

    def _take(self, waiting: Waiting, at: Instant) -> None:
        try:
            each = _decide_one(waiting, self._view, at)
            if each.command is not None:
                if each.applied is not None:
                    each.applied.put(self._view.scalars, "revision", self.revision + 1)
                    self._journals.append(each.applied)
                elif _ends_much(each.command):
                    self.is_closed = True
                else:
                    self._try(each.command, self.revision + 1)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not end the writer
            _log.exception("a command could not be decided", action=waiting.submission.action)
            waiting.fail(error)
        else:
            self.decided.append(each)
            if each.command is not None:
                self.commands.append(each.command)

    def _try(self, command: Command, revision: int) -> None:
        """Let the view be as it will be after a command; of one that it cannot take nothing stays."""
        journal = Journal()
        try:
            apply_changes(self._view, command.changes, journal, revision=revision, at=command.at)
            journal.put(self._view.scalars, "revision", revision)
        except BaseException:
            journal.undo()
            raise
        self._journals.append(journal)

    @contextmanager
    def _applied(self) -> Iterator[None]:
        """Let the view be as it will be after what was decided so far, and then as it is."""
        with ExitStack() as stack:
            for draft in (self,) if self._after is None else (self._after, self):
                stack.callback(draft.take_back)
                draft.put()
            yield

    def put(self) -> None:
        """Let the view be as it will be after it; what was never tried, since it ends too much, is left out."""
        for journal in self._journals:
            journal.flip()
        for number in range(len(self._journals), len(self.commands) - self.is_closed):
            self._try(self.commands[number], self.base + number + 1)

    def take_back(self) -> None:
        """Let the view be as it is before it."""
        for journal in reversed(self._journals):
            journal.flip()


def _in_order(pending: Sequence[Waiting]) -> list[Waiting]:
    """Put renewals before others: a queue must not cost anybody what he holds.

    One command that has to be the first of its batch goes before them, since renewals come without end where leases are
    many; but not before a renewal that had to wait for such a one already. Others of its kind wait for their batch.
    """
    firsts = [each for each in pending if each.submission.is_first]
    others = [each for each in pending if not each.submission.is_first]
    others.sort(key=lambda each: not each.submission.is_renewal)
    if any(each.is_due for each in others):
        return [*others, *firsts]
    return [*firsts[:1], *others, *firsts[1:]]


def _ends_much(command: Command) -> bool:
    """Whether trying a command would hold up reads for long; with none after it in its batch, nobody needs the trial.

    All other commands are tried, so that what the view could not take is not appended either.
    """
    return sum(each.edges_ended for each in command.changes) > MUCH_ENDED


def _stands_alone(command: Command) -> bool:
    """Whether nothing is decided on a command before the ledger has it: it takes long, or brings another policy."""
    return is_large(command.changes) or any(each.kind.startswith(POLICY) for each in command.changes)


def _decide_one(waiting: Waiting, view: View, at: Instant) -> Decided:
    submission = waiting.submission
    try:
        verdict = submission.decide(view, at)
    except ModelError as error:
        verdict = Refused(code=error.code, message=error.message, facts=error.facts)
    if isinstance(verdict, Refused) or not verdict.changes:
        return Decided(waiting, verdict, None)
    try:
        return Decided(waiting, verdict, _command_of(submission, verdict, at))
    except BaseException:
        if verdict.applied is not None:
            verdict.applied.undo()
        raise


def _command_of(submission: Submission, verdict: Accepted, at: Instant) -> Command:
    return Command(
        action=submission.action,
        actor=submission.actor,
        at=at,
        changes=verdict.changes,
        request_id=submission.request_id,
        fingerprint=submission.fingerprint,
        result=canonical(verdict.result) if submission.request_id is not None else None,
        reason=submission.reason,
    )
