"""Approvals over one decision point: ask for one, agree, take back, look at.

approvals = Approvals(point)
outcome = await approvals.ask(terms, Agreeing(approver="human:editor", under="APPROVE"), caller)
outcome.result["complete"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_service.approval.presented import NOUN
from remit_service.approval.vote import Bench, agree, ask, withdraw
from remit_service.decision.verdict import new_id
from remit_service.governance.consequences import consequences_of, with_consequences
from remit_service.writer.command import Submission

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.approval.record import Terms
    from remit_service.approval.vote import Agreeing
    from remit_service.coordinator.judge import Decided
    from remit_service.coordinator.reply import Key
    from remit_service.point import DecisionPoint
    from remit_service.writer.command import Done, Verdict

ACTION: Final = "APPROVE"


class Approvals:
    """Takes what changes approvals, and shows them."""

    def __init__(self, point: DecisionPoint) -> None:
        """Stand beside a decision point."""
        self._point = point

    async def ask(
        self, terms: Terms, agreeing: Agreeing | None, *, asked_through: str, actor: str, key: Key | None = None,
        reason: str | None = None,
    ) -> Done:  # fmt: skip
        """Ask for an approval, and give one's own vote unless `agreeing` is None.

        Raises:
            LedgerError: nothing was appended, or (`OutcomeUnknown`) send it again with the same key.
        """
        approval_id = new_id("apr")
        return await self._submit(
            lambda bench: ask(bench, approval_id, asked_through, terms, agreeing), actor, key=key, reason=reason
        )

    async def agree(self, approval_id: str, agreeing: Agreeing, *, key: Key | None = None) -> Done:
        """Agree to an approval that was asked for.

        Raises:
            LedgerError: as in `ask`.
        """
        return await self._submit(lambda bench: agree(bench, approval_id, agreeing), agreeing.approver, key=key)

    async def withdraw(self, approval_id: str, principal: str, *, key: Key | None = None) -> Done:
        """Take an approval back.

        Raises:
            LedgerError: as in `ask`.
        """
        return await self._submit(lambda bench: withdraw(bench, approval_id, principal), principal, key=key)

    async def _submit(
        self, work: Callable[[Bench], Verdict], actor: str, *, key: Key | None, reason: str | None = None
    ) -> Done:
        decided: list[Decided] = []

        def decide(view: View, at: Instant) -> Verdict:
            decided.clear()
            verdict = work(Bench(self._point.policy, view, at, decided))
            # What was begun with an approval that is taken back ends with it.
            return with_consequences(verdict, view, at, consequences_of(self._point.policy))

        done = await self._point.submit(
            Submission(
                action=ACTION,
                actor=actor,
                decide=decide,
                request_id=key.request_id if key is not None else None,
                fingerprint=key.fingerprint if key is not None else None,
                reason=reason,
            )
        )
        for each in decided:
            await self._point.recorder.record(each.decision, each.evaluation, each.caller, {"path": ACTION})
        return done

    def find(self, approval_id: str) -> Mapping[str, Any] | None:
        """Return an approval, open or ended."""
        view = self._point.view
        found: Mapping[str, Any] | None = view.records.get(NOUN, {}).get(approval_id)
        if found is None:
            ended = view.coordination.spent.get(approval_id)
            found = ended if ended is not None and "approval_id" in ended else None
        return found

    def open(self, *, requester: str | None = None, resource: str | None = None) -> list[Mapping[str, Any]]:
        """Return the open approvals, of one requester or on one resource, by id."""
        records: Mapping[str, Any] = self._point.view.records.get(NOUN, {})
        now = self._point.now()
        return [
            each
            for _, each in sorted(records.items())
            if each["expires_at"] > now
            and (requester is None or each["requester"] == requester)
            and (resource is None or resource in each["resource_keys"])
        ]
