"""What is sent again and what is not: a repeat under one key applies once, whatever got lost on the way."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from remit_enforce import (
    STEPS,
    AsyncClient,
    CallbackFailed,
    Denied,
    NotRecorded,
    Refusal,
    Settings,
    StalePlan,
    Turn,
    write,
)
from remit_enforce.sending import pause_before
from tests.enforce.conftest import world_in
from tests.http.serving import serve
from tests.support.lossy import lossy_way_to
from tests.support.process import wait_until

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from remit_enforce import Receipt
    from tests.http.serving import Served
    from tests.support.guarded_page import Page


def operations_on(served: Served, key: str) -> list[dict[str, Any]]:
    """Return the receipts of all operations on a key, in their order."""
    told = served.client("gateway").get("/v1/changes?kinds=receipt", headers={"Accept": "application/json"}).json()
    bodies = [change["body"] for entry in told["entries"] for change in entry["changes"]]
    return [each for each in bodies if each.get("resource_key") == key and each["record"] == "coordination"]


@pytest.mark.feature("S82", "S84", "S86")
@pytest.mark.parametrize("lost", ["/operations", "/precondition", "/executed", "/verified", "/complete"])
async def test_an_answer_that_is_lost_changes_nothing(
    served: Served, point: AsyncClient, page: Page, lost: str
) -> None:
    """The call is sent again and means the same: one operation, one write, the eleven steps."""
    async with lossy_way_to(served.url) as way, AsyncClient(replace(point.settings, url=way.url)) as client:
        way.losing[lost] = 1

        receipt = await write(client, page.plan())

    assert (receipt.status, receipt.steps) == ("COMPLETED", STEPS)
    assert sum(each.endswith(lost) for each in way.arrived) == 2
    assert page.calls == ["read", "execute", "verify"]
    assert [each["status"] for each in operations_on(served, page.key)] == ["COMPLETED"]


@pytest.mark.feature("S82", "S86")
async def test_a_receipt_whose_answer_is_lost_is_found(served: Served, point: AsyncClient, page: Page) -> None:
    """Every answer to `complete` is lost, and it was carried out: the write is completed, and is said to be."""
    async with lossy_way_to(served.url) as way, AsyncClient(replace(point.settings, url=way.url)) as client:
        way.losing["/complete"] = 100

        receipt = await write(client, page.plan())

    assert (receipt.status, receipt.steps) == ("COMPLETED", STEPS)
    assert receipt.document["final_version"] == "rev_2"


@pytest.mark.feature("S82", "S86")
async def test_a_write_that_cannot_be_told_is_said_to_be_written(
    served: Served, point: AsyncClient, page: Page
) -> None:
    """With every answer to `executed` lost, the caller learns that it was applied, and it is not applied again."""
    async with lossy_way_to(served.url) as way, AsyncClient(replace(point.settings, url=way.url)) as client:
        way.losing["/executed"] = 100

        with pytest.raises(NotRecorded) as raised:
            await write(client, page.plan())

    receipt = raised.value.receipt
    assert receipt is not None
    assert (raised.value.refusal.code, receipt.execution, receipt.stopped_at) == ("no_answer", "applied", "execute")
    assert page.calls == ["read", "execute"]
    assert [each["status"] for each in operations_on(served, page.key)] == ["ABORTED"]


@pytest.mark.feature("S82", "S84", "S85")
async def test_a_repeat_with_the_same_key_applies_once(served: Served, point: AsyncClient, page: Page) -> None:
    """The second run under the key gets the receipt of the first, and calls nothing of the resource."""
    first = await write(point, page.plan(key="run-7f3c"))
    again = await write(point, page.plan(key="run-7f3c"))

    assert again.coordination_id == first.coordination_id
    assert (again.status, again.document, again.steps) == ("COMPLETED", first.document, STEPS)
    assert page.calls == ["read", "execute", "verify"]
    assert len(operations_on(served, page.key)) == 1


@pytest.mark.feature("S84", "S85")
async def test_a_caller_with_a_key_of_its_own_waits_for_what_it_cannot_tell_apart(
    served: Served, point: AsyncClient, page: Page
) -> None:
    """Its first answer is lost, and what the repeat finds may be another process's: nothing is written by it."""
    async with lossy_way_to(served.url) as way, AsyncClient(replace(point.settings, url=way.url)) as client:
        way.losing["/operations"] = 1

        assert await ended(write(client, page.plan(key="run-11", ttl_seconds=5))) == "under_way"

    assert page.calls == []
    look = served.client("gateway")
    await asyncio.to_thread(wait_until, lambda: operations_on(served, page.key) != [], within_seconds=60)
    assert [each["status"] for each in operations_on(served, page.key)] == ["EXPIRED"]
    assert look.get(f"/v1/leases?under={page.key}").json()["leases"] == []


@pytest.mark.feature("S84", "S85")
async def test_two_runs_with_one_key_at_once_write_once(point: AsyncClient, page: Page) -> None:
    """While the first is in the middle of its write, the second is told that it is under way, and touches nothing."""
    started, go_on = asyncio.Event(), asyncio.Event()

    async def execute(turn: Turn) -> dict[str, Any]:
        started.set()
        await go_on.wait()
        return await page.execute(turn)

    first = asyncio.create_task(write(point, page.plan(key="run-8", execute=execute)))
    await started.wait()
    with pytest.raises(Denied) as raised:
        await write(point, page.plan(key="run-8", execute=execute))
    go_on.set()

    assert (await first).status == "COMPLETED"
    assert (raised.value.refusal.code, raised.value.refusal.outcome) == ("under_way", "wait")
    assert page.calls == ["read", "execute", "verify"]


@pytest.mark.feature("S82", "S85")
async def test_a_key_whose_run_was_given_up_is_no_way_to_retry(point: AsyncClient, page: Page) -> None:
    """A retry is a new run: the ended one is never walked on, and another body under its key is refused."""
    page.put("rev_7", "/other")
    with pytest.raises(StalePlan):
        await write(point, page.plan(key="run-9"))

    with pytest.raises(StalePlan) as same:
        await write(point, page.plan(key="run-9"))
    with pytest.raises(Denied) as changed:
        await write(point, page.plan(key="run-9", expected_version="rev_7"))

    assert "a retry is a new run" in str(same.value)
    assert changed.value.refusal.code == "idempotency_mismatch"
    assert page.calls == ["read"]


@pytest.mark.feature("S82", "S86")
@pytest.mark.parametrize("ending", ["late", "cancelled"])
async def test_what_was_begun_for_nobody_is_given_up(
    served: Served, point: AsyncClient, page: Page, ending: str
) -> None:
    """The answer to `begin` does not come: nothing of the resource is touched, and no lease is left behind."""
    bound = 60 if ending == "cancelled" else 3
    async with lossy_way_to(served.url) as way:
        way.holding["/operations"] = 1
        async with AsyncClient(replace(point.settings, url=way.url, timeout_seconds=bound)) as client:
            run = asyncio.create_task(write(client, page.plan()))
            if ending == "cancelled":
                await asyncio.to_thread(wait_until, lambda: way.arrived != [], within_seconds=60)
                run.cancel()
            with pytest.raises((Denied, asyncio.CancelledError)) as raised:
                await run

    if isinstance(raised.value, Denied):
        assert raised.value.refusal.code == "late_answer"
    assert page.calls == []
    assert [each["status"] for each in operations_on(served, page.key)] == ["ABORTED"]
    assert served.client("gateway").get(f"/v1/leases?under={page.key}").json()["leases"] == []


@pytest.mark.feature("S86")
async def test_who_is_cancelled_while_it_ends_is_so_after_the_end(
    served: Served, point: AsyncClient, page: Page
) -> None:
    """A run that fails, and whose caller gives up while it is ended, is ended first and cancelled then."""

    async def fail(_: Turn) -> Any:
        raise ConnectionResetError("the resource hung up")

    async with lossy_way_to(served.url) as way:
        way.holding["/abort"] = 1
        async with AsyncClient(replace(point.settings, url=way.url, timeout_seconds=3)) as client:
            run = asyncio.create_task(write(client, page.plan(read=fail)))
            await asyncio.to_thread(wait_until, lambda: any(each.endswith("/abort") for each in way.arrived))
            run.cancel()
            with pytest.raises(asyncio.CancelledError) as raised:
                await run

    assert isinstance(raised.value.__cause__, CallbackFailed)
    assert [each["status"] for each in operations_on(served, page.key)] == ["ABORTED"]


@pytest.mark.feature("S84", "S85")
async def test_a_repeat_of_a_run_that_stands_in_the_queue(served: Served, point: AsyncClient, page: Page) -> None:
    """While the first run waits for its turn, its repeat is told that it is under way; later, how it ended."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def execute(turn: Turn) -> dict[str, Any]:
        begun.set()
        await go_on.wait()
        return await page.execute(turn)

    plan = page.plan(subject="instance:seo-agent-8", key="run-10", wait_seconds=5)
    look, queue = served.client("gateway"), f"/v1/queues/{page.key}"
    holder = asyncio.create_task(write(point, page.plan(execute=execute)))
    await begun.wait()
    first = asyncio.create_task(write(point, plan))
    await asyncio.to_thread(wait_until, lambda: look.get(queue).json()["waiters"] != [], within_seconds=60)
    told = [await ended(write(point, plan)), await ended(first), await ended(write(point, plan))]
    go_on.set()
    await holder

    assert told == ["under_way", "coordination_timeout", "coordination_timeout"]


async def ended(run: Awaitable[Receipt]) -> str:
    """Return the code that a run was denied with."""
    with pytest.raises(Denied) as raised:
        await run
    return raised.value.refusal.code


@pytest.mark.feature("S74")
async def test_a_hint_of_the_decision_point_is_waited_for(tmp_path: Path) -> None:
    """Over its rate a caller is told when to come again; it does, and is answered."""
    busy = serve(tmp_path, world_in(tmp_path), keys=("gateway",), requests_per_second=2)
    question: Any = {"subject": "instance:seo-agent-7", "action": "READ_POST", "resource": "wp:post:1024"}
    try:
        settings = Settings(url=busy.url, key=busy.keys["gateway"])
        async with AsyncClient(replace(settings, max_pause_seconds=0.5)) as hasty:
            told = [await hasty.evaluate(**question) for _ in range(9)]
        async with AsyncClient(settings) as patient:
            last = await patient.evaluate(**question)
    finally:
        await asyncio.to_thread(busy.stop)

    refused = [each for each in told if isinstance(each, Refusal) and each.status == 429]
    assert {each.code for each in refused} == {"limit_exceeded"}
    assert all(each.retry_after_seconds and each.is_fault for each in refused)
    assert not (isinstance(last, Refusal) and last.status == 429)


def test_only_silence_and_a_hint_are_sent_again() -> None:
    """No answer doubles its pause, a hint is kept and spread upwards; a late answer, a deny and a long hint are not."""
    settings = Settings(url="http://127.0.0.1:1", pause_seconds=1, max_pause_seconds=5)
    silent = Refusal(code="no_answer", message="")
    busy = Refusal(code="overloaded", message="", status=503, retry_after_seconds=2)

    pauses = [[pause_before(attempt, silent, settings) or 0 for _ in range(50)] for attempt in (2, 3, 9)]
    hinted = [pause_before(2, busy, settings) or 0 for _ in range(50)]

    for each, mean in zip(pauses, (1, 2, 5), strict=True):
        assert mean / 2 <= min(each) <= max(each) <= mean * 1.5
    assert len(set(hinted)) > 1
    assert min(hinted) >= 2
    assert max(hinted) <= 2.5
    assert [
        pause_before(2, each, settings)
        for each in (
            Refusal(code="late_answer", message=""),
            Refusal(code="unreadable_answer", message="", status=503),
            Refusal(code="resource_busy", message="", status=409, retry_after_seconds=1),
            replace(busy, retry_after_seconds=60.0),
        )
    ] == [None] * 4
