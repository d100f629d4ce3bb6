"""Queues: five policies, places, deadlines, deadlocks, retry hints, quotas and waiting clients."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.instant import SECOND
from remit_service.coordination.bounds import LeasePolicy, Limits
from tests.support.desk import codes, desk_on, open_desk, question, sqlite_again, sqlite_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.support.desk import Desk

ARRIVALS = ["instance:a", "instance:heavy-1", "instance:release-1", "instance:b", "instance:heavy-2"]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk on a fresh embedded store."""
    async with desk_on(sqlite_in(tmp_path)) as opened:
        yield opened


async def release(desk: Desk, lease: dict[str, Any]) -> None:
    """Give a lease back."""
    await desk.leases.release(lease["lease_id"], desk.caller, token=lease["lease_epoch"])


async def served(desk: Desk, key: str, first: dict[str, Any], turns: int) -> list[str]:
    """Release whatever is held on a key, again and again; return who was granted, in order."""
    order: list[str] = []
    lease = first
    for _ in range(turns):
        await release(desk, lease)
        (lease,) = desk.leases.held(under=key)
        order.append(lease["holder"])
    return order


@pytest.mark.feature("S73")
@pytest.mark.parametrize(
    ("policy", "order"),
    [
        ("fifo", ["a", "heavy-1", "release-1", "b", "heavy-2"]),
        ("priority", ["release-1", "a", "heavy-1", "b", "heavy-2"]),
        ("fair", ["a", "heavy-1", "heavy-2", "release-1", "b"]),
        ("deadline", ["heavy-2", "b", "release-1", "heavy-1", "a"]),
        ("incident", ["commander", "a", "heavy-1", "release-1", "b", "heavy-2"]),
    ],
)
async def test_one_arrival_sequence_and_five_orders(tmp_path: Path, policy: str, order: list[str]) -> None:
    """Each acquisition policy serves the same arrivals in its own order."""
    tables = {"weights": {"role:heavy": 4}}
    async with desk_on(sqlite_in(tmp_path), tables=tables) as desk:
        key = f"queue:{policy}:1"
        held = (await desk.take("instance:d", "WORK", key, ttl=600)).body["lease"]
        for place, who in enumerate(ARRIVALS):
            await desk.to(place * 0.1)
            await desk.take(who, "WORK", key, wait=100 - 10 * place, keep_alive=100, ttl=600)
        if policy == "incident":
            await declare(desk, key)
            await desk.take("human:commander", "WORK", key, wait=100, keep_alive=100, ttl=600)
        order_served = await served(desk, key, held, len(order))

    assert [each.partition(":")[2] for each in order_served] == order


async def declare(desk: Desk, key: str, severity: str = "SEV1", status: str = "OPEN") -> None:
    """Declare an incident on a key."""
    asked = question("human:commander", "DECLARE_INCIDENT", key)
    reply = await desk.signals.incident(
        asked, desk.caller, incident_id="inc-1", actor="human:commander", severity=severity, status=status
    )
    assert not reply.is_refused, reply


@pytest.mark.feature("S73")
async def test_weighted_shares_converge(tmp_path: Path) -> None:
    """A role of weight 3 gets three turns for every one of the others, as long as both ask."""
    async with desk_on(sqlite_in(tmp_path), tables={"weights": {"role:heavy": 3}}) as desk:
        key = "queue:fair:1"
        lease = (await desk.take("instance:d", "WORK", key, ttl=600)).body["lease"]
        turns: list[str] = []
        for _ in range(24):
            for who in ("instance:a", "instance:b", "instance:heavy-1", "instance:heavy-2"):
                if who not in {each["holder"] for each in desk.leases.queue(key)} and lease["holder"] != who:
                    await desk.take(who, "WORK", key, wait=600, keep_alive=600, ttl=600)
            await release(desk, lease)
            (lease,) = desk.leases.held(under=key)
            turns.append("heavy" if "heavy" in lease["holder"] else "light")

    assert 17 <= turns.count("heavy") <= 19


@pytest.mark.feature("S73")
async def test_the_place_in_a_queue_is_seen_and_survives_a_restart(desk: Desk, tmp_path: Path) -> None:
    """Who waits behind whom and why, in this process and in another one."""
    held = (await desk.take("instance:a", "WORK", "queue:fifo:1")).body["lease"]
    first = await desk.take("instance:b", "WORK", "queue:fifo:1", wait=60)
    second = await desk.take("instance:c", "WORK", "queue:fifo:1", wait=60)
    other = await open_desk(await sqlite_again(tmp_path, desk.clock), desk.clock)
    try:
        queue = other.leases.queue("queue:fifo:1")
    finally:
        await other.point.aclose()

    assert (first.body["position"], second.body["position"]) == (1, 2)
    assert [(each["holder"], each["position"]) for each in queue] == [("instance:b", 1), ("instance:c", 2)]
    assert queue == desk.leases.queue("queue:fifo:1")
    assert [each["holder"] for each in queue[1]["waits_for"]] == ["instance:a", "instance:b"]
    assert queue[0]["waits_for"][0]["lease_id"] == held["lease_id"]


@pytest.mark.feature("S71")
async def test_a_wait_has_its_end(desk: Desk) -> None:
    """At its deadline nothing is held by the waiter, and it is told to come back later."""
    await desk.take("instance:a", "WORK", "queue:fifo:1", ttl=600)
    waiting = await desk.take("instance:b", "WORK", "queue:fifo:1", wait=10, keep_alive=30)
    await desk.to(10)
    await desk.sweep()
    told = await desk.leases.wait(waiting.body["waiter_id"], desk.caller)

    assert (told.code, told.outcome) == ("coordination_timeout", "wait")
    assert told.message == "`queue:fifo:1` did not become free within 10 s"
    assert desk.leases.held(holder="instance:b") == []


@pytest.mark.feature("S70")
async def test_a_wait_that_would_close_a_cycle_is_refused(tmp_path: Path) -> None:
    """Without lock order the pair is found when the second begins to wait, and the youngest gives way."""
    tables = {"leases": LeasePolicy(ordered=False)}
    async with desk_on(sqlite_in(tmp_path), tables=tables) as desk:
        await desk.take("instance:a", "WORK", "queue:fifo:100")
        await desk.take("instance:b", "WORK", "queue:fifo:101")
        first = await desk.take("instance:a", "WORK", "queue:fifo:101", wait=60)
        second = await desk.take("instance:b", "WORK", "queue:fifo:100", wait=60)

    assert first.is_waiting
    assert (second.code, second.body["holder"]) == ("deadlock_avoided", "instance:a")


@pytest.mark.feature("S70")
async def test_a_cycle_over_the_queue_is_found_too(tmp_path: Path) -> None:
    """A waits for B's place in a queue, which waits for A's lease."""
    tables = {"leases": LeasePolicy(ordered=False)}
    async with desk_on(sqlite_in(tmp_path), tables=tables) as desk:
        await desk.take("instance:a", "WORK", "queue:fifo:1")
        await desk.take("instance:c", "WORK", "queue:fifo:2")
        await desk.begin("instance:b", "WORK", "queue:fifo:1", "queue:fifo:2", wait=60)
        second = await desk.take("instance:a", "WORK", "queue:fifo:2", wait=60)

    assert second.code == "deadlock_avoided"


@pytest.mark.feature("S70")
async def test_keys_are_taken_in_one_order(desk: Desk) -> None:
    """By rank and then by key; whoever holds a higher one does not ask for a lower, together is always possible."""
    await desk.take("instance:a", "WORK", "queue:fifo:101")
    lower = await desk.take("instance:a", "WORK", "queue:fifo:100")
    ranked = await desk.take("instance:a", "UPDATE_CANONICAL", "wp:post:1024")
    higher = await desk.take("instance:a", "WORK", "queue:fifo:102")
    together = await desk.begin("instance:b", "WORK", "queue:fifo:202", "queue:fifo:201")

    assert (lower.code, ranked.code) == ("lock_order_violated", "lock_order_violated")
    assert lower.message == "`queue:fifo:100` comes before `queue:fifo:101`, which is held already"
    assert (higher.code, together.code) == (None, None)


@pytest.mark.feature("S55", "S74", "S88")
async def test_a_crowd_does_not_come_back_at_once(desk: Desk) -> None:
    """Ten losers get ten different hints, none before the lease ends, and wider apart the longer the queue is."""
    await desk.take("instance:d", "WORK", "queue:fifo:1", ttl=30)
    await desk.join("team:workers", *(f"instance:loser-{number}" for number in range(10)))
    hints = []
    for number in range(10):
        reply = await desk.take(f"instance:loser-{number}", "WORK", "queue:fifo:1")
        assert reply.code == "resource_busy"
        hints.append(reply.retry_at or 0)

    assert len(set(hints)) == 10
    assert all(desk.instant(30) <= each < desk.instant(31) for each in hints)
    for _ in range(5):
        await desk.take("instance:b", "WORK", "queue:fifo:1", wait=60)
    late = [(await desk.take(f"instance:loser-{number}", "WORK", "queue:fifo:1")).retry_at or 0 for number in range(10)]
    assert max(late) - desk.instant(30) > SECOND


@pytest.mark.feature("S72")
async def test_two_polite_agents_make_progress(desk: Desk) -> None:
    """Both ask for both keys and give up when told to: the older always wins, in one round."""
    winners = []
    for _ in range(5):
        first = await desk.begin("instance:a", "WORK", "queue:fifo:1", "queue:fifo:2")
        second = await desk.begin("instance:b", "WORK", "queue:fifo:1", "queue:fifo:2")
        winners.append((first.code, second.code))
        await desk.operations.abort(first.body["coordination_id"], desk.caller, reason="next round")

    assert winners == [(None, "resource_busy")] * 5


@pytest.mark.feature("S75")
async def test_a_priority_of_ones_own_counts_for_nothing(desk: Desk) -> None:
    """What a request says about its priority reaches neither the queue nor the policy."""
    held = (await desk.take("instance:d", "WORK", "queue:priority:1")).body["lease"]
    await desk.take("instance:a", "WORK", "queue:priority:1", wait=60, context={"priority": "CRITICAL"})
    await desk.take("instance:release-1", "WORK", "queue:priority:1", wait=60)
    queue = desk.leases.queue("queue:priority:1")

    assert [(each["holder"], each["priority"]) for each in queue] == [("instance:release-1", 50), ("instance:a", 10)]
    assert await served(desk, "queue:priority:1", held, 1) == ["instance:release-1"]


@pytest.mark.feature("S77")
async def test_a_wait_beyond_the_bound_is_told_of(desk: Desk) -> None:
    """Crossing the ageing bound raises FM-039, with how long it was and how long it may be."""
    held = (await desk.take("instance:a", "WORK", "queue:fifo:1", ttl=600)).body["lease"]
    await desk.take("instance:b", "WORK", "queue:fifo:1", wait=600, keep_alive=600)
    await desk.to(61)
    await release(desk, held)
    (notice,) = desk.signals.notices("instance:b")

    assert (notice["failure_mode"], notice["waited_us"], notice["bound_us"]) == ("FM-039", 61 * SECOND, 60 * SECOND)


async def test_a_waiting_client_is_woken_by_the_step_that_grants(desk: Desk) -> None:
    """A long poll ends as soon as the lease is there, with what `begin` would have said."""
    held = (await desk.take("instance:a", "WORK", "queue:fifo:1")).body["lease"]
    waiting = await desk.begin("instance:b", "WORK", "queue:fifo:1", wait=60)
    poll = asyncio.create_task(desk.leases.wait(waiting.body["waiter_id"], desk.caller, within_seconds=30))
    await asyncio.sleep(0)
    still = await desk.leases.wait(waiting.body["waiter_id"], desk.caller)
    await release(desk, held)
    granted = await poll

    assert (still.is_waiting, still.body["position"]) == (True, 1)
    assert granted.body["lease"]["holder"] == "instance:b"
    assert granted.body["state"] == "BEGUN"
    assert granted.body["coordination_id"] == waiting.body["coordination_id"]


async def test_asking_keeps_a_wait_alive(desk: Desk) -> None:
    """A waiter that asks in time is granted long after its first waiter lease would have ended."""
    await desk.take("instance:a", "WORK", "queue:fifo:1", ttl=25)
    waiting = await desk.take("instance:b", "WORK", "queue:fifo:1", wait=60, keep_alive=5)
    for second in range(3, 25, 3):
        await desk.to(second)
        await desk.leases.wait(waiting.body["waiter_id"], desk.caller)
    await desk.to(25)
    await desk.sweep()

    assert desk.holders("queue:fifo:1") == ["instance:b"]


async def test_who_leaves_a_queue_holds_nobody_up(desk: Desk) -> None:
    """Leaving frees the place, a second time changes nothing, and nobody can leave for another."""
    await desk.take("instance:s-1", "UPDATE_SITE", "site:102:about-pages:p1", ttl=600)
    whole = await desk.take("instance:s-2", "UPDATE_SITE", "site:102:about-pages", wait=60)
    await desk.join("team:site", "instance:a")
    behind = await desk.take("instance:a", "UPDATE_SITE", "site:102:about-pages:p2", wait=60)
    left = await desk.leases.leave(whole.body["waiter_id"], desk.caller)
    again = await desk.leases.leave(whole.body["waiter_id"], desk.caller)

    assert behind.is_waiting
    assert (left.body["state"], again.body["state"]) == ("LEFT", "LEFT")
    assert desk.holders("site:102:about-pages") == ["instance:a", "instance:s-1"]


async def test_quotas_name_the_limit(tmp_path: Path) -> None:
    """Per principal and per enforcement point; the refusal says which, how many there are and how many may be."""
    limits = Limits(principal=replace(Limits().principal, lease=2, waiter=1))
    async with desk_on(sqlite_in(tmp_path), tables={"limits": limits}) as desk:
        await desk.take("instance:b", "WORK", "queue:fifo:9", ttl=600)
        for number in range(2):
            await desk.take("instance:a", "WORK", f"queue:fifo:{number}")
        third = await desk.take("instance:a", "WORK", "queue:fifo:3")
        await desk.take("instance:c", "WORK", "queue:fifo:9", wait=60)
        second_wait = await desk.take("instance:c", "WORK", "queue:fifo:9", wait=60)

    assert (third.code, second_wait.code) == ("limit_exceeded", "limit_exceeded")
    assert third.message == "leases of `instance:a` is limited to 2, and 2 are there"


async def test_too_many_commands_a_second_are_refused(tmp_path: Path) -> None:
    """The rate is measured on the monotonic clock, and the refusal says when to try again."""
    limits = Limits(principal=replace(Limits().principal, commands_per_second=3))
    async with desk_on(sqlite_in(tmp_path), tables={"limits": limits}) as desk:
        desk.coordinator.rates = type(desk.coordinator)(desk.point).rates
        replies = [await desk.take("instance:a", "WORK", f"queue:fifo:{number}") for number in range(5)]
        await desk.to(1)
        later = await desk.take("instance:a", "WORK", "queue:fifo:9")

    assert [each.code for each in replies] == [None, None, None, "limit_exceeded", "limit_exceeded"]
    assert replies[3].retry_after_seconds(desk.instant(0)) == 1
    assert later.code is None


@pytest.mark.feature("S76")
async def test_an_incident_takes_over_and_the_loser_is_told(desk: Desk) -> None:
    """SEV1 and an edge: the fence is raised, the old holder is fenced out, notified and recorded; without, refused."""
    lease = (await desk.begin("instance:a", "WORK", "queue:fifo:1", ttl=600)).body["lease"]
    before = await desk.take("human:commander", "WORK", "queue:fifo:1", preempt=True)
    await declare(desk, "queue:fifo:1", severity="SEV2")
    minor = await desk.take("human:commander", "WORK", "queue:fifo:1", preempt=True)
    await declare(desk, "queue:fifo:1", severity="SEV1")
    offered = await desk.take("human:commander", "WORK", "queue:fifo:1")
    told = asyncio.create_task(desk.signals.wait_for_news("instance:a", within_seconds=60))
    taken = await desk.take("human:commander", "WORK", "queue:fifo:1", preempt=True)
    late = await desk.present(lease, "WORK", expected_version="v1")
    (notice,) = await told
    no_more = await desk.signals.wait_for_news("instance:a", after=notice["id"])
    (conflict,) = desk.signals.conflicts()

    assert "preemption_not_authorized" in codes(before)
    assert "preemption_not_authorized" in codes(minor)
    assert (offered.code, offered.outcome) == ("resource_busy", "preempt")
    assert taken.body["lease"]["lease_epoch"] > lease["lease_epoch"]
    assert {"preempted", "stale_fencing_token"} <= set(late.codes)
    assert no_more == []
    assert (notice["code"], notice["dirty_keys"], notice["by"]) == ("preempted", ["queue:fifo:1"], "human:commander")
    expected = {
        "contenders": ["instance:a", "human:commander"],
        "conflict_type": "WRITE_WRITE",
        "decision": "preempt",
        "winner": "human:commander",
        "reason_code": "incident_priority",
        "incident_id": "inc-1",
        "keys": ["queue:fifo:1"],
    }
    assert {name: conflict[name] for name in expected} == expected


@pytest.mark.feature("S72", "S76")
async def test_the_loser_of_a_takeover_rests_before_it_takes_over(desk: Desk) -> None:
    """Within the cooldown even an edge and a higher priority do not help."""
    await declare(desk, "queue:fifo:1")
    await desk.take("instance:release-1", "WORK", "queue:fifo:1", ttl=600)
    await desk.take("human:commander", "WORK", "queue:fifo:1", preempt=True, ttl=600)
    edge = {"version": 1, "edge": "MAY_PREEMPT", "epoch": 1, "issuer": "organization:desk"}
    await desk.append(
        ("edge.begin", {**edge, "edge_id": "p-back", "from": "instance:release-1", "to": "instance:a"}),
    )
    await desk.take("instance:a", "WORK", "queue:fifo:2", ttl=600)
    soon = await desk.take("instance:release-1", "WORK", "queue:fifo:2", preempt=True)
    await desk.to(10)
    later = await desk.take("instance:release-1", "WORK", "queue:fifo:2", preempt=True)

    assert "preemption_cooldown" in codes(soon)
    assert later.code is None
