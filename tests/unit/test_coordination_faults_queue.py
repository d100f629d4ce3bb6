"""Fault cases of queues, revocation and preemption: F064, F067, F068, F070."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from remit_service.bundle.folder import shipped_policy
from tests.support.desk import codes, desk_on, sqlite_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.desk import Desk

POST = "wp:post:1024"
CANONICAL = "UPDATE_CANONICAL"


async def release(desk: Desk, lease: dict[str, Any]) -> None:
    """Give a lease back."""
    reply = await desk.leases.release(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
    assert not reply.is_refused, reply


def current(desk: Desk, key: str) -> dict[str, Any]:
    """Return the one live lease on a key."""
    (lease,) = desk.leases.held(under=key)
    return lease


@pytest.mark.feature("S73", "S77")
async def test_f064_a_holder_that_comes_back_waits_its_turn(tmp_path: Path) -> None:
    """FIFO: who releases and asks again stands behind those who wait already."""
    async with desk_on(sqlite_in(tmp_path)) as desk:
        first = (await desk.take("instance:a", "WORK", "queue:fifo:1")).body["lease"]
        for who in ("instance:b", "instance:c"):
            await desk.take(who, "WORK", "queue:fifo:1", wait=60)
        await release(desk, first)
        again = await desk.take("instance:a", "WORK", "queue:fifo:1", wait=60)
        order = [current(desk, "queue:fifo:1")["holder"]]
        for _ in range(2):
            await release(desk, current(desk, "queue:fifo:1"))
            order.append(current(desk, "queue:fifo:1")["holder"])

    assert again.is_waiting
    assert order == ["instance:b", "instance:c", "instance:a"]


def priorities(**roles: int) -> dict[str, str]:
    """Return policy data with these priorities."""
    path = "remit/config/data.yaml"
    data = yaml.safe_load((shipped_policy() / path).read_text())
    data["priorities"] = {
        "default": 1,
        "roles": {f"role:{name}": value for name, value in roles.items()},
        "incidents": {},
    }
    return {path: yaml.safe_dump(data)}


@pytest.mark.feature("S75", "S77")
async def test_f064_a_stream_of_high_priority_starves_nobody(tmp_path: Path) -> None:
    """PRIORITY: a waiter of priority 1 is granted 60 s after it began to wait at the latest, under a stream of 9."""
    async with desk_on(sqlite_in(tmp_path), policy=priorities(heavy=9)) as desk:
        await desk.take("instance:heavy-1", "WORK", "queue:priority:1", ttl=600)
        await desk.take("instance:z", "WORK", "queue:priority:1", wait=600, keep_alive=600)
        granted_at: float | None = None
        holders: list[str] = []
        for tick in range(1, 61):
            await desk.to(tick)
            other = f"instance:heavy-{2 if tick % 2 else 1}"
            await desk.take(other, "WORK", "queue:priority:1", wait=5, keep_alive=600, ttl=600)
            await release(desk, current(desk, "queue:priority:1"))
            holders.append(current(desk, "queue:priority:1")["holder"])
            if holders[-1] == "instance:z":
                granted_at = desk.at
                break

    assert granted_at == 60.0
    assert set(holders[:-1]) <= {"instance:heavy-1", "instance:heavy-2"}


@pytest.mark.feature("S72", "S73")
async def test_f064_within_one_priority_age_decides(tmp_path: Path) -> None:
    """Of equal priority the older goes first, whatever its name."""
    async with desk_on(sqlite_in(tmp_path)) as desk:
        held = (await desk.take("instance:a", "WORK", "queue:priority:1", ttl=600)).body["lease"]
        for second, who in enumerate(("instance:z", "instance:b", "instance:c"), 1):
            await desk.to(second)
            await desk.take(who, "WORK", "queue:priority:1", wait=60, keep_alive=60)
        order = []
        await release(desk, held)
        for _ in range(3):
            order.append(current(desk, "queue:priority:1")["holder"])
            await release(desk, current(desk, "queue:priority:1"))

    assert order == ["instance:z", "instance:b", "instance:c"]


@pytest.mark.feature("S62", "S65")
async def test_f067_concurrent_clients_never_share_a_token(tmp_path: Path) -> None:
    """Fifty clients acquire and release at once: no two grants have one token, and it is up by one each at least."""
    rounds = 4
    async with desk_on(sqlite_in(tmp_path)) as desk:
        tokens: list[int] = []
        await desk.join("team:workers", *(f"instance:client-{number}" for number in range(50)))

        async def client(number: int) -> None:
            for _ in range(rounds):
                who = f"instance:client-{number}"
                reply = await desk.take(who, "WORK", "queue:fifo:1", wait=60, keep_alive=60)
                if reply.is_waiting:
                    reply = await desk.leases.wait(reply.body["waiter_id"], desk.caller, within_seconds=30)
                assert "lease" in reply.body, reply
                lease = reply.body["lease"]
                tokens.append(lease["lease_epoch"])
                await release(desk, lease)

        before = desk.point.view.revision
        await asyncio.gather(*(client(number) for number in range(50)))

    assert len(tokens) == 50 * rounds
    assert len(set(tokens)) == len(tokens)
    assert max(tokens) - before >= 50 * rounds


@pytest.mark.feature("S62")
async def test_f067_of_a_renewal_and_an_acquisition_at_the_end_one_wins(tmp_path: Path) -> None:
    """At the moment of expiry exactly one of the two is appended; the other is told why not."""
    outcomes: set[tuple[str | None, str | None]] = set()
    async with desk_on(sqlite_in(tmp_path)) as desk:
        for race in range(20):
            key = f"queue:fifo:{race:02}"
            lease = (await desk.take("instance:a", "WORK", key, ttl=10)).body["lease"]
            desk.clock.advance(10 if race % 2 else 9.999999)
            await desk.point.replica.catch_up()
            calls = [
                desk.leases.renew(lease["lease_id"], desk.caller, token=lease["lease_epoch"]),
                desk.take("instance:b", "WORK", key),
            ]
            renewal, taken = await asyncio.gather(*calls)
            outcomes.add((renewal.code, taken.code))
            assert (renewal.code is None) != (taken.code is None)
            assert len(desk.holders(key)) == 1

    assert outcomes == {(None, "resource_busy"), ("lease_expired", None)}


@pytest.mark.feature("S33", "S112")
async def test_f068_revocation_ends_the_lease_and_asks_the_waiters_again(tmp_path: Path) -> None:
    """Who lost its delegation while it waited is told so at once; the lease of another ends with its own."""
    async with desk_on(sqlite_in(tmp_path)) as desk:
        lease = (await desk.take("instance:a", CANONICAL, POST)).body["lease"]
        second = await desk.take("instance:b", CANONICAL, POST, wait=60)
        await desk.take("instance:c", CANONICAL, POST, wait=60)
        gone = await desk.revoke("del-b")
        told = desk.leases.told(desk.coordinator.waiting.find(second.body["waiter_id"]), second.body["waiter_id"])
        before = desk.point.view.revision
        ended = await desk.revoke("del-a")

        denied = await desk.present(lease, CANONICAL, expected_version="v1")
        assert gone == {"waiter": [second.body["waiter_id"]]}
        assert told.code == "delegation_revoked"
        assert ended == {"lease": [lease["lease_id"]]}
        assert desk.point.view.revision == before + 1
        assert {"delegation_revoked", "lease_revoked", "stale_fencing_token"} <= set(denied.codes)
        stale = next(each for each in denied.reasons if each.code == "stale_fencing_token")
        assert stale.facts["current_token"] == before + 1
        assert desk.holders(POST) == ["instance:c"]
        assert current(desk, POST)["lease_epoch"] == before + 1


@pytest.mark.feature("S75", "S76")
async def test_f070_taking_over_needs_an_edge_a_priority_and_patience(tmp_path: Path) -> None:
    """No edge, an ended edge and equal priority are refused; both ways there is one takeover at most."""
    async with desk_on(sqlite_in(tmp_path), policy=priorities(heavy=9)) as desk:
        await desk.take("instance:a", "WORK", "queue:fifo:1", ttl=600)
        without = await desk.take("instance:b", "WORK", "queue:fifo:1", preempt=True)
        ended = _edge("p-old", "instance:b", "instance:a", valid_until=desk.instant(-1))
        await desk.append(("edge.begin", ended))
        lapsed = await desk.take("instance:b", "WORK", "queue:fifo:1", preempt=True)
        await desk.append(("edge.begin", _edge("p-ba", "instance:b", "instance:a")))
        equal = await desk.take("instance:b", "WORK", "queue:fifo:1", preempt=True)

        assert "preemption_not_authorized" in codes(without)
        assert "preemption_not_authorized" in codes(lapsed)
        assert codes(equal)[-1] == "priority_not_higher"
        assert "preemption_not_authorized" not in codes(equal)
        assert desk.holders("queue:fifo:1") == ["instance:a"]

        await desk.append(
            ("edge.begin", _edge("p-hw", "instance:heavy-1", "instance:heavy-2")),
            ("edge.begin", _edge("p-wh", "instance:heavy-2", "instance:heavy-1")),
            ("edge.begin", _edge("p-ha", "instance:heavy-1", "instance:a")),
        )
        takeovers = 0
        refusals: set[str] = set()
        for tick in range(60):
            await desk.to(tick)
            for who in ("instance:heavy-1", "instance:heavy-2"):
                said = {"priority": 10 + tick}
                reply = await desk.take(who, "WORK", "queue:fifo:1", preempt=True, ttl=600, context=said)
                takeovers += (
                    reply.code is None and reply.body["lease"]["version"] == 1 and desk.holders("queue:fifo:1") == [who]
                )
                refusals |= {each["code"] for each in reply.body.get("reasons", ())}
            if takeovers:
                break
        for tick in range(1, 60):
            await desk.to(tick)
            reply = await desk.take(
                "instance:heavy-2", "WORK", "queue:fifo:1", preempt=True, context={"priority": tick}
            )
            refusals.add(reply.body["reasons"][-1]["code"])

    assert takeovers == 1
    assert {"priority_not_higher"} <= refusals


def _edge(edge_id: str, holder: str, target: str, **window: int) -> dict[str, Any]:
    return {
        "edge_id": edge_id,
        "version": 1,
        "edge": "MAY_PREEMPT",
        "from": holder,
        "to": target,
        "epoch": 1,
        "issuer": "organization:desk",
        **window,
    }
