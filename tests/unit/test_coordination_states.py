"""The states of leases, operations and transfers: every arrow that is drawn is walked, and every other is refused."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING

import pytest

from remit_service.coordination.states import (
    ABORTABLE,
    LEASE_ARROWS,
    OPERATION_ARROWS,
    TRANSFER_STEPS,
    ForbiddenArrow,
    LeaseState,
    OperationState,
    TransferState,
    step,
)
from tests.support.desk import desk_on, sqlite_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.support.desk import Desk

POST = "wp:post:1024"
CANONICAL = "UPDATE_CANONICAL"

DRAWN = {
    ("AVAILABLE", "ACQUIRING"),
    ("ACQUIRING", "HELD"),
    ("ACQUIRING", "AVAILABLE"),
    ("HELD", "RENEWING"),
    ("RENEWING", "HELD"),
    *product(("HELD", "RENEWING"), ("RELEASED", "EXPIRED", "REVOKED")),
}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk on a fresh embedded store."""
    async with desk_on(sqlite_in(tmp_path)) as opened:
        yield opened


@pytest.mark.feature("S61")
@pytest.mark.parametrize(("state", "to"), list(product(LeaseState, LeaseState)))
def test_a_lease_walks_the_drawn_arrows_and_no_other(state: LeaseState, to: LeaseState) -> None:
    """coordination.md 2 draws the arrows; any other transition is refused."""
    if (state, to) in DRAWN:
        assert step(state, to) is to
    else:
        with pytest.raises(ForbiddenArrow):
            step(state, to)


@pytest.mark.feature("S61")
def test_a_lease_that_ended_goes_nowhere() -> None:
    """RELEASED, EXPIRED and REVOKED have no arrow out."""
    ended = [state for state, arrows in LEASE_ARROWS.items() if not arrows]

    assert ended == [LeaseState.RELEASED, LeaseState.EXPIRED, LeaseState.REVOKED]


@pytest.mark.feature("S61")
async def test_each_end_of_a_lease_is_reached(desk: Desk) -> None:
    """Release, expiry, takeover and revocation end a held lease, each under its own name and cause."""
    released = (await desk.take("instance:a", CANONICAL, POST)).body["lease"]
    renewed = await desk.leases.renew(released["lease_id"], desk.caller, token=released["lease_epoch"])
    await desk.leases.release(released["lease_id"], desk.caller, token=released["lease_epoch"])
    expired = (await desk.take("instance:b", CANONICAL, POST, ttl=1)).body["lease"]
    await desk.to(1)
    await desk.sweep()
    revoked = (await desk.take("instance:c", CANONICAL, POST)).body["lease"]
    await desk.revoke("del-c")

    ends = [desk.lease(each["lease_id"]) for each in (released, expired, revoked)]
    assert renewed.body["lease"]["state"] == "HELD"
    assert [each["state"] for each in ends] == ["RELEASED", "EXPIRED", "REVOKED"]
    assert [each.get("cause") for each in ends] == [None, None, "authority"]
    assert [each.get("raised") is not None for each in ends] == [False, False, True]


@pytest.mark.feature("S60")
async def test_a_lease_has_a_holder_and_an_end(desk: Desk) -> None:
    """The record says who, until when, for what, under which token, and on which authority it rests."""
    lease = (await desk.take("instance:a", CANONICAL, POST, purpose="SEO_UPDATE", ttl=30)).body["lease"]
    stored = desk.lease(lease["lease_id"])

    assert {name: stored[name] for name in ("holder", "purpose", "resource_key", "state", "domains", "fields")} == {
        "holder": "instance:a",
        "purpose": "SEO_UPDATE",
        "resource_key": POST,
        "state": "HELD",
        "domains": ["CANONICAL"],
        "fields": ["canonical"],
    }
    assert (stored["acquired_at"], stored["expires_at"]) == (desk.instant(0), desk.instant(30))
    assert stored["fencing_tokens"] == {"wp:post:1024#canonical": stored["lease_epoch"]}
    assert stored["proof"] == ["own-seo@1", "del-a@1"]
    assert (stored["authority_epoch"], stored["policy_epoch"], stored["ownership_epochs"]) == (1, 1, {"canonical": 1})


@pytest.mark.feature("S60")
@pytest.mark.parametrize("subject", ["controller:seo", "role:editor", "team:site", "organization:desk"])
async def test_a_role_cannot_hold_a_lease(desk: Desk, subject: str) -> None:
    """Only what runs or lives can: an instance, a human, a service."""
    refused = await desk.take(subject, CANONICAL, POST)

    assert refused.is_refused
    assert desk.holders(POST) == []


@pytest.mark.feature("S86")
@pytest.mark.parametrize(("state", "to"), list(product(OperationState, OperationState)))
def test_an_operation_skips_no_step(state: OperationState, to: OperationState) -> None:
    """Read before execute, execute before verify, verify before the end that completes; abort ends it from anywhere."""
    order = ["BEGUN", "READ", "EXECUTED", "VERIFIED"]
    forward = to in OPERATION_ARROWS[state]

    if state in order and to in order:
        assert forward == (order.index(to) - order.index(state) == 1 or (state, to) == ("READ", "READ"))
    assert (to == "ENDED" and state != "ENDED") <= forward


@pytest.mark.feature("S40")
def test_a_transfer_has_seven_steps_in_one_line() -> None:
    """Each step leads from the state the one before led to; an abort is possible until authority moves."""
    chain = list(TRANSFER_STEPS.values())

    assert list(TRANSFER_STEPS) == ["validate", "freeze", "transfer", "register", "verify", "retire"]
    assert all(one[1] is other[0] for one, other in pairwise(chain))
    assert (chain[0][0], chain[-1][1]) == (TransferState.PROPOSED, TransferState.RETIRED)
    assert {TransferState.PROPOSED, TransferState.VALIDATED, TransferState.FROZEN} == ABORTABLE


@pytest.mark.feature("S66", "S68")
async def test_renewal_has_its_bounds(desk: Desk) -> None:
    """It keeps the token, never passes `max_hold`, and is refused without progress after the idle time."""
    lease = (await desk.take("instance:a", CANONICAL, POST, ttl=600)).body["lease"]
    ends: list[float] = []
    for second in (500, 1000, 1500):
        await desk.to(second)
        kept = await desk.leases.renew(
            lease["lease_id"], desk.caller, token=lease["lease_epoch"], progress=f"step {second}"
        )
        ends.append((kept.body["lease"]["expires_at"] - desk.instant(0)) / 1_000_000)
        assert kept.body["lease"]["lease_epoch"] == lease["lease_epoch"]

    assert ends == [1100.0, 1600.0, 1800.0]


@pytest.mark.feature("S68")
async def test_renewal_without_progress_is_refused_after_the_idle_time(desk: Desk) -> None:
    """Saying the same mark again is no progress."""
    lease = (await desk.take("instance:a", CANONICAL, POST, ttl=600)).body["lease"]
    await desk.to(500)
    first = await desk.leases.renew(lease["lease_id"], desk.caller, token=lease["lease_epoch"], progress="page 1")
    await desk.to(1_000)
    second = await desk.leases.renew(lease["lease_id"], desk.caller, token=lease["lease_epoch"], progress="page 1")
    await desk.to(1_101)
    third = await desk.leases.renew(lease["lease_id"], desk.caller, token=lease["lease_epoch"], progress="page 1")

    assert [first.code, second.code, third.code] == [None, None, "no_progress"]


@pytest.mark.feature("S62")
@pytest.mark.parametrize(
    ("ttl", "code"), [(0.999999, "malformed_request"), (1, None), (600, None), (600.000001, "malformed_request")]
)
async def test_a_ttl_lies_within_its_bounds(desk: Desk, ttl: float, code: str | None) -> None:
    """From one second to ten minutes, both included."""
    assert (await desk.take("instance:a", CANONICAL, POST, ttl=ttl)).code == code


@pytest.mark.feature("S62")
async def test_a_stale_or_foreign_release_changes_nothing(desk: Desk) -> None:
    """Another's release, one with a wrong token and a second one leave everything as it is, and say so."""
    lease = (await desk.take("instance:a", CANONICAL, POST)).body["lease"]
    foreign = await desk.leases.release(
        lease["lease_id"], desk.caller, token=lease["lease_epoch"], subject="instance:b"
    )
    wrong = await desk.leases.release(lease["lease_id"], desk.caller, token=lease["lease_epoch"] - 1)
    assert (foreign.code, wrong.code) == ("lease_not_held", "stale_fencing_token")
    assert desk.holders(POST) == ["instance:a"]

    first = await desk.leases.release(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
    revision = desk.point.view.revision
    second = await desk.leases.release(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
    assert (first.body["released"], second.body["released"], second.body["state"]) == (True, False, "RELEASED")
    assert desk.point.view.revision == revision


@pytest.mark.feature("S62")
async def test_a_lock_delay_rests_after_expiry_and_not_after_release(tmp_path: Path) -> None:
    """For resources that cannot check tokens the key rests a while once a lease has expired."""
    async with desk_on(sqlite_in(tmp_path), tables={"lock_delay_us": {"wp:post": 5_000_000}}) as desk:
        lease = (await desk.take("instance:a", CANONICAL, POST, ttl=10)).body["lease"]
        await desk.leases.release(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
        again = await desk.take("instance:b", CANONICAL, POST, ttl=10)
        await desk.to(11)
        await desk.sweep()
        resting = await desk.take("instance:c", CANONICAL, POST)
        waiting = await desk.take("instance:d", CANONICAL, POST, wait=60)
        await desk.to(15)
        await desk.sweep()

        assert again.code is None
        assert resting.code == "resource_busy"
        assert desk.instant(15) <= (resting.retry_at or 0) < desk.instant(16)
        assert waiting.is_waiting
        assert desk.holders(POST) == ["instance:d"]


@pytest.mark.feature("S42", "S68")
async def test_a_key_that_is_too_broad_is_refused(desk: Desk) -> None:
    """Nobody leases `production`."""
    refused = await desk.take("instance:s-1", "WORK", "environment:production")

    assert refused.code == "key_too_broad"
