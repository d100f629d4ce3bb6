"""Presence, incidents, observations, work sets, and a store that was put back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.instant import SECOND
from remit_service.coordination.command import BeginIncarnation
from remit_service.decision.caller import Caller
from remit_service.decision.request import Entity
from tests.support.desk import codes, desk_on, question, sqlite_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from remit_service.coordinator.reply import Reply
    from tests.support.desk import Desk

POST = "wp:post:1024"
THE_POST = Entity(type="wp:post", id="1024")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk on a fresh embedded store."""
    async with desk_on(sqlite_in(tmp_path)) as opened:
        yield opened


async def edits(desk: Desk, actor: str, *fields: str, ttl: int = 60) -> Reply:
    """Say that somebody edits the post."""
    return await desk.signals.presence(
        THE_POST, desk.caller, actor=actor, fields=fields, last_activity=desk.point.now(), ttl_us=ttl * SECOND
    )


@pytest.mark.feature("S93", "S94")
async def test_a_human_who_edits_holds_the_touched_fields(desk: Desk) -> None:
    """A write to them is held; one to other fields and the actor's own go on; it ends with the session."""
    signal = await edits(desk, "human:editor", "canonical", ttl=60)
    held = await desk.begin("instance:a", "UPDATE_CANONICAL", POST)
    aside = await desk.begin("instance:d", "UPDATE_BODY", POST)
    own = await desk.ask("human:editor", "UPDATE_CANONICAL", POST, {"expected_version": "v1"})
    await desk.to(60)
    after = await desk.begin("instance:a", "UPDATE_CANONICAL", POST)

    assert signal.body["presence_id"] == "human:editor@wp:post:1024"
    assert (held.code, held.outcome) == ("human_presence", "hold")
    assert held.body["reasons"][0]["message"] == "`human:editor` is editing `canonical` of `wp:post:1024`"
    assert (aside.code, own.outcome, after.code) == (None, "execute", None)


@pytest.mark.feature("S94")
async def test_who_is_held_by_a_human_may_wait_for_the_end(desk: Desk) -> None:
    """When the editor leaves, the step that says so grants."""
    signal = await edits(desk, "human:editor", "canonical")
    waiting = await desk.begin("instance:a", "UPDATE_CANONICAL", POST, wait=30)
    await desk.signals.end_presence(signal.body["presence_id"], desk.caller)

    assert waiting.is_waiting
    assert desk.holders(POST) == ["instance:a"]


@pytest.mark.feature("S93")
async def test_presence_is_believed_of_who_may_write_there(desk: Desk) -> None:
    """From an actor that may not write it is refused, from a trusted adapter it is not; one presence a resource."""
    stranger = await edits(desk, "instance:z", "canonical")
    foreign = await edits(desk, "human:editor", "unheard_of")
    adapter = Caller(point=desk.point.view.points["service:adapter"], identity="key:adapter")
    desk.caller = adapter
    trusted = await edits(desk, "instance:z", "canonical")
    await edits(desk, "instance:z", "body")

    assert stranger.code == "no_authority"
    assert foreign.code == "unknown_field"
    assert trusted.code is None
    (presence,) = desk.point.view.records["presence"].values()
    assert presence["fields"] == ["body"]


@pytest.mark.feature("S76")
async def test_an_incident_is_declared_by_who_may(desk: Desk) -> None:
    """DECLARE_INCIDENT on the very resource; a closed one gives nothing any more."""

    async def declared(who: str, status: str) -> Reply:
        asked = question(who, "DECLARE_INCIDENT", "site:102")
        return await desk.signals.incident(
            asked, desk.caller, incident_id="inc-7", actor=who, severity="SEV1", status=status
        )

    refused = await declared("instance:a", "OPEN")
    opened = await declared("human:commander", "OPEN")
    facts = (await desk.ask("human:commander", "UPDATE_SITE", "site:102:robots")).record_input["incidents"]
    again = await declared("human:commander", "OPEN")
    await declared("human:commander", "CLOSED")
    after = (await desk.ask("human:commander", "UPDATE_SITE", "site:102:robots")).record_input["incidents"]

    assert refused.is_refused
    assert opened.body["resource_key"] == "site:102"
    assert facts == [{"incident_id": "inc-7", "severity": "SEV1", "resource_key": "site:102", "status": "OPEN"}]
    assert (again.revision, after) == (opened.revision, [])


async def seen(desk: Desk, version: str, actor: str | None, *fields: str) -> Reply:
    """Report a change of the post, as the adapter."""
    adapter = Caller(point=desk.point.view.points["service:adapter"], identity="key:adapter")
    return await desk.signals.observe(
        THE_POST,
        adapter,
        reporter="service:adapter",
        fields=fields,
        seen_at=desk.point.now(),
        observed_version=version,
        actor=actor,
    )


@pytest.mark.feature("S63", "S95", "S105")
async def test_a_write_past_the_protocol_is_found_and_counted(desk: Desk) -> None:
    """What an operation wrote is explained; what nobody did is an uncoordinated write, or worse; the rate is known."""
    for number in range(99):
        begun = await desk.begin("instance:a", "UPDATE_CANONICAL", POST)
        await desk.walk(begun, final=f"v{number + 2}", version=f"v{number + 1}")
    explained = await seen(desk, "v100", "instance:a", "canonical")
    bypass = await seen(desk, "x1", "instance:b", "canonical")
    again = await seen(desk, "x1", "instance:b", "canonical")

    assert explained.body["explained"] is True
    assert bypass.body["finding"] == "uncoordinated_write"
    assert again.body == {"explained": False, "observation_id": bypass.body["observation_id"], "repeated": True}
    assert desk.signals.coverage() == {"writes_completed": 99, "writes_uncoordinated": 1}


@pytest.mark.feature("S39", "S95")
@pytest.mark.parametrize("actor", [None, "instance:plugin-1", "service:unheard_of"])
async def test_a_writer_without_right_violates_ownership(desk: Desk, actor: str | None) -> None:
    """A managed field changed by nobody known, or by one who may not write it."""
    finding = (await seen(desk, "x1", actor, "canonical")).body["finding"]

    assert finding == "ownership_violation"


@pytest.mark.feature("S95")
async def test_a_running_operation_explains_its_write(desk: Desk) -> None:
    """While an operation writes, what is seen there by its hand is its own."""
    begun = await desk.begin("instance:a", "UPDATE_CANONICAL", POST)
    await desk.operations.precondition(begun.body["coordination_id"], desk.caller, current_version="v1")
    own = await seen(desk, "v2", "instance:a", "canonical")
    other = await seen(desk, "v3", "instance:b", "canonical")

    assert own.body == {"explained": True, "coordination_id": begun.body["coordination_id"]}
    assert other.body["explained"] is False


@pytest.mark.feature("S41")
async def test_two_controllers_that_take_turns_are_told(desk: Desk) -> None:
    """A, B, A, B on one field is FM-035, and both are named."""
    for version, who in enumerate(("instance:plugin-1", "instance:a", "instance:plugin-1", "instance:a")):
        await seen(desk, f"x{version}", who, "canonical")
    (notice,) = desk.signals.notices("instance:plugin-1")

    assert notice["failure_mode"] == "FM-035"
    assert notice["contenders"] == ["instance:a", "instance:plugin-1"]
    assert notice["fence_key"] == "wp:post:1024#canonical"
    assert len(desk.signals.notices("instance:a")) == 1


async def declare(desk: Desk, run: str, actor: str, **keys: Any) -> Reply:
    """Declare a run's work set for a minute."""
    return await desk.signals.declare_work_set(
        desk.caller, run_id=run, actor=actor, expires_at=desk.instant(60), **keys
    )


@pytest.mark.feature("S42", "S44", "S45")
async def test_runs_that_would_meet_are_found_before_they_start(desk: Desk) -> None:
    """Writers of one thing, and one who changes what another reads; overlapping assignments are refused."""
    first = await declare(desk, "run-1", "instance:a", writes=[POST, "wp:template:product"], reads=["report:gsc"])
    second = await declare(desk, "run-2", "instance:b", writes=["ticket:1"], reads=["post:1024"])
    third = await declare(desk, "run-3", "instance:c", writes=["site:102:product-pages"], exclusive=True)
    apart = await declare(desk, "run-4", "instance:d", writes=["wp:post:2001"], exclusive=True)
    label = await declare(desk, "run-5", "instance:a", writes=["production cleanup"])

    assert first.body["conflicts"] == []
    assert [(each["run_id"], each["conflict_type"], each["key"]) for each in second.body["conflicts"]] == [
        ("run-1", "READ_WRITE", POST)
    ]
    assert (third.code, third.outcome) == ("conflicting_operation", "reject")
    assert apart.code is None
    assert label.code == "malformed_resource_key"
    pairs = [(each["with"], each["run_id"]) for each in desk.signals.conflict_map()]
    assert pairs == [("run-1", "run-2")]


@pytest.mark.feature("S43", "S44")
async def test_a_run_is_held_to_what_it_declared(desk: Desk) -> None:
    """Outside its set, under another name, undeclared or too late, the operation is refused."""
    await declare(desk, "run-1", "instance:a", writes=[POST], operations=["UPDATE_CANONICAL"])
    inside = await desk.begin("instance:a", "UPDATE_CANONICAL", POST, work_set_id="run-1")
    action = await desk.begin("instance:a", "UPDATE_TAGS", POST, work_set_id="run-1")
    key = await desk.begin("instance:a", "UPDATE_CANONICAL", "wp:post:1025", work_set_id="run-1")
    undeclared = await desk.begin("instance:a", "UPDATE_CANONICAL", "wp:post:1025", work_set_id="run-9")
    await desk.to(60)
    late = await desk.begin("instance:a", "UPDATE_CANONICAL", POST, work_set_id="run-1")

    assert inside.code is None
    assert [action.code, key.code, undeclared.code, late.code] == [
        "capability_mismatch",
        "capability_mismatch",
        "run_id_required",
        "capability_expired",
    ]


@pytest.mark.feature("S65")
async def test_a_restored_store_ends_what_was_held_and_takes_no_old_token(desk: Desk) -> None:
    """The first revision of a new incarnation ends leases and waiters; older tokens are stale, whatever they are."""
    lease = (await desk.take("instance:a", "UPDATE_CANONICAL", POST)).body["lease"]
    waiting = await desk.take("instance:b", "UPDATE_CANONICAL", POST, wait=60)
    await desk.coordinator.run(BeginIncarnation(incarnation=2), actor="system", action="RESTORE")
    again = await desk.coordinator.run(BeginIncarnation(incarnation=2), actor="system", action="RESTORE")
    fresh = (await desk.take("instance:c", "UPDATE_CANONICAL", POST)).body["lease"]
    old = await desk.present(lease, "UPDATE_CANONICAL", expected_version="v1")
    invented = await desk.present({**fresh, "lease_epoch": 2**39}, "UPDATE_CANONICAL", expected_version="v1")

    assert again.body["leases"] == 0
    assert fresh["lease_epoch"] > 2**40
    assert fresh["lease_epoch"] - 2**40 < 1_000
    assert {"lease_expired", "stale_fencing_token"} <= set(old.codes)
    assert "stale_fencing_token" in invented.codes
    assert codes(desk.leases.told(desk.coordinator.waiting.find(waiting.body["waiter_id"]), "")) == ["revision_foreign"]
