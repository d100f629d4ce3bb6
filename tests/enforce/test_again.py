"""A retry is a new run (S82): read anew, plan anew, decide anew; and it ends where a program has nothing to decide."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from remit_enforce import Denied, GoalMet, NeedsPerson, Plan, StalePlan, Turn, write_anew

if TYPE_CHECKING:
    from remit_enforce import AsyncClient
    from tests.http.serving import Served
    from tests.support.guarded_page import Page


class Planner:
    """Plans on the page as it is; between plan and write somebody else gets at it, as often as told."""

    def __init__(self, page: Page, *others: tuple[str, str]) -> None:
        """Plan for `page`, before which `others` are written, one in each run."""
        self.page, self.others, self.planned = page, list(others), list[str]()

    async def __call__(self) -> Plan | GoalMet:
        """Read and plan."""
        version, canonical = self.page.state
        if canonical == "/new":
            return GoalMet(version=version)
        self.planned.append(version)
        if self.others:
            self.page.put(*self.others.pop(0))
        return self.page.plan(expected_version=version)


@pytest.mark.feature("S82")
async def test_a_stale_plan_is_made_anew(point: AsyncClient, page: Page) -> None:
    """The second run is planned on what the other has written, and is the only one that executes."""
    planner = Planner(page, ("rev_7", "/other"))

    receipt = await write_anew(point, planner)

    assert (receipt.status, planner.planned) == ("COMPLETED", ["rev_1", "rev_7"])
    assert (page.state, page.calls.count("execute")) == (("rev_8", "/new"), 1)


@pytest.mark.feature("S82")
async def test_a_goal_that_another_has_met_ends_it(served: Served, point: AsyncClient, page: Page) -> None:
    """Found by the next planning: nothing is begun for it, and nothing is written."""
    planner = Planner(page, ("rev_7", "/other"))

    async def then_met() -> Plan | GoalMet:
        if planner.planned:
            page.put("rev_9", "/new")
        return await planner()

    receipt = await write_anew(point, then_met)

    assert (receipt.status, receipt.goal_met, receipt.coordination_id) == ("GOAL_MET", True, None)
    assert (page.state, page.calls) == (("rev_9", "/new"), ["read"])
    assert served.client("gateway").get(f"/v1/leases?under={page.key}").json()["leases"] == []


@pytest.mark.feature("S82")
async def test_a_plan_that_goes_stale_every_time_is_told(point: AsyncClient, page: Page) -> None:
    """After its runs it is over: somebody writes all the time, and a program does not fight that."""
    planner = Planner(page, *[(f"rev_{number}0", "/other") for number in range(1, 9)])

    with pytest.raises(StalePlan):
        await write_anew(point, planner, runs=2)

    assert planner.planned == ["rev_1", "rev_10"]
    assert page.calls == ["read", "read"]


@pytest.mark.feature("S82")
async def test_newer_policy_ends_it(point: AsyncClient, page: Page) -> None:
    """The decision of the second run is a new one: what is forbidden now is not asked for again."""
    planner = Planner(page, ("rev_7", "/other"))

    async def then_forbidden() -> Plan | GoalMet:
        plan = await planner()
        assert isinstance(plan, Plan)
        return page.plan(action="UPDATE_POST_BODY") if len(planner.planned) > 1 else plan

    with pytest.raises(Denied) as raised:
        await write_anew(point, then_forbidden)

    assert not isinstance(raised.value, StalePlan)
    assert raised.value.refusal.code == "scope_not_covered"
    assert page.calls == ["read"]


async def test_no_run_at_all_is_a_mistake(point: AsyncClient, page: Page) -> None:
    """A plan is run at least once."""
    with pytest.raises(ValueError, match="not 0 times"):
        await write_anew(point, Planner(page), runs=0)


@pytest.mark.feature("S82", "S87")
async def test_a_person_is_asked_once(point: AsyncClient, page: Page) -> None:
    """What a person has to choose is not planned again by a program."""
    planner = Planner(page)

    async def choose(_: Turn) -> Any:
        raise NeedsPerson.because("two release candidates")

    async def planned() -> Plan | GoalMet:
        await planner()
        return page.plan(execute=choose)

    with pytest.raises(NeedsPerson):
        await write_anew(point, planned)

    assert planner.planned == ["rev_1"]


@pytest.mark.feature("S82")
async def test_what_may_have_been_written_is_not_written_again(served: Served, point: AsyncClient, page: Page) -> None:
    """A lease that was lost after the write took effect ends it, with a receipt that says so."""

    async def execute(turn: Turn) -> dict[str, Any]:
        evidence = await page.execute(turn)
        body = {"actor": "organization:acme", "target": {"lease_id": leases()[0]["lease_id"]}, "reason": "a test"}
        reply = await asyncio.to_thread(served.client("gateway").post, "/v1/revocations", json=body)
        reply.raise_for_status()
        return evidence

    def leases() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = served.client("gateway").get(f"/v1/leases?under={page.key}").json()["leases"]
        return found

    async def planned() -> Plan | GoalMet:
        return page.plan(execute=execute)

    with pytest.raises(StalePlan) as raised:
        await write_anew(point, planned)

    assert raised.value.receipt is not None
    assert raised.value.receipt.execution == "applied"
    assert page.calls == ["read", "execute"]
