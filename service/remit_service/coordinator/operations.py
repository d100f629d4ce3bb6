"""The write protocol, call by call (coordination.md 7).

begun = await operations.begin([evaluation], caller, purpose="SEO_UPDATE")
await operations.precondition(begun.body["coordination_id"], caller, current_version="rev_331")
await operations.executed(..., result="applied"); await operations.verified(..., passed=True)
receipt = (await operations.complete(..., final_version="rev_332")).body["receipt"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.coordination import command as commands
from remit_service.coordinator.plain import in_ledger_form
from remit_service.coordinator.proven import Proven
from remit_service.coordinator.reply import Key, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_service.decision.caller import Caller
    from remit_service.decision.request import Evaluation


class Operations(Proven):
    """Operations of one coordinator."""

    async def begin(
        self, evaluations: Sequence[Evaluation], caller: Caller, *, key: Key | None = None, **options: Any
    ) -> Reply:
        """Begin an operation on one resource or several: steps 1 to 5.

        Args:
            evaluations: One for each resource, by one subject.
            caller: Who asks.
            key: For repeats.
            options: Members of `command.Acquire`: `purpose`, `ttl_us`, `wait_us`, `keep_alive_us`, `mode`, `preempt`,
                `leaseless`, `work_set_id`.
        """
        return await self._coordinator.acquire(evaluations, caller, "BEGIN_OPERATION", key, protocol=True, **options)

    async def precondition(
        self,
        coordination_id: str,
        caller: Caller,
        *,
        current_version: str,
        resource_key: str | None = None,
        subject: str | None = None,
    ) -> Reply:
        """Note the version that was read, and check it: steps 6 and 7. Refusals: `stale_resource_version`."""
        principal = self._holder(caller, "operation", coordination_id, subject)
        if isinstance(principal, Reply):
            return principal
        command = commands.Precondition(
            coordination_id=coordination_id,
            principal=principal,
            current_version=current_version,
            resource_key=resource_key,
        )
        return await self._coordinator.run(command, actor=principal, action="CHECK_PRECONDITION")

    async def renew(
        self,
        coordination_id: str,
        caller: Caller,
        *,
        token: int,
        ttl_us: int | None = None,
        progress: str | None = None,
        subject: str | None = None,
    ) -> Reply:
        """Keep all leases of an operation. Refusals: as for a lease."""
        principal = self._holder(caller, "operation", coordination_id, subject)
        if isinstance(principal, Reply):
            return principal
        command = commands.Renew(
            coordination_id=coordination_id, holder=principal, token=token, ttl_us=ttl_us, progress=progress
        )
        return await self._coordinator.run(command, actor=principal, action="RENEW")

    async def executed(
        self,
        coordination_id: str,
        caller: Caller,
        *,
        token: int,
        result: str,
        evidence: Mapping[str, Any] | None = None,
        subject: str | None = None,
    ) -> Reply:
        """Say what the call came to: step 8. Refusals: `version_required`, `stale_fencing_token`, a lost lease."""
        principal = self._holder(caller, "operation", coordination_id, subject)
        if isinstance(principal, Reply):
            return principal
        command = commands.Executed(
            coordination_id=coordination_id,
            principal=principal,
            token=token,
            result=result,
            evidence=in_ledger_form(evidence),
        )
        return await self._coordinator.run(command, actor=principal, action="RECORD_EXECUTION")

    async def verified(
        self,
        coordination_id: str,
        caller: Caller,
        *,
        token: int,
        passed: bool,
        checks: Sequence[Mapping[str, Any]] = (),
        subject: str | None = None,
    ) -> Reply:
        """Say whether the resource is in the desired state: step 9."""
        principal = self._holder(caller, "operation", coordination_id, subject)
        if isinstance(principal, Reply):
            return principal
        command = commands.Verified(
            coordination_id=coordination_id,
            principal=principal,
            token=token,
            passed=passed,
            checks=tuple(in_ledger_form(each) for each in checks),
        )
        return await self._coordinator.run(command, actor=principal, action="RECORD_VERIFICATION")

    async def complete(
        self,
        coordination_id: str,
        caller: Caller,
        *,
        token: int,
        final_version: str | None = None,
        final_versions: Mapping[str, str] | None = None,
        subject: str | None = None,
        key: Key | None = None,
    ) -> Reply:
        """Write the receipt and release: steps 10 and 11 in one. Refusals: `not_verified`, `version_required`."""
        principal = self._holder(caller, "operation", coordination_id, subject)
        if isinstance(principal, Reply):
            return principal
        command = commands.Complete(
            coordination_id=coordination_id,
            principal=principal,
            token=token,
            final_version=final_version,
            final_versions=final_versions or {},
        )
        return await self._coordinator.run(command, actor=principal, action="COMPLETE_OPERATION", key=key)

    async def abort(self, coordination_id: str, caller: Caller, *, reason: str, subject: str | None = None) -> Reply:
        """Give an operation up, with its receipt; a second time changes nothing."""
        principal = self._holder(caller, "operation", coordination_id, subject)
        if isinstance(principal, Reply):
            return principal
        command = commands.Abort(coordination_id=coordination_id, principal=principal, reason=reason)
        return await self._coordinator.run(command, actor=principal, action="ABORT_OPERATION", reason=reason)

    async def follow_up(
        self, receipt: Mapping[str, Any], caller: Caller, *, actor: str, finding: Mapping[str, Any]
    ) -> Reply:
        """Add a finding on the outcome to a receipt, however long after; no lease is held for it."""
        stopped = self._stopped(caller, actor)
        if stopped is not None:
            return stopped
        command = commands.FollowUp(receipt=receipt, actor=actor, finding=in_ledger_form(finding))
        return await self._coordinator.run(command, actor=actor, action="RECORD_OUTCOME")

    def show(self, coordination_id: str) -> Mapping[str, Any] | None:
        """Return an operation with its steps so far, also one that has ended lately."""
        view = self._coordinator.view
        found: Mapping[str, Any] | None = view.records.get("operation", {}).get(coordination_id)
        return found or view.coordination.closed.get(coordination_id)

    async def receipt(self, receipt_id: str) -> Mapping[str, Any] | None:
        """Return a coordination receipt by its coordination id, or an execution receipt, however old it is.

        Raises:
            LedgerError: it is not at hand, and the ledger cannot be read.
        """
        point = self._coordinator.point
        at_hand: Mapping[str, Any] | None = point.view.records["receipt"].get(receipt_id)
        if at_hand is not None:
            return at_hand
        entry = await point.ledger.receipt(receipt_id)
        changes = () if entry is None else entry.changes
        found = [each.body for each in changes if each.kind == "receipt.put" and each.body["id"] == receipt_id]
        return found[-1] if found else None
