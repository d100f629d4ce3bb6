"""The coordinator: every command of coordination as a method, over one decision point.

    coordinator = Coordinator(point)
    await coordinator.start()
    reply = await coordinator.begin([evaluation], caller, purpose="SEO_UPDATE")
    lease = reply.body["lease"]

What it adds to the machine: ids, the policy's verdicts, sentences, the record of decisions, rates, waiting clients and
the sweep. Every command is decided inside the writer, on the newest state, and appended or refused; nothing is kept
here that another process would need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from remit_graph.view.journal import Journal
from remit_service.coordination import command as commands
from remit_service.coordination.values import Refusal
from remit_service.coordination.work import refuse
from remit_service.coordinator.judge import walked
from remit_service.coordinator.rates import Rates
from remit_service.coordinator.reply import Key, Reply, refused, refused_reply
from remit_service.coordinator.sweeper import Sweeper
from remit_service.coordinator.waiting import Waiting
from remit_service.decision.resolve import may_name, subject_of
from remit_service.recording import RecordingFailed
from remit_service.writer.command import Accepted, Submission, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordination.tables import Tables
    from remit_service.coordinator.judge import Decided
    from remit_service.decision.caller import Caller
    from remit_service.decision.request import Evaluation
    from remit_service.point import DecisionPoint

_RECORDED: Final = frozenset({"begin", "renew"})
"""Phases whose decisions give control to somebody; `rest` and `probe` are looks at what is."""

SYSTEM: Final = "system"
"""Actor of what the process itself does."""


class Coordinator:
    """Commands of coordination for one decision point."""

    def __init__(self, point: DecisionPoint, *, rates: bool = True) -> None:
        """Stand beside a decision point; `start` begins to sweep and to keep waiting clients alive."""
        self.point = point
        self.waiting = Waiting(self)
        self.sweeper = Sweeper(self)
        self.rates = Rates(point.clock) if rates else None

    @property
    def tables(self) -> Tables:
        """Policy data of the bundle in force."""
        return self.point.policy.tables

    @property
    def view(self) -> View:
        """The state at the newest revision this process has."""
        return self.point.view

    async def start(self) -> None:
        """End what was held before a restore, then sweep and follow.

        Raises:
            LedgerError: nothing was appended.
        """
        head = self.point.replica.head
        if head is not None and head.incarnation > self.view.incarnation:
            await self.run(commands.BeginIncarnation(incarnation=head.incarnation), actor=SYSTEM, action="RESTORE")
        self.waiting.start()
        self.sweeper.start()

    async def aclose(self) -> None:
        """Stop sweeping and following."""
        await self.sweeper.aclose()
        await self.waiting.aclose()

    async def run(
        self,
        command: commands.Command,
        *,
        actor: str,
        action: str,
        key: Key | None = None,
        reason: str | None = None,
    ) -> Reply:
        """Carry a command out.

        Args:
            command: What is to be done.
            actor: In whose name.
            action: What the ledger calls it.
            key: For repeats.
            reason: Free text of the actor.

        Raises:
            LedgerError: nothing was appended, or (`OutcomeUnknown`) send it again with the same key.
        """
        decisions: list[Decided] = []
        submission = Submission(
            action=action,
            actor=actor,
            decide=self._decider(command, decisions),
            request_id=key.request_id if key is not None else None,
            fingerprint=key.fingerprint if key is not None else None,
            reason=reason,
        )
        done = await self.point.submit(submission)
        unrecorded = None if done.replayed else await self._record(decisions, action)
        if unrecorded is not None:
            return unrecorded
        if isinstance(done.verdict, Accepted):
            return Reply(body=done.verdict.result, revision=done.revision, replayed=done.replayed)
        facts = dict(done.verdict.facts)
        retry_at = facts.pop("retry_at", None)
        return Reply(
            body={"code": done.verdict.code, **facts},
            revision=done.revision,
            code=done.verdict.code,
            message=done.verdict.message,
            outcome=facts.get("outcome", "deny"),
            retry_at=retry_at,
            replayed=done.replayed,
        )

    async def _record(self, decisions: Sequence[Decided], action: str) -> Reply | None:
        """Record the decisions that control rests on, before it is given out; the refusal where that cannot be done."""
        for each in decisions:
            if each.phase in _RECORDED:
                try:
                    await self.point.recorder.record(each.decision, each.evaluation, each.caller, {"path": action})
                except RecordingFailed as error:
                    refusal = refuse("decision_log_unavailable", problem=str(error))
                    return refused_reply(refusal, self.point.policy.reasons, self.view.revision)
        return None

    def _decider(self, command: commands.Command, decisions: list[Decided]) -> Callable[[View, Instant], Verdict]:
        """Return how the writer decides a command: the machine, asking the policy whenever it needs to."""

        def decide(view: View, at: Instant) -> Verdict:
            policy = self.point.policy
            applied = Journal()
            outcome, decisions[:] = walked(policy, view, at, command, keep=applied)
            if isinstance(outcome, Refusal):
                return refused(outcome, policy.reasons)
            return Accepted(changes=outcome.changes, result=outcome.result, applied=applied)

        return decide

    async def acquire(
        self, evaluations: Sequence[Evaluation], caller: Caller, action: str, key: Key | None, **options: Any
    ) -> Reply:
        """Ask for leases in the name of the subject of the evaluations; the faces say with which options."""
        stopped = self.over_rate(self._charged(evaluations, caller), caller.name)
        if stopped is not None:
            return stopped
        command = acquiring(evaluations, caller, **options)
        return await self.run(command, actor=_subject(evaluations), action=action, key=key)

    def _charged(self, evaluations: Sequence[Evaluation], caller: Caller) -> str:
        """Return whose rate a request is charged to: the subject's once the caller may name it, else the caller's own.

        Whoever may not speak for somebody cannot use up what that one may send; the decision refuses it as ever.
        """
        subject = subject_of(evaluations[0].subject, self.view) if evaluations else None
        return subject.id if subject is not None and may_name(caller, subject) else caller.name

    def over_rate(self, principal: str, point: str) -> Reply | None:
        """Refuse a command of whoever sends too many a second (rules.md 14)."""
        over = None if self.rates is None else self.rates.over(principal, point, self.tables.limits)
        return None if over is None else refused_reply(over, self.point.policy.reasons, self.view.revision)


def _subject(evaluations: Sequence[Evaluation]) -> str:
    """The subject as it was named; whether the caller speaks for it is decided with the request."""
    return f"{evaluations[0].subject.type}:{evaluations[0].subject.id}" if evaluations else SYSTEM


def acquiring(evaluations: Sequence[Evaluation], caller: Caller, **options: Any) -> commands.Acquire:
    """Return the command that asks for leases, with ids of its own; `options` are members of `Acquire`."""
    name = uuid4().hex
    return commands.Acquire(
        requests=tuple(evaluations),
        caller=caller,
        point=caller.name,
        coordination_id=f"coord_{name}",
        lease_ids=tuple(f"lease_{name}_{place}" if place else f"lease_{name}" for place in range(len(evaluations))),
        waiter_id=f"wait_{name}",
        **options,
    )
