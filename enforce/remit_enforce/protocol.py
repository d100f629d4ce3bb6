"""A guarded write: the eleven steps, in their order, in one call (S86).

resolve resource, resolve owner, validate authority, detect conflicts, acquire · read version, validate precondition ·
execute · verify · receipt, release. The decision point takes part in each and refuses one out of turn; the resource is
touched by the callbacks of the plan alone, and `execute` runs at most once, whatever happens (S82).

    plan = Plan(subject="instance:seo-agent-7", action="UPDATE_CANONICAL", resource="wp:post:1024",
                read=read, execute=execute, verify=verify, expected_version="rev_331")
    receipt = await write(point, plan)

Every ending gives back what is held and leaves a receipt: returned, or in `receipt` of what is raised. What a lease
does not promise is that nobody else writes; the guard at the resource (`guard.py`) is what refuses a late write.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from remit_enforce.acquiring import Acquired, acquire
from remit_enforce.client import Answer
from remit_enforce.errors import Denied, EnforceError, NotRecorded, NotVerified, StalePlan
from remit_enforce.keeping import Keeper
from remit_enforce.operations import Operations
from remit_enforce.plan import PERFORMED, GoalMet, Turn, fields_of
from remit_enforce.receipt import ABANDONED, BEGUN, COMPLETED, Receipt, Trace
from remit_enforce.refusal import Refusal

if TYPE_CHECKING:
    from remit_enforce.client import AsyncClient
    from remit_enforce.plan import Plan, Verified


async def write(client: AsyncClient, plan: Plan) -> Receipt:
    """Carry out a plan once, failing closed.

    Args:
        client: The decision point.
        plan: What is written, and the three callbacks that touch the resource.

    Returns:
        The receipt: of the completed write; with `goal_met` of one that had nothing left to do; or, under an
        idempotency key that has completed before, that of the first time.

    Raises:
        StalePlan: What it was planned on has moved, or the lease or capability was lost; look at `receipt.execution`
            for whether something was written, and begin anew from a new read.
        NeedsPerson: Somebody has to decide.
        Denied: There is no permit, or nobody to ask.
        CallbackFailed: A callback raised.
        NotVerified: It was written, and is not as it should be.
        NotRecorded: It was written, and the decision point could not be told.
        MarginTooShort: The settings leave no time to renew the lease.
        ValueError: The plan names no subject.
    """
    trace, operations = Trace(), Operations(client)
    # (1) to (5): resolve resource and owner, validate authority, detect conflicts, acquire.
    acquired = await acquire(operations, plan, trace)
    if isinstance(acquired, Receipt):
        return acquired
    return await _Walk(operations, plan, acquired, trace).to_the_end()


class _Walk:
    """One operation from its beginning to its receipt."""

    def __init__(self, operations: Operations, plan: Plan, acquired: Acquired, trace: Trace) -> None:
        begun = acquired.begun
        self._operations, self._plan, self._acquired, self._trace = operations, plan, acquired, trace
        self._id, self._epoch = begun.coordination_id, begun.lease_epoch
        self._turn = Turn(
            coordination_id=self._id,
            fencing_tokens={} if begun.lease is None else begun.lease.fencing_tokens,
            lease_epoch=self._epoch,
            obligations=[each for each in begun.obligations if each.get("type") not in PERFORMED],
            fields=fields_of(begun.obligations),
        )
        trace.coordination_id = self._id
        trace.done(*BEGUN)

    async def to_the_end(self) -> Receipt:
        """Go on from step 6; whatever is raised, the operation is ended first."""
        try:
            return await self._go()
        except (Exception, asyncio.CancelledError) as error:
            ended = await self._end(error)
            if isinstance(error, NotRecorded) and ended.status == COMPLETED:
                # Only the answer to `complete` was lost.
                self._trace.done("receipt", "release")
                return self._trace.receipt(COMPLETED, document=ended.document)
            if isinstance(error, EnforceError):
                error.receipt = ended
            else:
                error.add_note(f"operation `{self._id}` ended as {ended.status}")
            raise

    async def _go(self) -> Receipt:
        self._refuse_unknown_duties()
        keeper = Keeper(self._operations, self._turn, self._acquired.begun.lease, since=self._acquired.since)
        async with keeper:
            met = await self._read(keeper)
            if met is not None:
                return await self._give_up(met.reason, goal_met=True)
            await self._execute(keeper)
            verified = await self._verify(keeper)
            # (10), (11): the receipt and the release are one, and come last.
            document = self._told(await self._operations.complete(self._id, self._epoch, verified.final_version))
        self._trace.done("receipt", "release")
        return self._trace.receipt(COMPLETED, document=document.get("receipt") or {})

    def _refuse_unknown_duties(self) -> None:
        """A permit with a duty that nobody here performs is not used (S123)."""
        for each in self._turn.obligations:
            if each.get("type") not in self._plan.performs:
                message = f"the permit demands `{each.get('type')}`, which the plan does not perform"
                raise Denied(Refusal(code="obligation_unknown", message=message, document=each))

    async def _read(self, keeper: Keeper) -> GoalMet | None:
        # (6) Read the version at the resource, under the lease.
        seen = await keeper.during(self._plan.read(self._turn))
        if isinstance(seen, GoalMet):
            return seen
        self._turn.seen = seen
        self._trace.done("read_version")
        # (7) Compare it with the planned one; a plan without one rests on what was read now.
        found = await self._operations.precondition(self._id, seen.version)
        if isinstance(found, Refusal):
            raise (Denied if found.is_fault else StalePlan)(found)
        self._trace.done("validate_precondition")
        return None

    async def _execute(self, keeper: Keeper) -> None:
        if keeper.lost is not None:
            raise StalePlan(keeper.lost)
        # (8) The only place where it is called. From here on nobody knows, until it has answered.
        self._trace.execution = "unknown"
        try:
            evidence = await keeper.during(self._plan.execute(self._turn))
        except Denied as error:
            if error.refusal is not keeper.lost:
                # The callback says that nothing was written.
                self._trace.execution = "failed"
            raise
        self._trace.execution = "applied"
        self._told(await self._operations.executed(self._id, self._epoch, "applied", evidence))
        self._trace.done("execute")

    async def _verify(self, keeper: Keeper) -> Verified:
        # (9) A success of the call does not prove the state.
        verified = await keeper.during(self._plan.verify(self._turn))
        self._told(
            await self._operations.verified(self._id, self._epoch, passed=verified.passed, checks=verified.checks)
        )
        if not verified.passed:
            raise NotVerified(f"`{self._plan.resource}` is at {verified.final_version} and not as it should be")
        self._trace.done("verify")
        return verified

    def _told(self, found: Answer | Refusal) -> dict[str, object]:
        """Return what telling the decision point of the write came to."""
        if isinstance(found, Answer):
            return dict(found.document)
        raise (StalePlan if found.is_stale else NotRecorded)(found)

    async def _end(self, error: BaseException) -> Receipt:
        """End the operation after what was raised; whoever is cancelled meanwhile is so after the end."""
        ending = asyncio.ensure_future(self._give_up(f"{type(error).__name__}: {error}"))
        cancelled: asyncio.CancelledError | None = None
        while not ending.done():
            try:
                await asyncio.wait({ending})
            except asyncio.CancelledError as again:
                cancelled = again
        if cancelled is not None:
            raise cancelled from error
        return ending.result()

    async def _give_up(self, reason: str, *, goal_met: bool = False) -> Receipt:
        """Abort, which gives back what is held; how it ended is what the decision point says of it."""
        if self._trace.execution is not None and "execute" not in self._trace.steps:
            await self._operations.executed(self._id, self._epoch, self._trace.execution, None)
        ended = await self._operations.abort(self._id, reason)
        if isinstance(ended, Refusal):
            return self._trace.receipt(ABANDONED, reason=f"{reason}; {ended}", goal_met=goal_met)
        document = ended.document.get("receipt")
        if document is None:
            kept = await self._operations.receipt(self._id)
            document = kept.document if isinstance(kept, Answer) else {}
        status = str(ended.document.get("status", ABANDONED))
        return self._trace.receipt(status, reason=reason, goal_met=goal_met, document=document)
