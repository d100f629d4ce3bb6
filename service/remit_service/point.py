"""The decision point: one process that answers, records and changes, over one ledger and one policy.

What it owes its callers, and where the parts are:

- one instant and one revision a decision (`decision.decide`), never older than `max_staleness`;
- every decision is recorded before it is given out (`DecisionLog`);
- every change goes through one writer (`writer`);
- a fault is a deny with a reason of its own, here as everywhere: `evaluate` raises for nothing but a request that is
  not well formed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from remit_service.asking import ask, ask_now
from remit_service.coordination import facts
from remit_service.decision.consistency import make_token, parse_consistency
from remit_service.decision.decide import Prepared, decide, decide_now, prepare
from remit_service.decision.verdict import refuse
from remit_service.engines.watch import EngineWatch
from remit_service.keeping.drift import DriftWatch
from remit_service.presenting import facts_of
from remit_service.readiness import readiness_of
from remit_service.recording import Recorder, RecordingFailed
from remit_service.replica.demand import serves_as_it_is, shortfall
from remit_service.replica.history import view_as_of, view_at_revision
from remit_service.replica.replica import Replica
from remit_service.writer.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from remit_graph.errors import LedgerError
    from remit_graph.model.instant import Instant
    from remit_graph.ports import Ledger
    from remit_graph.view.state import View
    from remit_service.clock import Clock
    from remit_service.decision.caller import Caller
    from remit_service.decision.decision import Decision
    from remit_service.decision.request import Evaluation
    from remit_service.policy import Policy
    from remit_service.readiness import Readiness
    from remit_service.writer.command import Done, Submission

NO_COORDINATION: Final = facts.NO_COORDINATION
"""Coordination facts where nothing is held, waited for or edited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What the point holds itself to.

    Attributes:
        max_staleness: A view that was not confirmed for longer denies.
        revision_wait: How long a question waits for the revision it asks for.
        max_clock_skew: A clock further off than this from the ledger's is not ready.
        decision_within: How long one decision may take in all, whatever it waits for.
    """

    max_staleness: timedelta = timedelta(seconds=5)
    revision_wait: timedelta = timedelta(seconds=1)
    max_clock_skew: timedelta = timedelta(seconds=2)
    decision_within: timedelta = timedelta(seconds=5)


class DecisionPoint:
    """Answers questions and takes commands for one realm."""

    def __init__(
        self, *, ledger: Ledger, policy: Policy, clock: Clock, recorder: Recorder, bounds: Bounds | None = None
    ) -> None:
        """Put the parts together; `start` brings them up."""
        self.ledger = ledger
        self.policy = policy
        self.clock = clock
        self.recorder = recorder
        self.bounds = bounds or Bounds()
        self.replica = Replica(ledger, clock, max_staleness=self.bounds.max_staleness)
        self.writer = Writer(ledger, self.replica, clock)
        self.drift = DriftWatch(ledger)
        self.writer.suspect(self.drift.suspect)
        self.engine_watch = EngineWatch(lambda: self.policy.engine)
        self.policy_fault: LedgerError | None = None
        self._bundle_changed = asyncio.Event()
        self._told_of_commands: list[Callable[[Submission, Done, float], None]] = []

    async def start(self) -> None:
        """Load the graph, follow the ledger, look after the engine, take commands.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        await self.replica.start()
        await self.engine_watch.start()
        await self.writer.start()

    async def aclose(self) -> None:
        """Stop taking commands and give the ledger back; engines are closed by whoever made them."""
        await self.drift.aclose()
        await self.writer.aclose()
        await self.engine_watch.aclose()
        await self.replica.aclose()
        await self.ledger.aclose()

    @property
    def view(self) -> View:
        """The graph at the newest revision this process has."""
        return self.replica.view

    def now(self) -> Instant:
        """The instant of whatever is decided now: never before the last change (rules.md 9)."""
        return max(self.clock.now(), self.view.at)

    async def evaluate(
        self, evaluation: Evaluation, caller: Caller, *, labels: Mapping[str, Any] | None = None
    ) -> Decision:
        """Decide, record, answer.

        Raises:
            RequestError: the context asks for a consistency that does not exist.
        """
        started = perf_counter_ns()
        decision = self._decide_at_once(evaluation, caller)
        if decision is None:
            decision = await self._decide_in_time(evaluation, caller)
        decision.timings_us["total"] = (perf_counter_ns() - started) // 1_000
        return await self._recorded(decision, evaluation, caller, labels or {})

    def _decide_at_once(self, evaluation: Evaluation, caller: Caller) -> Decision | None:
        """Decide where nothing is waited for, which is the usual case; None where something may have to be."""
        if self.policy.engine is not self.policy.embedded or self.policy_fault is not None:
            return None
        consistency = parse_consistency(evaluation.context.get("consistency"))
        if self._is_strict(evaluation, any_action=False) or not serves_as_it_is(
            self.replica, consistency, max_staleness=self.bounds.max_staleness
        ):
            return None
        return self.judge_now(evaluation, caller, view=self.view, at=self.now())

    async def _decide_in_time(self, evaluation: Evaluation, caller: Caller) -> Decision:
        within = self.bounds.decision_within.total_seconds()
        deadline = asyncio.timeout(within)
        try:
            async with deadline:
                decision = await self.deny_if_stale(evaluation)
                if decision is None:
                    decision = await self._decide(evaluation, caller)
        except TimeoutError:
            if not deadline.expired():
                raise
            decision = self._deny("deadline_exceeded", {"deadline_ms": round(within * 1000)})
        return decision

    async def explain(
        self,
        evaluation: Evaluation,
        caller: Caller,
        *,
        at_revision: int | None = None,
        as_of: Instant | None = None,
        labels: Mapping[str, Any] | None = None,
    ) -> Decision:
        """Decide and explain, now or as it was; the answer is for reading and never for enforcement.

        Raises:
            LedgerError: the history cannot be read.
            RequestError: the revision or the instant lies ahead, or before the first command.
        """
        asked = replace(evaluation, context={**evaluation.context, "explain": True, "consistency": None})
        view, at = self.view, self.now()
        if at_revision is not None:
            view = await view_at_revision(self.ledger, view, at_revision)
            at = as_of or view.at
        elif as_of is not None:
            view, at = await view_as_of(self.ledger, view, as_of, at), as_of
        decision = await self._decide(asked, caller, view=view, at=at)
        return await self._recorded(decision, evaluation, caller, {**(labels or {}), "kind": "explain"})

    def judge_now(self, evaluation: Evaluation, caller: Caller, *, view: View, at: Instant) -> Decision:
        """Decide in this process, whatever engine answers decisions; no record: one of many that make up an answer."""
        return self.judge(self.prepare_now(evaluation, caller, view=view, at=at))

    def prepare_now(self, evaluation: Evaluation, caller: Caller, *, view: View, at: Instant) -> Prepared:
        """Collect the facts of a question as they are in `view`."""
        collect = partial(facts_of, tables=self.policy.tables)
        return prepare(evaluation, caller, view, at, rules=self.policy, coordination=collect)

    def judge(self, prepared: Prepared) -> Decision:
        """Decide what was prepared in this process, whatever engine answers decisions; no record."""
        return decide_now(prepared, partial(ask_now, self.policy), rules=self.policy)

    async def _decide(
        self, evaluation: Evaluation, caller: Caller, *, view: View | None = None, at: Instant | None = None
    ) -> Decision:
        policy = self.policy
        prepared = self.prepare_now(evaluation, caller, view=view or self.view, at=at or self.now())
        if policy.engine is policy.embedded:
            return self.judge(prepared)
        return await decide(prepared, partial(ask, policy), rules=policy)

    async def _recorded(
        self, decision: Decision, evaluation: Evaluation, caller: Caller, labels: Mapping[str, Any]
    ) -> Decision:
        try:
            await self.recorder.record(decision, evaluation, caller, labels)
        except RecordingFailed as error:
            return self._deny("decision_log_unavailable", {"problem": str(error)})
        return decision

    def _deny(self, code: str, facts: Mapping[str, Any]) -> Decision:
        return refuse(code, facts, question=None, view=self.view, at=self.now(), table=self.policy.reasons)

    async def deny_if_stale(self, evaluation: Evaluation, *, fully: bool = False) -> Decision | None:
        """Bring the view to the freshness that is asked for; the deny where it cannot be had.

        Args:
            evaluation: What is asked.
            fully: Whether whatever is declared strict may be part of the answer.

        Raises:
            RequestError: the context asks for a consistency that does not exist.
        """
        if self.policy_fault is not None:
            return self._mismatch()
        missing = await shortfall(
            self.replica,
            parse_consistency(evaluation.context.get("consistency")),
            newest=self._is_strict(evaluation, any_action=fully),
            max_staleness=self.bounds.max_staleness,
            wait=self.bounds.revision_wait,
        )
        if missing is not None:
            return self._deny(missing.code, missing.facts)
        # What was waited for may have brought another policy.
        return self._mismatch()

    def _is_strict(self, evaluation: Evaluation, *, any_action: bool) -> bool:
        action = self.view.actions.get(evaluation.action)
        strict: list[str] = self.policy.data["remit"]["config"].get("strict") or []
        if any_action:
            return bool(strict)
        return action is not None and (action.class_ in strict or action.name in strict)

    def _mismatch(self) -> Decision | None:
        if self.policy_fault is None:
            return None
        return self._deny("policy_mismatch", {"found": self.policy_revision, "expected": self.view.policy_revision})

    async def submit(self, submission: Submission) -> Done:
        """Decide and append a command.

        Raises:
            PolicyNotTaken: the policy in force cannot be evaluated here, and commands are decided by it too.
            LedgerError: nothing was appended, or (`OutcomeUnknown`) send it again with the same Idempotency-Key.
        """
        if self.policy_fault is not None:
            raise self.policy_fault
        started = perf_counter_ns()
        done = await self.writer.submit(submission)
        for told in self._told_of_commands:
            told(submission, done, (perf_counter_ns() - started) / 1e9)
        return done

    def follow_commands(self, told: Callable[[Submission, Done, float], None]) -> None:
        """Call `told` with every command of this process, what came of it, and how many seconds that took."""
        self._told_of_commands.append(told)

    def revision_token(self, revision: int | None = None) -> str:
        """Return the token of a revision, by default of the newest this process has."""
        head = self.replica.head
        return "" if head is None else make_token(head, self.view.revision if revision is None else revision)

    @property
    def policy_revision(self) -> str:
        """Digest of the bundle in force."""
        return self.policy.revision

    def bundle_archive(self) -> tuple[str, bytes]:
        """Return entity tag and bytes of the bundle as OPA fetches it."""
        return self.policy.archive.etag, self.policy.archive.body

    async def wait_for_bundle(self, etag: str, within: timedelta) -> bool:
        """Wait until the bundle in force has another tag; False when `within` is over first."""
        if self.policy.archive.etag != etag:
            return True
        try:
            await asyncio.wait_for(self._bundle_changed.wait(), within.total_seconds())
        except TimeoutError:
            return False
        return True

    def activate(self, policy: Policy) -> None:
        """Put another policy in force, at once and as a whole."""
        self.policy = policy
        self.policy_fault = None
        self._bundle_changed.set()
        self._bundle_changed = asyncio.Event()

    def readiness(self) -> Readiness:
        """Say whether this process should be asked, and if not, why."""
        return readiness_of(
            self.replica,
            max_staleness=self.bounds.max_staleness,
            max_clock_skew=self.bounds.max_clock_skew,
            engine_failure=self.engine_watch.failure,
            policy_fault=self.policy_fault,
            policy_revision=self.policy_revision,
            drift=self.drift,
        )
