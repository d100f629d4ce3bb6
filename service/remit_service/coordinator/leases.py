"""Leases alone, and the queues before them.

What a lease does not promise is that only one process is acting: only the check of the token at the resource does. Each
duration is measured from the instant the command is decided at; `ttl > renew_margin > max_clock_skew`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.coordination import command as commands
from remit_service.coordination.lease import answer_of
from remit_service.coordination.report import granted_to, queue_of
from remit_service.coordination.wait import waiting_answer
from remit_service.coordination.work import Work
from remit_service.coordinator.proven import Proven
from remit_service.coordinator.reply import Key, Reply
from remit_service.decision.request import Entity, Evaluation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_service.decision.caller import Caller


class Leases(Proven):
    """Leases and waiters of one coordinator."""

    async def acquire(
        self, evaluations: Sequence[Evaluation], caller: Caller, *, key: Key | None = None, **options: Any
    ) -> Reply:
        """Take leases: all or none, now or in turn. Options are those of `Operations.begin` but `leaseless`."""
        return await self._coordinator.acquire(evaluations, caller, "ACQUIRE", key, protocol=False, **options)

    async def preempt(
        self, lease_id: str, evaluation: Evaluation, caller: Caller, *, key: Key | None = None, **options: Any
    ) -> Reply:
        """Take over the resource of somebody's lease, for the subject and action of `evaluation`.

        Refusals: `preemption_not_authorized`, `priority_not_higher`, `preemption_cooldown`.
        """
        lease = self._coordinator.view.records.get("lease", {}).get(lease_id)
        if lease is None:
            return self._refused("lease_not_held", subject=caller.name, lease_id=lease_id)
        target = Evaluation(
            subject=evaluation.subject,
            action=evaluation.action,
            action_properties=evaluation.action_properties,
            resource=Entity(type="key", id=lease["resource_key"]),
            context=evaluation.context,
        )
        return await self._coordinator.acquire(
            [target], caller, "PREEMPT", key, protocol=False, preempt=True, **options
        )

    async def renew(
        self,
        lease_id: str,
        caller: Caller,
        *,
        token: int,
        ttl_us: int | None = None,
        progress: str | None = None,
        version: int | None = None,
        subject: str | None = None,
    ) -> Reply:
        """Keep a lease: the same token, a later end.

        Refusals: `lease_not_held`, `stale_fencing_token`, `lease_expired`, `lease_revoked`, `preempted`, `no_progress`,
        `stale_expected_revision` (`version`), and whatever its authority lacks now.
        """
        holder = self._holder(caller, "lease", lease_id, subject)
        if isinstance(holder, Reply):
            return holder
        command = commands.Renew(
            lease_id=lease_id, holder=holder, token=token, ttl_us=ttl_us, progress=progress, version=version
        )
        return await self._coordinator.run(command, actor=holder, action="RENEW")

    async def release(self, lease_id: str, caller: Caller, *, token: int, subject: str | None = None) -> Reply:
        """Give a lease back; a second time, or too late, changes nothing and says how it ended."""
        holder = self._holder(caller, "lease", lease_id, subject)
        if isinstance(holder, Reply):
            return holder
        command = commands.Release(lease_id=lease_id, holder=holder, token=token)
        return await self._coordinator.run(command, actor=holder, action="RELEASE")

    async def end(self, lease_id: str, caller: Caller, *, actor: str, reason: str, key: Key | None = None) -> Reply:
        """End somebody's lease: REVOKED (operator). Refusals: `no_authority` without MAY_REVOKE or a chain."""
        stopped = self._stopped(caller, actor)
        if stopped is not None:
            return stopped
        command = commands.EndLease(lease_id=lease_id, actor=actor, reason=reason)
        return await self._coordinator.run(command, actor=actor, action="END_LEASE", reason=reason, key=key)

    def show(self, lease_id: str) -> Mapping[str, Any] | None:
        """Return a lease, also one that has ended lately: then with `state`, `cause`, `code`, `ended_at`."""
        view = self._coordinator.view
        found: Mapping[str, Any] | None = view.records.get("lease", {}).get(lease_id)
        return found or view.coordination.ended.get(lease_id)

    def held(self, *, holder: str | None = None, under: str | None = None) -> list[dict[str, Any]]:
        """Return the live leases, of a holder or at and below a key, by id."""
        view, at = self._coordinator.view, self._coordinator.point.now()
        leases = view.records.get("lease", {})
        ids = set(leases)
        if holder is not None:
            ids &= set(view.coordination.held.get(holder, ()))
        if under is not None:
            ids &= set(view.coordination.leases.below.get(under, ()))
        tables = self._coordinator.tables
        return [answer_of(leases[each], tables) for each in sorted(ids) if leases[each]["expires_at"] > at]

    async def wait(self, waiter_id: str, caller: Caller, *, within_seconds: float = 0.0) -> Reply:
        """Wait for a lease that was queued for; asking is what keeps the wait alive.

        Returns:
            The grant, the place in the queue, or the refusal that ended the wait: `coordination_timeout`, or what the
            policy said when its turn came.
        """
        holder = self._holder(caller, "waiter", waiter_id, None)
        if isinstance(holder, Reply):
            return holder
        found = await self._coordinator.waiting.wait(waiter_id, within_seconds)
        return self.told(found, waiter_id)

    def told(self, waiter: Mapping[str, Any] | None, waiter_id: str) -> Reply:
        """Return what the holder of a wait is told of it now."""
        view, tables = self._coordinator.view, self._coordinator.tables
        if waiter is None:
            return self._refused("lease_not_held", subject="", lease_id=waiter_id)
        if "ended_at" not in waiter:
            work = Work(view, tables, self._coordinator.point.now())
            return Reply(body=waiting_answer(work, waiter), revision=view.revision, outcome="wait")
        if waiter["state"] == "GRANTED":
            return Reply(body=granted_to(view, tables, waiter), revision=view.revision)
        code = waiter.get("code") or "coordination_timeout"
        seconds = waiter["wait_us"] // 1_000_000
        reply = self._refused(code, key=waiter["resource_key"], wait_seconds=seconds, subject=waiter["holder"])
        body = {**reply.body, "waiter_id": waiter["id"], "state": waiter["state"]}
        if waiter.get("reasons"):
            body["reasons"] = waiter["reasons"]
        return Reply(
            body=body,
            revision=view.revision,
            code=reply.code,
            message=reply.message,
            outcome=waiter.get("outcome") or reply.outcome,
        )

    async def leave(self, waiter_id: str, caller: Caller) -> Reply:
        """Stop waiting; a second time changes nothing."""
        holder = self._holder(caller, "waiter", waiter_id, None)
        if isinstance(holder, Reply):
            return holder
        command = commands.LeaveQueue(waiter_id=waiter_id, holder=holder)
        return await self._coordinator.run(command, actor=holder, action="LEAVE_QUEUE")

    def queue(self, key: str) -> list[dict[str, Any]]:
        """Return who waits around a key, in order, each with what it waits for."""
        point = self._coordinator.point
        return queue_of(point.view, self._coordinator.tables, key, point.now())
