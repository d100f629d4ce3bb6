"""The machine: `step(view, tables, command, verdicts, at)`, pure.

    outcome = step(view, tables, Sweep(), [], at)

It returns the changes and the answer, a refusal, or the next question for the policy together with the changes it is to
be judged on. Whoever drives it puts the question, and calls again with one more verdict; given the same verdicts, the
same comes out. `Walk` is the same without beginning anew for each question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from remit_service.coordination import (
    acquire,
    attendance,
    command,
    incident,
    observe,
    operation,
    presence,
    restore,
    sweep,
    tenure,
    transfer,
    work_set,
)
from remit_service.coordination.values import Answer, Ask, Changed, Question, Refusal, Steps, Verdict
from remit_service.coordination.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordination.tables import Tables

Outcome = Changed | Refusal

_HANDLERS: Final[Mapping[type, Callable[[Work, Any], Steps | Answer | Refusal]]] = {
    command.Acquire: acquire.acquire,
    command.Renew: tenure.renew,
    command.Release: tenure.release,
    command.EndLease: tenure.end_other,
    command.KeepWaiting: attendance.keep,
    command.LeaveQueue: attendance.leave,
    command.Sweep: lambda work, _: sweep.sweep(work),
    command.Precondition: operation.precondition,
    command.Executed: operation.executed,
    command.Verified: operation.verified,
    command.Complete: operation.complete,
    command.Abort: operation.abort,
    command.FollowUp: operation.follow_up,
    command.SignalPresence: presence.signal,
    command.EndPresence: presence.stop,
    command.DeclareIncident: incident.declare,
    command.Observe: observe.observe,
    command.DeclareWorkSet: work_set.declare,
    command.EndWorkSet: work_set.end,
    command.ProposeTransfer: transfer.propose,
    command.StepTransfer: transfer.advance,
    command.BeginIncarnation: restore.begin_incarnation,
}


class Walk:
    """One command on its way. Between `start` and `close` the view holds the changes made so far."""

    def __init__(self, view: View, tables: Tables, at: Instant) -> None:
        """Begin on a view; nothing is changed yet."""
        self.work = Work(view, tables, at)
        self._steps: Steps | None = None

    def __enter__(self) -> Self:
        """Return the walk."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the step's changes back."""
        self.close()

    def start(self, what: command.Command) -> Ask | Outcome:
        """Carry a command out up to its first question."""
        begun = _HANDLERS[type(what)](self.work, what)
        if isinstance(begun, Answer | Refusal):
            return self._ended(begun)
        self._steps = begun
        return self._go_on(next)

    def send(self, verdict: Verdict) -> Ask | Outcome:
        """Give the verdict that was asked for, and go on."""
        return self._go_on(lambda steps: steps.send(verdict))

    def close(self) -> None:
        """Take the step's changes back from the view; they stay listed in what was returned."""
        if self._steps is not None:
            self._steps.close()
        self.work.undo()

    def _go_on(self, how: Callable[[Steps], Ask]) -> Ask | Outcome:
        assert self._steps is not None  # noqa: S101 - INVARIANT: only a command that asked is sent a verdict
        try:
            return how(self._steps)
        except StopIteration as stop:
            return self._ended(stop.value)

    def _ended(self, result: Answer | Refusal) -> Outcome:
        if isinstance(result, Refusal):
            return result
        told = {**result.result, "unfinished": True} if self.work.is_unfinished else result.result
        return Changed(tuple(self.work.changes), told)


def step(
    view: View, tables: Tables, what: command.Command, verdicts: Sequence[Verdict], at: Instant
) -> Changed | Refusal | Question:
    """Carry a command out on `view` with the verdicts there are; the view is as before when this returns.

    Returns:
        The changes and the answer, a refusal, or the question for which a verdict is missing.
    """
    with Walk(view, tables, at) as walk:
        outcome = walk.start(what)
        for verdict in verdicts:
            if not isinstance(outcome, Ask):
                break
            outcome = walk.send(verdict)
        return Question(outcome, tuple(walk.work.changes)) if isinstance(outcome, Ask) else outcome
