"""A guarded write against a served decision point: the eleven steps, every way to end, and what each leaves behind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from remit_enforce import (
    STEPS,
    CallbackFailed,
    Denied,
    NeedsPerson,
    NotVerified,
    Plan,
    StalePlan,
    Turn,
    Verified,
    write,
)

if TYPE_CHECKING:
    from remit_enforce import AsyncClient
    from tests.http.serving import Served
    from tests.support.guarded_page import Page


def held(served: Served, key: str) -> list[dict[str, Any]]:
    """Return the live leases on a key."""
    found: list[dict[str, Any]] = served.client("gateway").get(f"/v1/leases?under={key}").json()["leases"]
    return found


@pytest.mark.feature("S67", "S86")
async def test_a_write_takes_the_eleven_steps_in_order(served: Served, point: AsyncClient, page: Page) -> None:
    """One call does it all; both receipts list the steps in order, the page is written once, and nothing is held."""
    receipt = await write(point, page.plan(purpose="SEO_UPDATE"))

    kept = served.client("gateway").get(f"/v1/receipts/{receipt.coordination_id}").json()
    assert (receipt.status, receipt.execution, receipt.stopped_at) == ("COMPLETED", "applied", None)
    assert receipt.steps == STEPS
    assert [each["step"] for each in kept["steps"]] == list(STEPS)
    assert (kept["status"], kept["expected_version"], kept["final_version"]) == ("COMPLETED", "rev_1", "rev_2")
    assert receipt.document == kept
    assert page.calls == ["read", "execute", "verify"]
    assert page.state == ("rev_2", "/new")
    assert held(served, page.key) == []


@pytest.mark.feature("S86")
async def test_a_write_without_a_lease_meets_others_at_the_version(point: AsyncClient, page: Page) -> None:
    """Where the class demands none, no lease is taken, the steps are the same, and no token is shown."""
    tokens: list[Any] = []

    async def execute(turn: Turn) -> None:
        tokens.append(dict(turn.fencing_tokens))
        assert turn.fields == frozenset({"canonical"})
        page.put("rev_2", "/new")

    receipt = await write(point, page.plan(lease=False, execute=execute))

    assert (receipt.status, receipt.steps, tokens) == ("COMPLETED", STEPS, [{}])
    assert receipt.document["lease_id"] is None


@pytest.mark.feature("S78", "S82")
async def test_a_version_that_moved_before_the_read_is_a_stale_plan(
    served: Served, point: AsyncClient, page: Page
) -> None:
    """Planned on rev_1 and read at rev_7: refused at step 7, nothing executed, ended with a receipt."""
    page.put("rev_7", "/other")

    with pytest.raises(StalePlan) as raised:
        await write(point, page.plan())

    receipt = raised.value.receipt
    assert receipt is not None
    assert raised.value.refusal.code == "stale_resource_version"
    assert (receipt.status, receipt.stopped_at, receipt.execution) == ("ABORTED", "validate_precondition", None)
    assert receipt.document["status"] == "ABORTED"
    assert (page.calls, page.state) == (["read"], ("rev_7", "/other"))
    assert held(served, page.key) == []


@pytest.mark.feature("S78", "S82")
async def test_a_version_that_moves_between_read_and_execute_writes_nothing(
    served: Served, point: AsyncClient, page: Page
) -> None:
    """The condition of the write itself finds it; the receipt says that nothing was applied."""

    async def execute(turn: Turn) -> dict[str, Any]:
        page.put("rev_9", "/other")
        return await page.execute(turn)

    with pytest.raises(StalePlan) as raised:
        await write(point, page.plan(execute=execute))

    receipt = raised.value.receipt
    assert receipt is not None
    assert raised.value.refusal.document == {"expected_version": "rev_1", "current_version": "rev_9"}
    assert (receipt.status, receipt.execution, receipt.stopped_at) == ("ABORTED", "failed", "execute")
    happened = served.client("gateway").get(f"/v1/receipts/exec_{receipt.coordination_id}").json()
    assert happened["result"] == "failed"
    assert (page.calls, page.state) == (["read", "execute"], ("rev_9", "/other"))
    assert held(served, page.key) == []


@pytest.mark.feature("S82")
async def test_a_goal_that_is_met_ends_without_a_write(served: Served, point: AsyncClient, page: Page) -> None:
    """Somebody else has written `/new`: nothing is executed, the operation ends with its reason, no lease is held."""
    page.put("rev_4", "/new")

    receipt = await write(point, page.plan(expected_version="rev_4"))

    assert (receipt.status, receipt.goal_met, receipt.execution) == ("ABORTED", True, None)
    assert receipt.document["reason"] == "the goal is met already"
    assert (page.calls, page.state) == (["read"], ("rev_4", "/new"))
    assert held(served, page.key) == []


@pytest.mark.feature("S82", "S87")
async def test_what_needs_a_person_is_told_as_such(served: Served, point: AsyncClient, page: Page) -> None:
    """A choice that a callback will not make ends the write: the person is told what stands to be chosen from."""

    async def execute(_: Turn) -> None:
        raise NeedsPerson.because("two release candidates", candidates=["a", "b"])

    with pytest.raises(NeedsPerson) as raised:
        await write(point, page.plan(execute=execute))

    receipt = raised.value.receipt
    assert receipt is not None
    assert raised.value.refusal.needs_person
    assert raised.value.refusal.document == {"candidates": ["a", "b"]}
    assert (receipt.status, receipt.execution) == ("ABORTED", "failed")
    assert held(served, page.key) == []


@pytest.mark.feature("S86")
@pytest.mark.parametrize(
    ("change", "code", "step"),
    [
        ({"resource": "nothing:of:this:kind"}, "unknown_resource", "resolve_resource"),
        ({"action": "UPDATE_POST_BODY"}, "scope_not_covered", "validate_authority"),
        ({"subject": "instance:nobody"}, "unknown_subject", "validate_authority"),
        ({"subject": "human:editor-2", "action": "UPDATE_TITLE"}, "human_presence", "detect_conflicts"),
    ],
)
async def test_a_refusal_names_the_step_it_came_at(
    served: Served, point: AsyncClient, page: Page, change: dict[str, Any], code: str, step: str
) -> None:
    """Nothing is begun, read or held; the error says code, sentence and step."""
    kind, _, name = page.key.rpartition(":")
    editing = {"actor": "human:editor-1", "resource": {"type": kind, "id": name}, "fields_touched": ["title"]}
    served.client("gateway").post("/v1/presence", json=editing).raise_for_status()
    with pytest.raises(Denied) as raised:
        await write(point, page.plan(**change))

    receipt = raised.value.receipt
    assert receipt is not None
    assert (raised.value.refusal.code, receipt.status, receipt.stopped_at) == (code, "DENIED", step)
    assert (receipt.steps, page.calls) == ((), [])


@pytest.mark.feature("S40", "S86")
async def test_a_frozen_owner_is_told_at_the_owner(served: Served, point: AsyncClient, page: Page) -> None:
    """While the field moves to another owner nothing is begun under the old one."""
    client, actor = served.client("gateway"), {"actor": "controller:seo-control-plane"}
    move = {
        "from": actor["actor"],
        "to": "controller:content-control-plane",
        "fields": ["canonical"],
        "reason": "a test",
    }
    path = client.post("/v1/transfers", json={**actor, **move, "resource": page.key}).json()["transfer_id"]
    for step in ("validate", "freeze"):
        client.post(f"/v1/transfers/{path}/{step}", json=actor).raise_for_status()

    with pytest.raises(Denied) as raised:
        await write(point, page.plan())

    assert raised.value.receipt is not None
    assert (raised.value.refusal.code, raised.value.receipt.stopped_at) == ("owner_frozen", "resolve_owner")
    assert page.calls == []


@pytest.mark.feature("S67", "S86")
async def test_what_is_not_as_it_should_be_is_not_completed(served: Served, point: AsyncClient, page: Page) -> None:
    """A failed verification is recorded, ends the operation, and is never answered by a second write."""

    async def verify(_: Turn) -> Verified:
        return Verified(passed=False, final_version="rev_2")

    with pytest.raises(NotVerified) as raised:
        await write(point, page.plan(verify=verify))

    receipt = raised.value.receipt
    assert receipt is not None
    assert (receipt.status, receipt.execution, receipt.stopped_at) == ("ABORTED", "applied", "verify")
    assert page.calls.count("execute") == 1
    assert held(served, page.key) == []


@pytest.mark.feature("S86")
@pytest.mark.parametrize(
    ("step", "execution", "status", "stopped_at"),
    [
        ("read", None, "ABORTED", "read_version"),
        ("execute", "unknown", "OUTCOME_UNKNOWN", "execute"),
        ("verify", "applied", "ABORTED", "verify"),
    ],
)
async def test_a_callback_that_fails_leaves_a_receipt(
    served: Served, point: AsyncClient, page: Page, step: str, execution: str | None, status: str, stopped_at: str
) -> None:
    """Whatever it raises is the cause; what nobody knows is recorded as unknown, and nothing stays held."""

    async def fail(_: Turn) -> Any:
        raise ConnectionResetError("the resource hung up")

    with pytest.raises(CallbackFailed) as raised:
        await write(point, page.plan(**{step: fail}))

    receipt = raised.value.receipt
    assert receipt is not None
    assert isinstance(raised.value.__cause__, ConnectionResetError)
    assert (receipt.status, receipt.execution, receipt.stopped_at) == (status, execution, stopped_at)
    assert receipt.document["status"] == status
    assert held(served, page.key) == []


@pytest.mark.feature("S86")
async def test_a_caller_that_is_cancelled_leaves_a_receipt(served: Served, point: AsyncClient, page: Page) -> None:
    """Cancelled in the middle of `execute` the operation ends at once, with an unknown outcome, and nothing is held."""
    started = asyncio.Event()
    turns: list[Turn] = []

    async def execute(turn: Turn) -> None:
        turns.append(turn)
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(write(point, page.plan(execute=execute)))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    receipt = served.client("gateway").get(f"/v1/receipts/{turns[0].coordination_id}").json()
    assert receipt["status"] == "OUTCOME_UNKNOWN"
    assert held(served, page.key) == []


def test_a_plan_names_a_whole_subject(page: Page) -> None:
    """A subject without a kind is a mistake of the program, told as one."""
    plan: Plan = page.plan(subject="seo-agent-7")

    with pytest.raises(ValueError, match="seo-agent-7"):
        asyncio.run(write(None, plan))  # type: ignore[arg-type]
