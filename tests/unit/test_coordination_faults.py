"""Fault cases of leases and fences, F026 and F057 to F070, each with the values of its row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remit_graph.errors import ModelError
from remit_graph.model.instant import SECOND
from remit_service.coordination.bounds import LeasePolicy
from tests.support.desk import desk_on, open_desk, sqlite_again, sqlite_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.support.desk import Desk

POST = "wp:post:1024"
CANONICAL = "UPDATE_CANONICAL"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk on a fresh embedded store."""
    async with desk_on(sqlite_in(tmp_path)) as opened:
        yield opened


@pytest.mark.feature("S62", "S71")
async def test_f057_a_lease_never_goes_to_a_lapsed_waiter(desk: Desk) -> None:
    """A waiter that has stopped asking left the queue, and no lease ever names it."""
    held = await desk.take("instance:a", CANONICAL, POST, ttl=60)
    waiting = await desk.take("instance:b", CANONICAL, POST, wait=60, keep_alive=5)
    await desk.to(20)
    await desk.leases.release(held.body["lease"]["lease_id"], desk.caller, token=held.body["lease"]["lease_epoch"])

    ended = desk.leases.told(desk.coordinator.waiting.find(waiting.body["waiter_id"]), waiting.body["waiter_id"])
    assert (ended.code, ended.outcome) == ("coordination_timeout", "wait")
    assert desk.holders(POST) == []
    assert [each for each in desk.point.view.coordination.ended.items.values() if each["holder"] == "instance:b"] == []


@pytest.mark.feature("S64", "S111")
async def test_f058_a_paused_holder_is_refused_after_a_takeover(desk: Desk) -> None:
    """A holder that slept past its lease is behind the fence, and is told the token that is current."""
    first = (await desk.take("instance:a", CANONICAL, POST, ttl=2)).body["lease"]
    await desk.to(5)
    second = (await desk.take("instance:b", CANONICAL, POST)).body["lease"]

    late = await desk.present(first, CANONICAL, expected_version="v1")
    assert late.outcome == "deny"
    assert "stale_fencing_token" in late.codes
    stale = next(each for each in late.reasons if each.code == "stale_fencing_token")
    assert stale.facts["current_token"] == second["lease_epoch"]
    assert stale.message == (
        f"fencing token {first['lease_epoch']} for `wp:post:1024` is behind {second['lease_epoch']}"
    )
    assert (await desk.present(second, CANONICAL, expected_version="v1")).outcome == "execute"


@pytest.mark.feature("S62")
async def test_f059_no_two_holders_after_a_failed_renewal(desk: Desk) -> None:
    """Until the recorded end nobody else is granted, and from it on the old holder may do nothing."""
    lease = (await desk.take("instance:a", CANONICAL, POST, ttl=15)).body["lease"]
    await desk.to(14.999999)
    assert (await desk.take("instance:b", CANONICAL, POST)).code == "resource_busy"

    await desk.to(15)
    taken = await desk.take("instance:b", CANONICAL, POST)
    renewal = await desk.leases.renew(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
    assert not taken.is_refused
    assert renewal.code == "lease_expired"
    assert desk.holders(POST) == ["instance:b"]


@pytest.mark.feature("S62")
async def test_f060_the_recorded_end_decides_and_no_setting_of_the_challenger(desk: Desk) -> None:
    """Who asks for a shorter life waits as long as the holder's lasts."""
    first = (await desk.take("instance:a", CANONICAL, POST, ttl=30)).body["lease"]
    await desk.to(11)
    busy = await desk.take("instance:b", CANONICAL, POST, ttl=10)
    assert (busy.code, busy.body["expires_at"]) == ("resource_busy", desk.instant(30))

    await desk.to(31)
    second = (await desk.take("instance:b", CANONICAL, POST, ttl=10)).body["lease"]
    assert second["lease_epoch"] > first["lease_epoch"]


@pytest.mark.feature("S62")
@pytest.mark.parametrize(
    ("ttl", "margin", "skew", "both"),
    [(15, 2, 2, ("2 s", "2 s")), (15, 15, 2, ("15 s", "15 s"))],
)
def test_f061_settings_without_margin_are_refused(ttl: int, margin: int, skew: int, both: tuple[str, str]) -> None:
    """`ttl > renew_margin > max_clock_skew`, and the refusal names both numbers."""
    with pytest.raises(ModelError) as refused:
        LeasePolicy(ttl_us=ttl * SECOND, renew_margin_us=margin * SECOND, max_clock_skew_us=skew * SECOND)

    assert refused.value.message.endswith(f"{both[0]} is not more than {both[1]}")


@pytest.mark.feature("S60", "S62")
async def test_f062_a_lease_survives_the_part_that_granted_it(desk: Desk, tmp_path: Path) -> None:
    """Another decision point on the same store renews it; the holder and the token stay."""
    lease = (await desk.take("instance:a", CANONICAL, POST, ttl=30)).body["lease"]
    await desk.to(5)
    other = await open_desk(await sqlite_again(tmp_path, desk.clock), desk.clock)
    try:
        kept = await other.leases.renew(lease["lease_id"], other.caller, token=lease["lease_epoch"])
        await desk.to(10)
        await other.point.replica.catch_up()
        busy = await other.take("instance:b", CANONICAL, POST)
    finally:
        await other.point.aclose()

    assert kept.body["lease"]["lease_epoch"] == lease["lease_epoch"]
    assert kept.body["lease"]["expires_at"] == desk.instant(35)
    assert (busy.code, busy.body["holder"]) == ("resource_busy", "instance:a")


@pytest.mark.feature("S74")
@pytest.mark.parametrize("dead", [5, 50])
async def test_f063_dead_waiters_do_not_slow_the_living(desk: Desk, dead: int) -> None:
    """The first living waiter is granted in the step that frees the key; the dead leave the queue with it."""
    held = (await desk.take("instance:a", "WORK", "queue:fifo:1", ttl=60)).body["lease"]
    for _ in range(dead):
        await desk.take("instance:b", "WORK", "queue:fifo:1", wait=120, keep_alive=5)
    living = await desk.take("instance:h", "WORK", "queue:fifo:1", wait=120, keep_alive=30)
    await desk.to(10)
    await desk.leases.release(held["lease_id"], desk.caller, token=held["lease_epoch"])

    assert desk.holders("queue:fifo:1") == ["instance:h"]
    assert desk.leases.queue("queue:fifo:1") == []
    told = desk.leases.told(desk.coordinator.waiting.find(living.body["waiter_id"]), living.body["waiter_id"])
    assert told.body["lease"]["acquired_at"] == desk.instant(10)


@pytest.mark.feature("S65")
async def test_f065_the_token_only_grows(desk: Desk, tmp_path: Path) -> None:
    """Release, expiry, removal and re-creation of the resource, and a restart do not start the count again."""
    tokens: list[int] = []
    lease = (await desk.take("instance:a", CANONICAL, POST)).body["lease"]
    tokens.append(lease["lease_epoch"])
    await desk.leases.release(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
    tokens.append((await desk.take("instance:b", CANONICAL, POST, ttl=1)).body["lease"]["lease_epoch"])
    await desk.to(2)
    third = (await desk.take("instance:c", CANONICAL, POST)).body["lease"]
    tokens.append(third["lease_epoch"])
    ended = await desk.govern(("resource.end", {"key": POST}))
    await desk.govern(("resource.put", {"key": POST, "attributes": {}}))
    fourth = (await desk.take("instance:d", CANONICAL, POST)).body["lease"]
    tokens.append(fourth["lease_epoch"])
    other = await open_desk(await sqlite_again(tmp_path, desk.clock), desk.clock)
    try:
        await other.leases.release(fourth["lease_id"], other.caller, token=fourth["lease_epoch"])
        fifth = (await other.take("instance:h", CANONICAL, POST)).body["lease"]
    finally:
        await other.point.aclose()
    tokens.append(fifth["lease_epoch"])

    assert ended == {"lease": [third["lease_id"]]}
    assert tokens == sorted(set(tokens))
    assert "set_operations" not in fifth


@pytest.mark.feature("S66")
async def test_f066_breaking_a_lease_needs_a_right_and_leaves_a_record(desk: Desk) -> None:
    """Without MAY_REVOKE nothing changes; with it the fence is raised and actor and reason are kept."""
    lease = (await desk.take("instance:a", "WORK", "queue:fifo:1", ttl=30)).body["lease"]
    await desk.to(10)
    refused = await desk.leases.end(lease["lease_id"], desk.caller, actor="human:op-1", reason="it looks dead")
    assert refused.code == "no_authority"
    assert desk.holders("queue:fifo:1") == ["instance:a"]

    ended = await desk.leases.end(lease["lease_id"], desk.caller, actor="human:op-2", reason="the host is gone")
    gone = desk.lease(lease["lease_id"])
    receipt = await desk.operations.receipt(lease["coordination_id"])
    assert receipt is not None
    assert (gone["state"], gone["cause"], gone["by"], gone["reason"]) == (
        "REVOKED",
        "operator",
        "human:op-2",
        "the host is gone",
    )
    assert ended.body["current_token"] == ended.revision > lease["lease_epoch"]
    assert (receipt["status"], receipt["by"], receipt["reason"]) == ("REVOKED", "human:op-2", "the host is gone")

    left = (await desk.take("instance:b", "WORK", "queue:fifo:1", ttl=30)).body["lease"]
    await desk.to(40)
    await desk.sweep()
    assert desk.lease(left["lease_id"])["state"] == "EXPIRED"
    assert desk.lease(left["lease_id"])["ended_at"] == desk.instant(40)


@pytest.mark.feature("S66")
async def test_f069_a_refusal_says_what_stands_in_the_way(desk: Desk) -> None:
    """A lease above the key is named with its holder, token, end and place; when it is over the key is free."""
    await desk.join("team:site", "instance:a", "instance:b")
    held = (await desk.take("instance:a", "UPDATE_SITE", "site:102:product-pages", ttl=30)).body["lease"]
    await desk.to(5)
    busy = await desk.take("instance:b", "UPDATE_SITE", "site:102:product-pages:p1")

    conflict = busy.body["conflicts"][0]
    assert busy.code == "resource_busy"
    assert {name: conflict[name] for name in ("holder", "fencing_token", "held_until", "key", "relation")} == {
        "holder": "instance:a",
        "fencing_token": held["lease_epoch"],
        "held_until": desk.instant(30),
        "key": "site:102:product-pages",
        "relation": "ancestor",
    }
    await desk.to(31)
    assert (await desk.take("instance:b", "UPDATE_SITE", "site:102:product-pages:p1")).code is None
    assert desk.lease(held["lease_id"])["lease_epoch"] == held["lease_epoch"]


@pytest.mark.feature("S33", "S35")
async def test_f026_a_later_principal_of_the_name_inherits_nothing(desk: Desk) -> None:
    """Removing a team ends the lease that rests on its grant in the same revision, and raises the fence."""
    await desk.append(
        ("edge.begin", _member("m-z", 1)),
    )
    lease = (await desk.take("instance:z", CANONICAL, POST)).body["lease"]
    before = desk.point.view.revision
    ended = await desk.govern(
        ("edges.end", {"edges": [["g-seo-team", 1], ["m-z", 1]], "cause": "removed"}),
        ("principal.end", {"id": "team:seo"}),
    )
    assert ended == {"lease": [lease["lease_id"]]}
    assert desk.point.view.revision == before + 1

    await desk.append(("principal.put", {"id": "team:seo"}), ("edge.begin", _member("m-z", 2)))
    denied = await desk.present(lease, CANONICAL, expected_version="v1")
    assert denied.outcome == "deny"
    assert {"no_authority", "lease_revoked", "stale_fencing_token"} <= set(denied.codes)
    stale = next(each for each in denied.reasons if each.code == "stale_fencing_token")
    assert stale.facts["current_token"] == before + 1


def _member(edge_id: str, version: int) -> dict[str, object]:
    return {
        "edge_id": edge_id,
        "version": version,
        "edge": "MEMBER_OF",
        "from": "instance:z",
        "to": "team:seo",
        "epoch": 1,
        "issuer": "organization:desk",
    }
