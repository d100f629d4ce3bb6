"""Deciding a batch: each command on the view with what those before it would change, and all of it taken back.

Nothing is awaited here, so no read sees a change before its append has succeeded, and nothing is locked (rules.md 11).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from remit_graph.errors import ModelError
from remit_graph.model.change import Command, canonical
from remit_graph.view.apply import apply_changes
from remit_graph.view.journal import Journal
from remit_service.writer.command import Accepted, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from remit_graph.model.instant import Instant
    from remit_graph.view.beside import Beside
    from remit_graph.view.state import View
    from remit_service.writer.command import Waiting

_log = structlog.get_logger(__name__)

DECIDE_SECONDS: Final = 0.015
"""Longest time one batch may be decided: reads wait meanwhile (rules.md 11)."""

MUCH_ENDED: Final = 2_000
"""Edges that end in one command without being tried before: each costs about 15 us, and as much to take back."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A command that was decided: what its caller is told, and what is appended, or None where nothing is."""

    waiting: Waiting
    verdict: Accepted | Refused
    command: Command | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What came of deciding.

    Attributes:
        decided: In the order in which they are appended.
        rest: What there was no time for; it is decided on the state after this batch.
    """

    decided: Sequence[Decided]
    rest: Sequence[Waiting]

    @property
    def commands(self) -> list[Command]:
        """What is appended."""
        return [each.command for each in self.decided if each.command is not None]

    @property
    def made(self) -> Beside | None:
        """What the first command was made ready as: it was decided on the view as it stood before the batch."""
        first = next((each.verdict for each in self.decided if each.command is not None), None)
        return first.made if isinstance(first, Accepted) else None


def decide_batch(pending: Sequence[Waiting], view: View, at: Instant, monotonic: Callable[[], float]) -> Batch:
    """Decide on the view for at most 15 ms, renewals first: whoever holds something must not lose it to a queue.

    A command whose decision is a fault is told so and the others are left to be decided again without it.
    """
    ordered = sorted(pending, key=lambda each: not each.submission.is_renewal)
    journal = Journal()
    started = monotonic()
    decided: list[Decided] = []
    revision = view.revision
    try:
        for index, waiting in enumerate(ordered):
            if decided and monotonic() - started > DECIDE_SECONDS:
                return Batch(decided=decided, rest=ordered[index:])
            is_last = index + 1 == len(ordered)
            try:
                each = _decide_one(waiting, view, at)
                if each.command is not None and not (is_last and _ends_much(each.command)):
                    apply_changes(view, each.command.changes, journal, revision=revision + 1, at=at)
                    journal.put(view.scalars, "revision", revision + 1)
            except Exception as error:  # noqa: BLE001 - whatever it is, it must not end the writer
                _log.exception("a command could not be decided", action=waiting.submission.action)
                waiting.fail(error)
                return Batch(decided=[], rest=[other for other in ordered if other is not waiting])
            revision += each.command is not None
            decided.append(each)
    finally:
        journal.undo()
    return Batch(decided=decided, rest=[])


def _ends_much(command: Command) -> bool:
    """Whether trying a command would hold up reads for long; with none after it in its batch, nobody needs the trial.

    All other commands are tried, so that what the view could not take is not appended either.
    """
    return sum(len(each.body["edges"]) for each in command.changes if each.kind == "edges.end") > MUCH_ENDED


def _decide_one(waiting: Waiting, view: View, at: Instant) -> Decided:
    submission = waiting.submission
    try:
        verdict = submission.decide(view, at)
    except ModelError as error:
        verdict = Refused(code=error.code, message=error.message, facts=error.facts)
    if isinstance(verdict, Refused) or not verdict.changes:
        return Decided(waiting, verdict, None)
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
    return Decided(waiting, verdict, command)
