"""A retry is a new run: from a new read and a new decision, never the old body sent again (S82).

    receipt = await write_anew(point, plan)

`plan` is asked before every run; it looks at the resource as it is now and answers what to write, or that the goal is
met. What a person has to decide, what is denied, and whatever may have been written ends it at once.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Final, TypeAlias

from remit_enforce.errors import StalePlan
from remit_enforce.plan import GoalMet
from remit_enforce.protocol import write
from remit_enforce.receipt import GOAL_MET, Receipt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from remit_enforce.client import AsyncClient
    from remit_enforce.plan import Plan

MAX_RUNS: Final = 3
"""A plan that went stale as often meets somebody who writes all the time: that is told, and not fought."""

Planner: TypeAlias = "Callable[[], Awaitable[Plan | GoalMet]]"


async def write_anew(client: AsyncClient, planner: Planner, *, runs: int = MAX_RUNS) -> Receipt:
    """Plan and write, and begin anew where the plan went stale before anything was written.

    Args:
        client: The decision point.
        planner: Reads, chooses, and returns a plan with a key of its own, or that the goal is met.
        runs: How often at most.

    Returns:
        The receipt of the run that came to an end.

    Raises:
        StalePlan: The last run went stale too, or one did after its write may have taken effect: `receipt.execution`
            is then `applied` or `unknown`, and the next read tells.
        EnforceError: As of `write`.
    """
    for run in range(1, runs + 1):
        plan = await planner()
        if isinstance(plan, GoalMet):
            return Receipt(status=GOAL_MET, steps=(), stopped_at=None, goal_met=True, reason=plan.reason)
        try:
            return await write(client, plan)
        except StalePlan as error:
            wrote = error.receipt is None or error.receipt.execution in ("applied", "unknown")
            if wrote or run == runs or error.refusal.needs_person:
                raise
            hint = error.refusal.retry_after_seconds or client.settings.pause_seconds
            pause = hint * random.uniform(1, 1.5)  # noqa: S311 - spreads a crowd, keeps no secret
        await asyncio.sleep(min(pause, client.settings.max_pause_seconds))
    raise ValueError(f"a plan is run at least once, not {runs} times")
