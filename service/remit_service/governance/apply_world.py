"""Apply a world file: plan on the graph as it is, append the difference as one command (model.md 8).

A plan costs as much as the graph is large, so it is made beside the event loop, on a copy of the tables; edges never
change once they are made. The command is decided by that plan if the graph is still where it was planned on, and plans
again if not.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remit_graph.model.builtin import Governance
from remit_graph.world.load import load_world
from remit_graph.world.of_view import PastEdges, ViewHistory, world_of
from remit_graph.world.plan import Plan, plan_world
from remit_service.governance.becoming import Decided
from remit_service.governance.consequences import concluded
from remit_service.governance.law import Actor, permitted, refused_by_policy
from remit_service.governance.power import powers_begun
from remit_service.governance.roots import unless_root, widened
from remit_service.governance.trying import tried
from remit_service.writer.command import Accepted, Refused, Submission, Verdict

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_graph.world.value import World
    from remit_service.coordinator.reply import Key
    from remit_service.governance.governor import Governor
    from remit_service.point import DecisionPoint

SYSTEM = "system"
"""Actor of what the process itself does; it is asked for no right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What came of applying a world.

    Attributes:
        plan: The plan that was decided last; None where this is the stored answer of an earlier call.
        revision: At which it is visible; the current one where nothing changed.
        refused: Why nothing was applied, or None.
        result: What the answer says besides the plan: what ended with it.
        replayed: Whether this is the stored answer of an earlier call.
        decided: What would be appended; of a trial alone.
    """

    plan: Plan | None
    revision: int
    refused: Refused | None = None
    result: dict[str, Any] | None = None
    replayed: bool = False
    decided: Decided | None = None

    def record(self) -> dict[str, Any]:
        """Return the form of `--json` and of `POST /v1/graph/apply`."""
        planned = self.plan.record() if self.plan is not None else {}
        return {**planned, **(self.result or {}), "revision": self.revision, "applied": self.refused is None}


def plan_on(view: View, wanted: World) -> Plan:
    """Plan the way from the graph to `wanted`, without doing anything."""
    return plan_world(world_of(view), wanted, history=ViewHistory(view))


async def read_world(text: str, point: DecisionPoint) -> World:
    """Read and judge a world, beside the event loop.

    Raises:
        WorldRefused: with every fault and its line.
    """
    return await asyncio.to_thread(load_world, text, file="world", scales=point.policy.scales)


async def plan_beside(view: View, wanted: World) -> Plan:
    """Plan on a copy of the tables, beside the event loop; the plan is of the view as it was when this was called."""
    current, history = world_of(view), PastEdges(view)
    return await asyncio.to_thread(plan_world, current, wanted, history=history)


async def apply_world(
    point: DecisionPoint,
    wanted: World,
    *,
    actor: str | Actor,
    reason: str | None = None,
    key: Key | None = None,
) -> Applied:
    """Make the graph what `wanted` says, all of it or nothing.

    Raises:
        LedgerError: nothing was appended, or the outcome is unknown.
    """
    who = actor if isinstance(actor, Actor) else Actor(principal=actor)
    planned_at = point.view.revision
    plans = [await plan_beside(point.view, wanted)]

    def decide(view: View, at: Instant) -> Verdict:
        who.decisions.clear()
        if view.revision != planned_at:
            plans.append(plan_on(view, wanted))
        verdict = _decided(point, view, at, who, plans[-1])
        return concluded(verdict, view, at, point.policy)

    submission = Submission(
        action=Governance.APPLY_WORLD.value,
        actor=who.principal,
        decide=decide,
        reason=reason,
        request_id=key.request_id if key is not None else None,
        fingerprint=key.fingerprint if key is not None else None,
    )
    done = await point.submit(submission)
    if isinstance(done.verdict, Refused):
        return Applied(plan=plans[-1], revision=done.revision, refused=done.verdict, replayed=done.replayed)
    plan = None if done.replayed else plans[-1]
    return Applied(plan=plan, revision=done.revision, result=dict(done.verdict.result), replayed=done.replayed)


async def try_world(governor: Governor, wanted: World, *, actor: Actor) -> Applied:
    """Say what applying `wanted` would do."""
    plan, revision, decided = await _tried(governor, wanted, actor)
    if isinstance(decided, Refused):
        return Applied(plan=plan, revision=revision, refused=decided)
    return Applied(plan=plan, revision=revision, result=dict(decided.verdict.result), decided=decided)


async def impact_of(decided: Decided, governor: Governor, wanted: World, *, actor: Actor) -> dict[str, Any]:
    """Return which recent verdicts a trial of `wanted` would change."""

    async def again() -> Decided | Refused:
        return (await _tried(governor, wanted, actor))[2]

    return await governor.impact.of(decided, again)


async def _tried(governor: Governor, wanted: World, actor: Actor) -> tuple[Plan, int, Decided | Refused]:
    """Plan beside the event loop and decide on the graph of now; also the revision that this was decided at."""
    point = governor.point
    planned_on, planned_at = point.view, point.view.revision
    plan = await plan_beside(planned_on, wanted)
    view, at = point.view, point.now()
    if not governor.structure.stands(planned_on, planned_at):
        plan = plan_on(view, wanted)
    actor.decisions.clear()
    verdict = concluded(_decided(point, view, at, actor, plan), view, at, point.policy)
    return plan, view.revision, verdict if isinstance(verdict, Refused) else Decided.on(view, verdict)


def _decided(point: DecisionPoint, view: View, at: Instant, actor: Actor, plan: Plan) -> Verdict:
    if plan.refusals:
        first = plan.refusals[0]
        reasons = [each.record() for each in plan.refusals]
        return Refused(code=first.code, message=first.message, facts={"reasons": reasons})
    # The first world of a store names the roots; before that there is nobody who could be asked.
    if view.principals and actor.principal != SYSTEM:
        decision = permitted(point.policy, view, at, actor, Governance.APPLY_WORLD)
        if refused := refused_by_policy(decision) or _misplaced_power(point, view, at, actor, plan):
            return refused
    return Accepted(changes=plan.changes, result={"count": len(plan.differences)})


def _misplaced_power(point: DecisionPoint, view: View, at: Instant, actor: Actor, plan: Plan) -> Refused | None:
    """Refuse power that a command would not give either: to who is not trusted for it, or a root's by who is none."""
    if refused := unless_root(widened(view, plan.changes), view, at, actor):
        return refused
    with tried(view, plan.changes, at) as after:
        powers = powers_begun(after, at, plan.changes)
    for power in powers:
        decision = permitted(point.policy, view, at, actor, Governance.APPLY_WORLD, power=power)
        if refused := refused_by_policy(decision):
            return refused
    return None
