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

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.change import canonical
from remit_service.coordination import command as commands
from remit_service.coordination.machine import Walk
from remit_service.coordination.resting import Consequences, end_what_rests_on
from remit_service.coordination.values import Ask, Refusal
from remit_service.coordinator.judge import judge
from remit_service.coordinator.rates import Rates
from remit_service.coordinator.reply import Reply, refused
from remit_service.coordinator.sweeper import Sweeper
from remit_service.coordinator.waiting import Waiting
from remit_service.decision.verdict import new_id
from remit_service.writer.command import Accepted, Refused, Submission, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from remit_graph.model.change import Change
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordination.tables import Tables
    from remit_service.decision.caller import Caller
    from remit_service.decision.decision import Decision
    from remit_service.decision.request import Evaluation
    from remit_service.point import DecisionPoint

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
        request_id: str | None = None,
        fingerprint: str | None = None,
        reason: str | None = None,
        evaluations: Sequence[Evaluation] = (),
        caller: Caller | None = None,
    ) -> Reply:
        """Carry a command out.

        Args:
            command: What is to be done.
            actor: In whose name.
            action: What the ledger calls it.
            request_id: Digest of (caller, Idempotency-Key), or None.
            fingerprint: Digest of the body.
            reason: Free text of the actor.
            evaluations: The questions that are recorded as decisions of their own, in the order of the requests.
            caller: Who asked them.

        Raises:
            LedgerError: nothing was appended, or (`OutcomeUnknown`) send it again with the same request id.
        """
        decisions: list[Decision] = []
        submission = Submission(
            action=action,
            actor=actor,
            decide=self._decider(command, decisions),
            request_id=request_id,
            fingerprint=fingerprint,
            reason=reason,
        )
        done = await self.point.submit(submission)
        if caller is not None:
            for evaluation, decision in zip(evaluations, decisions, strict=False):
                await self.point.recorder.record(decision, evaluation, caller, {"path": action})
        if isinstance(done.verdict, Accepted):
            if done.verdict.result.get("unfinished"):
                self.sweeper.wake()
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

    def _decider(self, command: commands.Command, decisions: list[Decision]) -> Callable[[View, Instant], Verdict]:
        """Return how the writer decides a command: the machine, asking the policy whenever it needs to."""

        def decide(view: View, at: Instant) -> Verdict:
            decisions.clear()
            policy = self.point.policy
            with Walk(view, policy.tables, at) as walk:
                outcome = walk.start(command)
                while isinstance(outcome, Ask):
                    verdict, decision = judge(policy, view, at, outcome)
                    decisions.append(decision)
                    outcome = walk.send(verdict)
            if isinstance(outcome, Refusal):
                return refused(outcome, policy.reasons)
            return Accepted(changes=outcome.changes, result=outcome.result)

        return decide

    def end_what_rests_on(self, view: View, changes: Sequence[Change], at: Instant) -> Consequences:
        """Decide again what rests on what a governance command ends; for use inside its `decide` (rules.md 9)."""
        policy = self.point.policy
        return end_what_rests_on(
            view, changes, at, tables=policy.tables, ask=lambda state, ask: judge(policy, state, at, ask)[0]
        )

    def over_rate(self, principal: str, point: str) -> Reply | None:
        """Refuse a command of whoever sends too many a second (rules.md 14)."""
        limits = self.tables.limits
        if self.rates is None:
            return None
        over = self.rates.over(principal, point, limits)
        if over is None:
            return None
        table = self.point.policy.reasons
        found: Refused = refused(over, table)
        return Reply(
            body={"code": found.code, **found.facts},
            revision=self.view.revision,
            code=found.code,
            message=found.message,
            outcome="deny",
            retry_at=over.retry_at,
        )


def acquiring(
    evaluations: Sequence[Evaluation],
    caller: Caller,
    **options: Any,
) -> commands.Acquire:
    """Return the command that asks for leases, with ids of its own; `options` are members of `Acquire`."""
    return commands.Acquire(
        requests=tuple(each.record() for each in evaluations),
        caller=caller,
        point=caller.name,
        coordination_id=new_id("coord"),
        lease_ids=tuple(new_id("lease") for _ in evaluations),
        waiter_id=new_id("wait"),
        **options,
    )


def in_ledger_form(value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return a caller's evidence if the ledger can hold it.

    Raises:
        ModelError: it holds a fraction, or what JSON has no form for.
    """
    if value is not None:
        canonical(value)
    return value


__all__ = ["Coordinator", "ModelError", "acquiring", "in_ledger_form", "replace"]
