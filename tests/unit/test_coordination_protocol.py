"""The write protocol: eleven steps, one receipt, and the lease given back last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.desk import codes, desk_on, question, sqlite_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.support.desk import Desk

POST = "wp:post:1024"
CANONICAL = "UPDATE_CANONICAL"

ELEVEN = [
    "resolve_resource",
    "resolve_owner",
    "validate_authority",
    "detect_conflicts",
    "acquire",
    "read_version",
    "validate_precondition",
    "execute",
    "verify",
    "receipt",
    "release",
]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk on a fresh embedded store."""
    async with desk_on(sqlite_in(tmp_path)) as opened:
        yield opened


@pytest.mark.feature("S05", "S86", "S98", "S99")
async def test_the_worked_write_ends_with_both_receipts(desk: Desk) -> None:
    """All eleven steps in order; the receipt says who, by what, on which version; the lease is gone with it."""
    begun = await desk.begin(
        "instance:a", CANONICAL, POST, context={"expected_version": "rev_331", "change_id": "chg_991"}
    )
    done = await desk.walk(begun, final="rev_332", version="rev_331")

    receipt = done.body["receipt"]
    name = begun.body["coordination_id"]
    assert [each["step"] for each in receipt["steps"]] == ELEVEN
    expected = {
        "coordination_id": name,
        "principal": "instance:a",
        "resource_key": POST,
        "owner": "controller:seo",
        "authority_epoch": 1,
        "ownership_epoch": 1,
        "policy_epoch": 1,
        "lease_id": begun.body["lease"]["lease_id"],
        "lease_epoch": begun.body["lease"]["lease_epoch"],
        "expected_version": "rev_331",
        "final_version": "rev_332",
        "conflicts": [],
        "released_at": desk.instant(0),
        "status": "COMPLETED",
        "change_id": "chg_991",
        "authority_origin": ["own-seo@1", "del-a@1"],
        "execution_id": f"exec_{name}",
    }
    assert {each: receipt[each] for each in expected} == expected
    execution = desk.point.view.records["receipt"][f"exec_{name}"]
    assert (execution["record"], execution["coordination_id"], execution["result"]) == ("execution", name, "applied")
    assert desk.holders(POST) == []


@pytest.mark.feature("S98")
async def test_receipt_and_release_are_one_revision(desk: Desk) -> None:
    """No revision shows a completed receipt with the lease held, or the lease released without it."""
    begun = await desk.begin("instance:a", CANONICAL, POST)
    done = await desk.walk(begun, final="v2")
    entries = await desk.point.ledger.read(done.revision - 1, 1)

    kinds = [change.kind for change in entries[0].changes]
    assert kinds == ["lease.end", "receipt.put", "receipt.put", "operation.end"]
    assert entries[0].revision == done.revision


@pytest.mark.feature("S86")
async def test_a_step_that_is_skipped_is_refused(desk: Desk) -> None:
    """Executing before reading, verifying before executing and completing before verifying change nothing."""
    begun = await desk.begin("instance:a", CANONICAL, POST)
    name, token = begun.body["coordination_id"], begun.body["lease_epoch"]
    early = [
        await desk.operations.executed(name, desk.caller, token=token, result="applied"),
        await desk.operations.verified(name, desk.caller, token=token, passed=True),
        await desk.operations.complete(name, desk.caller, token=token, final_version="v2"),
    ]

    assert [each.code for each in early] == ["invalid_transition", "invalid_transition", "not_verified"]
    shown = desk.operations.show(name)
    assert shown is not None
    assert shown["state"] == "BEGUN"


@pytest.mark.feature("S78", "S86", "S114")
async def test_a_stale_version_is_found_before_the_write(desk: Desk) -> None:
    """The precondition names both versions, nothing was executed, and the lease stays for a new read."""
    begun = await desk.begin("instance:a", CANONICAL, POST, context={"expected_version": "rev_331"})
    stale = await desk.operations.precondition(begun.body["coordination_id"], desk.caller, current_version="rev_332")

    assert stale.code == "stale_resource_version"
    assert stale.outcome == "rebase"
    assert (stale.body["expected_version"], stale.body["current_version"]) == ("rev_331", "rev_332")
    assert stale.message == "`wp:post:1024` is at rev_332, and this was planned on rev_331"
    assert desk.holders(POST) == ["instance:a"]


@pytest.mark.feature("S78", "S79", "S82")
async def test_a_plan_on_a_superseded_version_is_refused_from_then_on(desk: Desk) -> None:
    """Once a completed operation replaced a version, whoever still plans on it is told to read again."""
    done = await desk.walk(await desk.begin("instance:a", CANONICAL, POST), final="v2")
    again = await desk.begin("instance:b", CANONICAL, POST, context={"expected_version": "v1"})
    plain = await desk.ask("instance:b", CANONICAL, POST, {"expected_version": "v1"})
    fresh = await desk.ask("instance:b", CANONICAL, POST, {"expected_version": "v2"})

    assert done.code is None
    assert (again.code, again.outcome) == ("stale_resource_version", "rebase")
    assert plain.codes == ("stale_resource_version",)
    assert fresh.outcome == "execute"
    assert fresh.obligations[0] == {
        "id": "precondition",
        "type": "precondition",
        "properties": {"expected_version": "v2"},
    }


@pytest.mark.feature("S67")
async def test_a_lease_is_not_given_back_before_verification(desk: Desk) -> None:
    """Releasing the lease of an operation past the protocol is refused; a failed verification keeps it."""
    begun = await desk.begin("instance:a", CANONICAL, POST)
    lease = begun.body["lease"]
    early = await desk.leases.release(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
    name = begun.body["coordination_id"]
    await desk.operations.precondition(name, desk.caller, current_version="v1")
    await desk.operations.executed(name, desk.caller, token=lease["lease_epoch"], result="applied")
    failed = await desk.operations.verified(name, desk.caller, token=lease["lease_epoch"], passed=False)
    refused = await desk.operations.complete(name, desk.caller, token=lease["lease_epoch"], final_version="v2")

    assert early.code == "not_verified"
    assert failed.body["state"] == "UNVERIFIED"
    assert refused.code == "not_verified"
    assert desk.holders(POST) == ["instance:a"]


@pytest.mark.feature("S98", "S116")
@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("abort", "ABORTED"),
        ("expire", "EXPIRED"),
        ("preempt", "PREEMPTED"),
        ("revoke", "REVOKED"),
        ("unknown", "OUTCOME_UNKNOWN"),
    ],
)
async def test_every_end_leaves_its_receipt(desk: Desk, how: str, status: str) -> None:
    """Whatever ends an operation, its receipt has the status, and nothing is held any more."""
    begun = await desk.begin("instance:a", "WORK", "queue:fifo:1", ttl=30)
    name, token = begun.body["coordination_id"], begun.body["lease_epoch"]
    if how == "abort":
        await desk.operations.abort(name, desk.caller, reason="nothing to do")
    elif how == "expire":
        await desk.to(30)
        await desk.sweep()
    elif how == "preempt":
        await incident(desk, "queue:fifo:1")
        await desk.take("human:commander", "WORK", "queue:fifo:1", preempt=True)
    elif how == "revoke":
        await desk.revoke("member_of:instance:a>team:workers")
    else:
        await desk.operations.precondition(name, desk.caller, current_version="v1")
        await desk.operations.executed(name, desk.caller, token=token, result="unknown")
        await desk.operations.abort(name, desk.caller, reason="no answer came")

    receipt = await desk.operations.receipt(name)
    assert receipt is not None
    assert receipt["status"] == status
    assert receipt["final_version"] is None
    assert "instance:a" not in desk.holders("queue:fifo:1")
    assert desk.point.view.records.get("operation", {}) == {}


async def incident(desk: Desk, key: str) -> None:
    """Declare a SEV1 on a key."""
    reply = await desk.signals.incident(
        question("human:commander", "DECLARE_INCIDENT", key),
        desk.caller,
        incident_id="inc-1",
        actor="human:commander",
        severity="SEV1",
        status="OPEN",
    )
    assert not reply.is_refused, reply


@pytest.mark.feature("S35", "S112")
async def test_a_lost_lease_stops_the_operation_at_its_next_step(desk: Desk) -> None:
    """An operation whose authority ended while it wrote can neither verify nor complete, and is told why."""
    begun = await desk.begin("instance:a", CANONICAL, POST)
    name, token = begun.body["coordination_id"], begun.body["lease_epoch"]
    await desk.operations.precondition(name, desk.caller, current_version="v1")
    await desk.operations.executed(name, desk.caller, token=token, result="applied")
    await desk.revoke("del-a")
    late = await desk.operations.verified(name, desk.caller, token=token, passed=True)
    write = await desk.ask("instance:a", CANONICAL, POST, {"coordination_id": name, "expected_version": "v1"})

    assert late.code == "lease_revoked"
    assert late.body["cause"] == "lease_revoked"
    assert "capability_revoked" in write.codes
    receipt = await desk.operations.receipt(name)
    assert receipt is not None
    assert (receipt["status"], receipt["reason"], receipt["execution_id"]) == (
        "REVOKED",
        "delegation_revoked",
        f"exec_{name}",
    )


@pytest.mark.feature("S66")
async def test_an_outcome_is_followed_without_a_lease(desk: Desk) -> None:
    """Three days later a finding is added to the receipt, and nobody held anything meanwhile."""
    begun = await desk.begin("instance:a", CANONICAL, POST)
    await desk.walk(begun, final="v2")
    await desk.to(3 * 86_400)
    name = begun.body["coordination_id"]
    receipt = await desk.operations.receipt(name)
    assert receipt is not None
    await desk.operations.follow_up(receipt, desk.caller, actor="instance:a", finding={"indexed": True})

    receipt = await desk.operations.receipt(name)
    assert receipt is not None
    assert receipt["outcome_checks"] == [{"indexed": True, "by": "instance:a", "at": desk.instant(3 * 86_400)}]
    assert receipt["status"] == "COMPLETED"
    assert desk.signals.coverage() == {"writes_completed": 1, "writes_uncoordinated": 0}


@pytest.mark.feature("S69", "S86")
async def test_an_operation_without_lease_meets_others_at_the_version(desk: Desk) -> None:
    """Where the class demands no lease one can begin without; where it does, it cannot."""
    free = await desk.begin("instance:a", CANONICAL, POST, leaseless=True)
    other = await desk.begin("instance:b", CANONICAL, POST, leaseless=True)
    demanded = await desk.begin("instance:a", "WORK", "queue:fifo:1", leaseless=True)
    first, second = (
        await desk.walk(free, final="v2"),
        await desk.begin("instance:b", CANONICAL, POST, leaseless=True, context={"expected_version": "v1"}),
    )

    assert (free.body["lease"], other.body["lease"]) == (None, None)
    assert demanded.code == "lease_required"
    assert first.body["receipt"]["status"] == "COMPLETED"
    assert second.code == "stale_resource_version"


@pytest.mark.feature("S86")
async def test_several_resources_are_all_or_nothing(desk: Desk) -> None:
    """One of two is busy: none is taken. Both are free: one operation holds both, and gives both back."""
    await desk.take("instance:b", "WORK", "queue:fifo:2")
    none = await desk.begin("instance:a", "WORK", "queue:fifo:1", "queue:fifo:2")
    both = await desk.begin("instance:a", "WORK", "queue:fifo:3", "queue:fifo:4")
    held = desk.holders("queue")
    name, token = both.body["coordination_id"], both.body["lease_epoch"]
    for key in ("queue:fifo:3", "queue:fifo:4"):
        await desk.operations.precondition(name, desk.caller, current_version="v1", resource_key=key)
    await desk.operations.executed(name, desk.caller, token=token, result="applied")
    await desk.operations.verified(name, desk.caller, token=token, passed=True)
    lacking = await desk.operations.complete(name, desk.caller, token=token, final_version="v2")
    finals = {"queue:fifo:3": "v2", "queue:fifo:4": "w7"}
    done = await desk.operations.complete(name, desk.caller, token=token, final_versions=finals)

    assert (none.code, held) == ("resource_busy", ["instance:a", "instance:a", "instance:b"])
    assert lacking.code == "version_required"
    assert [each["final_version"] for each in done.body["receipt"]["versions"]] == ["v2", "w7"]
    assert desk.holders("queue") == ["instance:b"]


@pytest.mark.feature("S84", "S85")
async def test_completing_twice_gives_the_same_receipt(desk: Desk) -> None:
    """A repeat after a lost answer changes nothing."""
    begun = await desk.begin("instance:a", CANONICAL, POST)
    done = await desk.walk(begun, final="v2")
    again = await desk.operations.complete(
        begun.body["coordination_id"], desk.caller, token=begun.body["lease_epoch"], final_version="v2"
    )

    assert again.body["receipt"] == done.body["receipt"]
    assert desk.point.view.revision == done.revision


@pytest.mark.feature("S112")
async def test_a_begun_operation_is_the_capability_of_its_write(tmp_path: Path) -> None:
    """In production a risky write needs one: begin is what mints it, and it covers nothing else."""
    async with desk_on(sqlite_in(tmp_path), world="seo") as desk:
        plain = await desk.ask("instance:release-controller-a", "DEPLOY_WORKER", "cf:worker:seo-publisher:production")
        begun = await desk.begin("instance:release-controller-a", "DEPLOY_WORKER", "cf:worker:seo-publisher:production")
        lease, name = begun.body["lease"], begun.body["coordination_id"]
        context = {"coordination_id": name, "expected_version": "41"}
        write = await desk.present(lease, "DEPLOY_WORKER", **context)
        other = await desk.present(lease, "ROLLBACK_WORKER", **context)

    assert {"capability_required", "lease_required"} <= set(plain.codes)
    assert write.outcome == "execute"
    assert "capability_mismatch" in other.codes
    assert codes(begun) == []
