"""Ownership transfer: seven steps, an abort, and never two owners."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_graph.view.ground import ground_of
from tests.support.desk import codes, desk_on, question, sqlite_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from remit_service.coordinator.reply import Reply
    from tests.support.desk import Desk

POST = "wp:post:1024"
CANONICAL = "UPDATE_CANONICAL"
STEPS = ["validate", "freeze", "transfer", "register", "verify", "retire"]
VERSION = {"expected_version": "v1"}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk on a fresh embedded store."""
    async with desk_on(sqlite_in(tmp_path)) as opened:
        yield opened


async def propose(desk: Desk, *, resource: str = "wp:post:*", actor: str = "human:owner", **more: Any) -> Reply:
    """Propose to move the canonical from the SEO controller to the plugin."""
    options: dict[str, Any] = {
        "transfer_id": "t-1",
        "from_owner": "controller:seo",
        "to_owner": "controller:plugin",
        "resource": resource,
        "fields": ("canonical",),
        "reason": "the plugin takes it over",
        **more,
    }
    return await desk.signals.propose_transfer(desk.caller, actor=actor, **options)


async def step(desk: Desk, name: str, **more: Any) -> Reply:
    """Take the transfer one step on."""
    probes = [question("instance:plugin-1", CANONICAL, POST), question("instance:a", CANONICAL, POST)]
    shown = {"probes": probes} if name == "verify" else {}
    return await desk.signals.step_transfer("t-1", name, desk.caller, actor="human:owner", **{**shown, **more})


async def may(desk: Desk, who: str) -> list[str]:
    """Return what stands against a write of the canonical."""
    return list((await desk.ask(who, CANONICAL, POST, VERSION)).codes)


def owners(desk: Desk, field: str = "canonical", key: str = POST) -> list[str]:
    """Return who owns a field of a resource, by the facts of a decision."""
    view = desk.point.view
    ground = ground_of(view, key, desk.point.now())
    return sorted(
        edge.from_
        for selector in ground.covering
        for edge in view.owners.get(selector, {}).values()
        if (edge.scope.fields is None or field in edge.scope.fields) and not any(map(ground.under, edge.except_))
    )


@pytest.mark.feature("S36", "S39", "S40", "S113")
async def test_a_transfer_walks_its_seven_steps(desk: Desk) -> None:
    """At each step what the old and the new writer may; at the end the old owner has nothing left there."""
    await propose(desk)
    allowed: list[tuple[str, list[str], list[str]]] = []
    for name in STEPS:
        reply = await step(desk, name)
        assert not reply.is_refused, (name, reply)
        allowed.append((name, await may(desk, "instance:a"), await may(desk, "instance:plugin-1")))

    before, frozen = allowed[0], allowed[1]
    assert before[1] == []
    assert "owner_frozen" in frozen[1]
    assert [old == [] for _, old, _ in allowed] == [True, False, False, False, False, False]
    assert [new == [] for _, _, new in allowed] == [False, False, False, False, True, True]
    assert owners(desk) == ["controller:plugin"]
    transfer = desk.signals.transfer("t-1")
    assert transfer is not None
    assert [each["step"] for each in transfer["steps"]] == ["propose", *STEPS]
    assert desk.point.view.edges["own.t-1"].ownership_epoch == 2
    assert desk.point.view.edges["own-seo"].ownership_epoch == 1


@pytest.mark.feature("S36")
async def test_the_old_epoch_is_stale(desk: Desk) -> None:
    """A writer that planned under ownership epoch 1 is told so once 2 is current."""
    await propose(desk)
    for name in STEPS:
        await step(desk, name)
    planned = await desk.ask("instance:plugin-1", CANONICAL, POST, {**VERSION, "ownership_epoch": 1})
    current = await desk.ask("instance:plugin-1", CANONICAL, POST, {**VERSION, "ownership_epoch": 2})

    assert planned.codes == ("stale_ownership_epoch",)
    assert current.outcome == "execute"


@pytest.mark.feature("S40")
async def test_a_step_out_of_order_is_refused(desk: Desk) -> None:
    """Each step leads on from one state only."""
    await propose(desk)
    refused: list[str | None] = []
    for name in STEPS:
        refused += [(await step(desk, other)).code for other in STEPS if other != name]
        await step(desk, name)

    assert set(refused) == {"invalid_transition"}
    assert (await step(desk, "abort")).code == "invalid_transition"


@pytest.mark.feature("S40")
async def test_the_owner_or_a_root_proposes(desk: Desk) -> None:
    """Nobody else, not without owning it, and not twice."""
    stranger = await propose(desk, actor="instance:a")
    unowned = await propose(desk, fields=("body",))
    first = await propose(desk, actor="human:root")
    second = await propose(desk, transfer_id="t-2")

    assert "not_owner" in codes(stranger)
    assert unowned.code == "not_owner"
    assert first.code is None
    assert second.code == "already_exists"


@pytest.mark.feature("S40")
async def test_an_owner_that_is_not_able_is_refused(desk: Desk) -> None:
    """A disabled or unknown heir, or one of a kind that cannot own."""
    for name, heir in (("t-2", "controller:nobody"), ("t-3", "instance:a")):
        await propose(desk, transfer_id=name, to_owner=heir)
        reply = await desk.signals.step_transfer(name, "validate", desk.caller, actor="human:owner")
        assert reply.code == "not_verified"
        await desk.signals.step_transfer(name, "abort", desk.caller, actor="human:owner")


@pytest.mark.feature("S40", "S113")
async def test_an_operation_from_before_the_freeze_may_finish_until_the_deadline(desk: Desk) -> None:
    """It writes and is not renewed; the transfer waits for it, and past the deadline ends it REVOKED (ownership)."""
    lease = (await desk.take("instance:a", CANONICAL, POST, ttl=600)).body["lease"]
    await propose(desk, freeze_us=30_000_000)
    await step(desk, "validate")
    await step(desk, "freeze")
    write = await desk.present(lease, CANONICAL, **VERSION)
    renewal = await desk.leases.renew(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
    start = await desk.begin("instance:b", CANONICAL, POST)
    early = await step(desk, "transfer")
    await desk.to(30)
    late = await desk.present(lease, CANONICAL, **VERSION)
    moved = await step(desk, "transfer")
    after = await desk.present(lease, CANONICAL, **VERSION)

    assert write.outcome == "execute"
    assert (renewal.code, start.code) == ("owner_frozen", "owner_frozen")
    assert (early.code, early.body["holder"], early.retry_at) == ("resource_busy", "instance:a", desk.instant(30))
    assert "owner_frozen" in late.codes
    assert moved.body["steps"][-1]["evidence"]["leases"] == [lease["lease_id"]]
    gone = desk.lease(lease["lease_id"])
    assert (gone["state"], gone["cause"]) == ("REVOKED", "ownership")
    assert {"lease_revoked", "stale_fencing_token"} <= set(after.codes)


@pytest.mark.feature("S33")
async def test_f068_a_transfer_ends_the_lease_and_asks_the_waiter_again(desk: Desk) -> None:
    """The lease of the old owner's agent ends with the transfer; a waiter is granted only if the new owner permits."""
    await desk.take("instance:a", CANONICAL, POST, ttl=10)
    waiting = await desk.take("instance:c", CANONICAL, POST, wait=600, keep_alive=600)
    await propose(desk, freeze_us=1_000_000)
    await step(desk, "validate")
    await step(desk, "freeze")
    await desk.to(5)
    await step(desk, "transfer")
    told = desk.leases.told(desk.coordinator.waiting.find(waiting.body["waiter_id"]), waiting.body["waiter_id"])

    assert told.is_refused
    assert desk.holders(POST) == []


@pytest.mark.feature("S40")
async def test_a_failed_verification_stays_frozen(desk: Desk) -> None:
    """Where the new writer may not, the transfer stays REGISTERED for review, with the epoch already raised."""
    await propose(desk)
    for name in STEPS[:4]:
        await step(desk, name)
    wrong = [question("instance:z", CANONICAL, POST), question("instance:a", CANONICAL, POST)]
    failed = await step(desk, "verify", probes=wrong)
    frozen = await may(desk, "instance:plugin-1")
    passed = await step(desk, "verify")

    assert failed.body["state"] == "REGISTERED"
    assert failed.body["steps"][-1]["evidence"]["passed"] is False
    assert "owner_frozen" in frozen
    assert passed.body["state"] == "VERIFIED"
    assert await may(desk, "instance:plugin-1") == []


@pytest.mark.feature("S40")
async def test_a_part_of_the_resources_moves_and_the_rest_stays(desk: Desk) -> None:
    """One post goes to the plugin; the grants and delegations on the others stay good, its own other fields too."""
    await propose(desk, resource=POST)
    for name in STEPS:
        await step(desk, name)
    others = [
        await desk.ask("instance:b", CANONICAL, "wp:post:1025", VERSION),
        await desk.ask("human:editor", CANONICAL, "wp:post:1025", VERSION),
        await desk.ask("instance:b", "UPDATE_META", POST, VERSION),
    ]
    moved = await desk.ask("human:editor", CANONICAL, POST, VERSION)

    assert [each.outcome for each in others] == ["execute", "execute", "execute"]
    assert {"stale_ownership_epoch", "not_owner"} & set(moved.codes)
    assert owners(desk) == ["controller:plugin"]
    assert owners(desk, key="wp:post:1025") == ["controller:seo"]


PLANS = st.lists(st.sampled_from([*STEPS, "abort"]), min_size=1, max_size=14)


@pytest.mark.feature("S116")
@given(plan=PLANS)
@settings(max_examples=12)
def test_one_owner_at_every_revision(plan: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever steps are tried in whatever order, a field has one owner after each of them."""

    async def walk() -> list[list[str]]:
        async with desk_on(sqlite_in(tmp_path_factory.mktemp("desk"))) as desk:
            await propose(desk)
            found = [owners(desk)]
            for name in plan:
                await step(desk, name)
                found.append(owners(desk))
            return found

    assert {len(each) for each in asyncio.run(walk())} == {1}


@pytest.mark.feature("S40")
@given(stop=st.integers(0, 2))
@settings(max_examples=3)
def test_transfer_aborts_cleanly(stop: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """After an abort everything decides as before the proposal."""

    async def walk() -> tuple[Any, Any, str]:
        async with desk_on(sqlite_in(tmp_path_factory.mktemp("desk"))) as desk:
            before = await everything(desk)
            await propose(desk)
            for name in STEPS[:stop]:
                await step(desk, name)
            reply = await step(desk, "abort")
            return before, await everything(desk), reply.body["state"]

    before, after, state = asyncio.run(walk())
    assert before == after
    assert state == "ABORTED"


async def everything(desk: Desk) -> Any:
    """Return edges, frozen fields and what some decisions say."""
    edges = {edge.position for edge in desk.point.view.edges.values()}
    asked = [await may(desk, who) for who in ("instance:a", "instance:plugin-1", "human:editor")]
    return edges, dict(desk.point.view.coordination.frozen), asked
