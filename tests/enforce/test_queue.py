"""Standing in the queue for a turn: granted by the release, ended by its time, left by who is cancelled."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from remit_enforce import STEPS, AsyncClient, Denied, Turn, write
from tests.support.lossy import lossy_way_to
from tests.support.process import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.http.serving import Served
    from tests.support.guarded_page import Page


def waiting(served: Served, key: str) -> list[str]:
    """Return who stands in the queue of a key."""
    found = served.client("gateway").get(f"/v1/queues/{key}").json()["waiters"]
    return [each["holder"] for each in found]


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition beside the work."""
    await asyncio.to_thread(wait_until, condition, within_seconds=60)


class Holder:
    """A run that stays in the middle of its write until it is told to go on."""

    def __init__(self, page: Page) -> None:
        """Write this page."""
        self._page, self.started, self._go_on = page, asyncio.Event(), asyncio.Event()
        self.task: asyncio.Task[Any] | None = None

    async def begin(self, point: AsyncClient) -> None:
        """Begin, and return in the middle."""
        self.task = asyncio.create_task(write(point, self._page.plan(execute=self._execute)))
        await self.started.wait()

    async def end(self) -> Any:
        """Go on to the end, and return the receipt."""
        assert self.task is not None
        self._go_on.set()
        return await self.task

    async def _execute(self, turn: Turn) -> dict[str, Any]:
        self.started.set()
        await self._go_on.wait()
        return await self._page.execute(turn)


@pytest.mark.feature("S73", "S82", "S86")
async def test_the_next_in_the_queue_plans_on_what_the_first_left(
    served: Served, point: AsyncClient, page: Page
) -> None:
    """Busy without a wait; with one the release grants it, with a higher token, and it finds the goal met."""
    holder = Holder(page)
    await holder.begin(point)
    with pytest.raises(Denied) as busy:
        await write(point, page.plan(subject="instance:seo-agent-8"))
    second = asyncio.create_task(
        write(point, page.plan(subject="instance:seo-agent-8", expected_version=None, context={}, wait_seconds=60))
    )
    await until(lambda: waiting(served, page.key) == ["instance:seo-agent-8"])
    first = await holder.end()
    receipt = await second

    assert (busy.value.refusal.code, busy.value.refusal.outcome) == ("resource_busy", "serialize")
    assert busy.value.refusal.retry_after_seconds is not None
    assert busy.value.receipt is not None
    assert busy.value.receipt.stopped_at == "acquire"
    assert (first.status, first.steps) == ("COMPLETED", STEPS)
    assert receipt.goal_met
    assert receipt.document["lease_epoch"] > first.document["lease_epoch"]
    assert page.calls.count("execute") == 1


@pytest.mark.feature("S71")
async def test_a_wait_ends_with_its_time(served: Served, point: AsyncClient, page: Page) -> None:
    """Whoever waited in vain is told so, and stands in no queue."""
    holder = Holder(page)
    await holder.begin(point)

    with pytest.raises(Denied) as raised:
        await write(point, page.plan(subject="instance:seo-agent-8", wait_seconds=0.5))

    assert raised.value.refusal.code == "coordination_timeout"
    assert waiting(served, page.key) == []
    await holder.end()


@pytest.mark.feature("S71", "S73")
async def test_who_is_cancelled_leaves_the_queue(served: Served, point: AsyncClient, page: Page) -> None:
    """A caller that gives up keeps nobody behind it waiting, and is granted nothing later."""
    holder = Holder(page)
    await holder.begin(point)
    second = asyncio.create_task(write(point, page.plan(subject="instance:seo-agent-8", wait_seconds=60)))
    await until(lambda: waiting(served, page.key) == ["instance:seo-agent-8"])

    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    left = waiting(served, page.key)
    await holder.end()

    assert left == []
    assert served.client("gateway").get(f"/v1/leases?under={page.key}").json()["leases"] == []


@pytest.mark.feature("S68", "S73")
@pytest.mark.parametrize("lost", ["wait=20", "/renew"])
async def test_a_grant_that_nobody_hears_of_is_given_up(
    served: Served, point: AsyncClient, page: Page, lost: str
) -> None:
    """The answer that grants it is lost, or the one that says how long it lasts: denied, and nothing is held."""
    holder = Holder(page)
    await holder.begin(point)
    async with lossy_way_to(served.url) as way:
        way.losing[lost] = 1
        async with AsyncClient(replace(point.settings, url=way.url, attempts=1)) as client:
            plan = page.plan(subject="instance:seo-agent-8", expected_version=None, context={}, wait_seconds=60)
            second = asyncio.create_task(write(client, plan))
            await until(lambda: waiting(served, page.key) == ["instance:seo-agent-8"])
            await holder.end()
            with pytest.raises(Denied) as raised:
                await second

    assert raised.value.refusal.code == "no_answer"
    assert page.calls.count("execute") == 1
    assert waiting(served, page.key) == []
    assert served.client("gateway").get(f"/v1/leases?under={page.key}").json()["leases"] == []
