"""The governor: every governance command as one call, over one decision point.

    governor = Governor(point)
    outcome = await governor.carry_out("delegate", body, Order(actor="role:seo-agent"))
    outcome.body["under"]

Steps of a command:
    (1) Read its body; what is malformed never reaches the writer.
    (2) Find a large subtree in slices.
    (3) Decide it in the writer, on the newest state, with all that it brings about; or, for a dry run, on the view.
    (4) Record what the policy was asked and answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from remit_service.decision.caller import Caller
from remit_service.governance import emergency
from remit_service.governance.becoming import Decided
from remit_service.governance.consequences import concluded
from remit_service.governance.ending import Target, revoke
from remit_service.governance.impact import Impact
from remit_service.governance.law import Actor
from remit_service.governance.review import review
from remit_service.governance.spec import optional, trial
from remit_service.governance.structure import Structure
from remit_service.governance.subtree import Found, Subtrees
from remit_service.governance.verbs import VERBS, Asked, Place
from remit_service.writer.command import Accepted, Done, Refused, Submission, Verdict

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordinator.reply import Key
    from remit_service.evidence.decision_log.ports import DecisionLog
    from remit_service.point import DecisionPoint

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """In whose name a command is given, and how a repeat of it is known.

    Attributes:
        actor: The principal, already proven.
        caller: Who hands the command in, for the record.
        id: The id in the path, of commands about something there is.
        version: Of `If-Match`, or None.
        key: What makes a repeat mean the same, or None.
        labels: What belongs to the call, for the record.
    """

    actor: str
    caller: Caller = field(default_factory=lambda: Caller(point=None, identity="system", trusts_all=True))
    id: str = ""
    version: int | None = None
    key: Key | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a command.

    Attributes:
        body: The answer; of a refusal, what it names.
        revision: At which it is visible, or at which it was refused.
        refused: Why nothing was done, or None.
        replayed: Whether this is the stored answer of an earlier call.
        dry_run: Whether nothing was to be done.
    """

    body: Mapping[str, Any]
    revision: int
    refused: Refused | None = None
    replayed: bool = False
    dry_run: bool = False


class Governor:
    """Governance for one decision point."""

    def __init__(self, point: DecisionPoint, log: DecisionLog | None = None) -> None:
        """Stand beside a decision point; with its decision log, dry runs know what was decided lately."""
        self.point = point
        self.log = log
        self.structure = Structure(point)
        self._subtrees = Subtrees(point, self.structure)

    @property
    def impact(self) -> Impact:
        """What looks at recorded decisions."""
        return Impact(self.point, self.log, self.structure)

    async def carry_out(self, verb: str, body: Body, order: Order) -> Outcome:
        """Carry a command out, or say what it would do.

        Raises:
            RequestError, ModelError: the body is malformed.
            LedgerError: nothing was appended, or (`OutcomeUnknown`) send it again with the same key.
        """
        # (1) Read.
        return await self.carry(
            VERBS[verb](body, Place(actor=order.actor, id=order.id, version=order.version)), body, order
        )

    async def carry(self, asked: Asked, body: Body, order: Order) -> Outcome:
        """Carry a command out that was read already; `body` says why, by which approval, and whether only to try.

        Raises:
            RequestError: what every command may say is malformed.
            LedgerError: nothing was appended, or (`OutcomeUnknown`) send it again with the same key.
        """
        actor = Actor(principal=order.actor, approval_id=optional(body, "approval_id"))
        reason, (dry_run, impact) = optional(body, "reason"), trial(body)
        if dry_run:
            return await self._tried(asked, actor, order, impact=impact)
        # (2) Find what falls, where that is much.
        found = await self._subtrees.find(asked.target)
        decide = self._decider(asked, actor, found)
        # (3) Decide and append.
        submission = Submission(
            action=asked.action.value,
            actor=order.actor,
            decide=decide,
            request_id=order.key.request_id if order.key is not None else None,
            fingerprint=order.key.fingerprint if order.key is not None else None,
            reason=reason,
            is_first=found is not None,
        )
        done = await self.point.submit(submission)
        # (4) Record.
        await self.record(actor, order, asked.action.value)
        return _outcome(done)

    def _decider(self, asked: Asked, actor: Actor, found: Found | None) -> Callable[[View, Instant], Verdict]:
        """Return how the writer decides: the verb, then everything that it brings about, in one revision."""

        def decide(view: View, at: Instant) -> Verdict:
            actor.decisions.clear()
            policy = self.point.policy
            if found is not None and asked.target is not None and self._subtrees.holds(found, view):
                verdict = revoke(policy, view, at, actor, asked.target, found=found.ending)
                return concluded(verdict, view, at, policy)
            return concluded(asked.decide(policy, view, at, actor), view, at, policy)

        return decide

    async def _tried(self, asked: Asked, actor: Actor, order: Order, *, impact: bool) -> Outcome:
        """Do (2), decide on the view, and do (4)."""
        decided, revision = await self._decided(asked, actor)
        await self.record(actor, order, asked.action.value, dry_run=True)
        if isinstance(decided, Refused):
            return Outcome(body=decided.facts, revision=revision, refused=decided, dry_run=True)
        told = {**decided.verdict.result, "dry_run": True}
        if asked.target is not None or impact:
            told["recent_decisions"] = self.impact.rested_on(decided.verdict.changes)
        if impact:

            async def again() -> Decided | Refused:
                return (await self._decided(asked, actor))[0]

            told["impact"] = await self.impact.of(decided, again)
        return Outcome(body=told, revision=revision, dry_run=True)

    async def _decided(self, asked: Asked, actor: Actor) -> tuple[Decided | Refused, int]:
        """Decide on the view, and return what comes of it and the revision of that."""
        found = await self._subtrees.find(asked.target)
        view = self.point.view
        verdict = self._decider(asked, actor, found)(view, self.point.now())
        return verdict if isinstance(verdict, Refused) else Decided.on(view, verdict), view.revision

    async def record(self, actor: Actor, order: Order, command: str, *, dry_run: bool = False) -> None:
        """Record what the policy was asked in the name of `actor` and answered."""
        labels = {**order.labels, "kind": "governance", "command": command}
        if dry_run:
            labels["dry_run"] = True
        for evaluation, decision in actor.decisions:
            await self.point.recorder.record(decision, evaluation, order.caller, labels)

    def review(self, within_days: int) -> dict[str, Any]:
        """Return what somebody should look at; without a decision log nothing is known of use."""
        used = None if self.log is None else self.impact.used()
        return review(self.point.view, self.point.now(), self.point.policy.duties, used=used, within_days=within_days)

    def glass_report(self, glass_id: str) -> dict[str, Any] | None:
        """Return what was done under a break-glass grant, or None where there is none."""
        record = self.point.view.records.get(emergency.NOUN, {}).get(glass_id)
        if record is None:
            return None
        receipts = self.point.view.coordination.kept_records["receipt"].pairs()
        used = [each for _, each in receipts if glass_id in each.get("authority_origin", ())]
        names = ("receipt_id", "principal", "action", "resource_key", "status", "final_version")
        return {
            "break_glass": emergency.shown(record),
            "decisions": self.impact.resting_on({glass_id}),
            "receipts": [{name: each[name] for name in names if each.get(name) is not None} for each in used],
        }


def _outcome(done: Done) -> Outcome:
    if isinstance(done.verdict, Accepted):
        return Outcome(body=done.verdict.result, revision=done.revision, replayed=done.replayed)
    return Outcome(body=done.verdict.facts, revision=done.revision, refused=done.verdict, replayed=done.replayed)


__all__ = ["Governor", "Order", "Outcome", "Target"]
