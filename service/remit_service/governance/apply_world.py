"""Apply a world file: plan on the graph as it is, append the difference as one command (model.md 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remit_graph.world.of_view import ViewHistory, world_of
from remit_graph.world.plan import Plan, plan_world
from remit_service.writer.command import Accepted, Refused, Submission, Verdict

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_graph.world.value import World
    from remit_service.point import DecisionPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What came of applying a world.

    Attributes:
        plan: The plan that was decided last.
        revision: At which it is visible; the current one where nothing changed.
        refused: Why nothing was applied, or None.
    """

    plan: Plan
    revision: int
    refused: Refused | None = None

    def record(self) -> dict[str, Any]:
        """Return the form of `--json`."""
        return {**self.plan.record(), "revision": self.revision, "applied": self.refused is None}


def plan_on(view: View, wanted: World) -> Plan:
    """Plan the way from the graph to `wanted`, without doing anything."""
    return plan_world(world_of(view), wanted, history=ViewHistory(view))


async def apply_world(point: DecisionPoint, wanted: World, *, actor: str, reason: str | None = None) -> Applied:
    """Make the graph what `wanted` says, all of it or nothing.

    Raises:
        LedgerError: nothing was appended, or the outcome is unknown.
    """
    plans: list[Plan] = []

    def decide(view: View, _at: Instant) -> Verdict:
        plan = plan_on(view, wanted)
        plans.append(plan)
        if plan.refusals:
            first = plan.refusals[0]
            return Refused(code=first.code, message=first.message, facts={"refusals": len(plan.refusals)})
        return Accepted(changes=plan.changes, result={"differences": len(plan.differences)})

    done = await point.submit(Submission(action="APPLY_WORLD", actor=actor, decide=decide, reason=reason))
    refused = done.verdict if isinstance(done.verdict, Refused) else None
    return Applied(plan=plans[-1], revision=done.revision, refused=refused)
