"""FM-031 to FM-039 (S107): each provoked with its guard off, and stopped by the invariant that is named beside it.

A guard is switched off where a site would lose it: in policy data, at the resource, in the world, in the ledger past
every law, or in the machine itself. What is then seen is the failure; with the guard in place it cannot be had.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from remit_service.bundle.folder import shipped_policy
from remit_service.coordination import wait
from remit_service.coordination.bounds import LeasePolicy
from remit_service.decision.request import Entity
from tests.support.desk import WORLDS, desk_on, sqlite_in
from tests.support.invariant_worlds import without

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

POST = "wp:post:1024"
CANONICAL = "UPDATE_CANONICAL"
CONFIG = "remit/config/data.yaml"


@dataclass
class Page:
    """A resource: fields, a version, and, unless it is switched off, the guard that remembers the highest token."""

    is_guarded: bool = True
    token: int = 0
    version: int = 1
    fields: dict[str, str] = field(default_factory=dict)

    def read(self) -> tuple[str, dict[str, str]]:
        """Return the version and a copy of everything."""
        return f"v{self.version}", dict(self.fields)

    def write(self, fields: Mapping[str, str], *, token: int = 0) -> bool:
        """Replace everything; refused behind the token that was seen."""
        if self.is_guarded and token < self.token:
            return False
        self.token = max(self.token, token)
        self.fields, self.version = dict(fields), self.version + 1
        return True


def config(**changes: Any) -> dict[str, str]:
    """Return policy data with these members replaced, as a file laid over the shipped ones."""
    data = yaml.safe_load((shipped_policy() / CONFIG).read_text())
    return {CONFIG: yaml.safe_dump({**data, **changes})}


@pytest.mark.feature("S79", "S107")
@pytest.mark.parametrize("is_on", [False, True])
async def test_fm_031_lost_update(tmp_path: Path, *, is_on: bool) -> None:
    """I10, a stale version overwrites nothing: without it the second writer puts back what it read before the first."""
    demands = yaml.safe_load((shipped_policy() / CONFIG).read_text())["concurrency"]
    off = config(concurrency={**demands, "WRITE_OPTIMISTIC": []})
    page = Page(fields={"canonical": "old", "tags": "old"})
    async with desk_on(sqlite_in(tmp_path), policy=None if is_on else off) as desk:
        plans = {who: page.read() for who in ("instance:a", "instance:b")}
        verdicts = []
        for who, name in (("instance:a", "canonical"), ("instance:b", "tags")):
            version, seen = plans[who]
            said = {"expected_version": version, "resource_version": page.read()[0]} if is_on else {}
            decision = await desk.ask(who, CANONICAL if name == "canonical" else "UPDATE_TAGS", POST, said)
            verdicts.append(decision.outcome)
            if decision.outcome == "execute":
                page.write({**seen, name: f"by {who}"})

    assert verdicts == (["execute", "rebase"] if is_on else ["execute", "execute"])
    assert (page.fields["canonical"] == "by instance:a") is is_on


@pytest.mark.feature("S64", "S107")
@pytest.mark.parametrize("is_on", [False, True])
async def test_fm_032_stale_lease_holder_write(tmp_path: Path, *, is_on: bool) -> None:
    """I09, a stale lease epoch writes nothing: a delayed write passes a resource that does not look at its token."""
    page = Page(is_guarded=is_on)
    async with desk_on(sqlite_in(tmp_path)) as desk:
        first = (await desk.take("instance:a", CANONICAL, POST, ttl=2)).body["lease"]
        await desk.to(5)
        second = (await desk.take("instance:b", CANONICAL, POST)).body["lease"]
        page.write({"canonical": "by b"}, token=second["lease_epoch"])
        late = page.write({"canonical": "by a"}, token=first["lease_epoch"])
        asked = await desk.present(first, CANONICAL, expected_version="v1")

    assert second["lease_epoch"] > first["lease_epoch"]
    assert (late, page.fields["canonical"]) == ((False, "by b") if is_on else (True, "by a"))
    assert asked.outcome == "deny"
    assert "stale_fencing_token" in asked.codes


@pytest.mark.feature("S39", "S107")
@pytest.mark.parametrize("is_on", [False, True])
async def test_fm_033_split_ownership(tmp_path: Path, *, is_on: bool) -> None:
    """I12, one managed field has one owner: two of them, made past every law, and neither side writes any more.

    Without it the second takes the field from the first, whose edge comes later.
    """
    async with desk_on(sqlite_in(tmp_path), policy=None if is_on else without("ownership")) as desk:
        before = await desk.ask("instance:a", CANONICAL, POST, {"expected_version": "v1"})
        own = {"edge": "OWNS", "version": 1, "epoch": 1, "issuer": "organization:desk", "ownership_epoch": 1,
               "to": "wp:post:*", "scope": {"fields": ["canonical"]}}  # fmt: skip
        await desk.append(("edge.begin", {**own, "edge_id": "own-plugin", "from": "controller:plugin"}))
        split = [
            await desk.ask(who, CANONICAL, POST, {"expected_version": "v1"})
            for who in ("instance:a", "instance:plugin-1")
        ]
        begun = await desk.begin("instance:plugin-1", CANONICAL, POST, context={"expected_version": "v1"})

    assert before.outcome == "execute"
    assert [each.outcome for each in split] == (["deny", "deny"] if is_on else ["deny", "execute"])
    assert all(("ownership_conflict" in each.codes) is is_on for each in split)
    assert begun.is_refused is is_on


@pytest.mark.feature("S107")
async def test_fm_034_unbounded_delegation(tmp_path: Path) -> None:
    """I11, what is handed on never exceeds its parent: wider, deeper and circular edges in the ledger give nothing."""
    hop = {"edge": "DELEGATES", "version": 1, "epoch": 1, "issuer": "organization:desk", "max_depth": 9}
    scope = {"actions": [CANONICAL], "resources": ["wp:post:*"], "fields": ["canonical"]}
    wider = {**scope, "actions": [CANONICAL, "UPDATE_BODY"], "fields": ["body", "canonical"]}
    edges = (
        ("controller:seo", "service:reconciler", scope, "d-workers@1"),
        ("service:reconciler", "instance:z", wider, "x-0@1"),
        ("instance:a", "human:op-1", scope, "del-a@1"),
        ("instance:z", "service:reconciler", scope, "x-1@1"),
    )
    async with desk_on(sqlite_in(tmp_path)) as desk:
        for number, (source, target, covers, under) in enumerate(edges):
            edge = {**hop, "edge_id": f"x-{number}", "from": source, "to": target, "scope": covers, "under": under}
            await desk.append(("edge.begin", edge))
        asked = [
            await desk.ask(who, action, POST, {"expected_version": "v1"})
            for who, action in (
                ("service:reconciler", CANONICAL),
                ("instance:z", "UPDATE_BODY"),
                ("human:op-1", CANONICAL),
            )
        ]

    assert [(each.outcome, each.codes[:1]) for each in asked] == [
        ("execute", ()),
        ("deny", ("attenuation_violated",)),
        ("deny", ("depth_exceeded",)),
    ]


@pytest.mark.feature("S41", "S107")
async def test_fm_035_configuration_oscillation(tmp_path: Path) -> None:
    """One owner at every revision: past the protocol two take turns and are named; in it the old one is out."""
    async with desk_on(sqlite_in(tmp_path)) as desk:
        for number, who in enumerate(("instance:plugin-1", "instance:a") * 2):
            await desk.signals.observe(
                Entity(type="key", id=POST), desk.caller, reporter="human:op-1", fields=["canonical"],
                seen_at=desk.point.now(), observed_version=f"x{number}", actor=who,
            )  # fmt: skip
        (notice,) = desk.signals.notices("instance:plugin-1")
        move: dict[str, Any] = {
            "actor": "controller:seo",
            "from_owner": "controller:seo",
            "to_owner": "controller:plugin",
        }
        proposed = await desk.signals.propose_transfer(
            desk.caller, resource=POST, fields=("canonical",), reason="one of them", freeze_us=None, **move
        )
        steps = [
            (await desk.signals.step_transfer(proposed.body["transfer_id"], step, desk.caller, actor="controller:seo"))
            for step in ("validate", "freeze", "transfer", "register", "verify", "retire")
        ]
        old = await desk.ask("instance:a", CANONICAL, POST, {"expected_version": "v1"})
        new = await desk.ask("instance:plugin-1", CANONICAL, POST, {"expected_version": "v1"})

    assert (notice["failure_mode"], notice["contenders"]) == ("FM-035", ["instance:a", "instance:plugin-1"])
    assert steps[-1].body["state"] == "RETIRED"
    assert (old.outcome, "not_owner" in old.codes) == ("deny", True)
    assert new.outcome == "execute"


@pytest.mark.feature("S33", "S107")
@pytest.mark.parametrize("is_on", [False, True])
async def test_fm_036_authority_revocation_failure(tmp_path: Path, *, is_on: bool) -> None:
    """What rests on an ended edge ends in its revision; marking the root alone leaves a lease that nobody may use."""
    async with desk_on(sqlite_in(tmp_path)) as desk:
        lease = (await desk.take("instance:a", CANONICAL, POST)).body["lease"]
        if is_on:
            await desk.revoke("del-a")
        else:
            await desk.append(("edges.end", {"edges": [["del-a", 1]], "cause": "revoked"}))
        write = await desk.present(lease, CANONICAL, expected_version="v1")
        renewal = await desk.leases.renew(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
        holders = desk.holders(POST)
        other = await desk.take("instance:b", CANONICAL, POST)

    assert holders == ([] if is_on else ["instance:a"])
    assert other.is_refused is not is_on
    assert (write.outcome, "delegation_revoked" in write.codes) == ("deny", True)
    assert renewal.is_refused


@pytest.mark.feature("S48", "S107")
@pytest.mark.parametrize("is_on", [False, True])
async def test_fm_037_coordination_key_collision(tmp_path: Path, *, is_on: bool) -> None:
    """One thing has one key: a second spelling that is a type of its own would be held by two at once."""
    text = (WORLDS / "coordination.yaml").read_text()
    if not is_on:
        alias, own = '"wordpress:article:{id}": "wp:post:{id}", ', "wordpress:article:{id}"
        assert alias in text
        text = text.replace(alias, "").replace(
            "resource_types:\n", f'resource_types:\n  article: {{key: "{own}", concurrency: WRITE_EXCLUSIVE}}\n'
        )
        grant = 'edge: MAY_WRITE, from: "team:workers", to: "wordpress:article:*", scope: {actions: [WORK]}'
        text = text.replace("grants:\n", f"grants:\n  - {{edge_id: g-article, {grant}}}\n", 1)
    (tmp_path / "world.yaml").write_text(text)
    async with desk_on(sqlite_in(tmp_path), world=str(tmp_path / "world")) as desk:
        first = await desk.take("instance:a", CANONICAL, POST)
        second = await desk.take("instance:b", CANONICAL if is_on else "WORK", "wordpress:article:1024")
        invented = await desk.take("instance:b", CANONICAL, "wordpress:posts:1024")

    assert first.code is None
    assert second.code == ("resource_busy" if is_on else None)
    assert invented.code in ("unknown_resource", "malformed_resource_key")


@pytest.mark.feature("S70", "S71", "S107")
@pytest.mark.parametrize("is_on", [False, True])
async def test_fm_038_deadlock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_on: bool) -> None:
    """No cycle of waits: without lock order and without the look for cycles both wait until their time is over."""
    if not is_on:
        monkeypatch.setattr(wait, "closes_cycle", lambda *_: None)
    tables = {"leases": LeasePolicy(ordered=False)}
    one, other = "queue:fifo:100", "queue:fifo:101"
    async with desk_on(sqlite_in(tmp_path), tables=tables) as desk:
        await desk.take("instance:a", "WORK", one, ttl=300)
        held = (await desk.take("instance:b", "WORK", other, ttl=300)).body["lease"]
        first = await desk.take("instance:a", "WORK", other, wait=60, keep_alive=300)
        second = await desk.take("instance:b", "WORK", one, wait=60, keep_alive=300)
        await desk.to(59)
        await desk.sweep()
        stuck = [each["holder"] for key in (one, other) for each in desk.leases.queue(key)]
        if is_on:
            await desk.leases.release(held["lease_id"], desk.caller, token=held["lease_epoch"])
        await desk.to(60)
        await desk.sweep()
        ended = desk.leases.told(desk.coordinator.waiting.find(first.body["waiter_id"]), first.body["waiter_id"])

    assert second.code == ("deadlock_avoided" if is_on else None)
    assert stuck == (["instance:a"] if is_on else ["instance:b", "instance:a"])
    assert ended.code == (None if is_on else "coordination_timeout")


@pytest.mark.feature("S77", "S107")
@pytest.mark.parametrize("is_on", [False, True])
async def test_fm_039_starvation(tmp_path: Path, *, is_on: bool) -> None:
    """Every waiter is served within its bound: without ageing a stream of higher priority goes first for ever."""
    data = config(
        priorities={"default": 1, "roles": {"role:heavy": 9}, "incidents": {}},
        ageing_bound_seconds=60 if is_on else 86_400,
    )
    key, order = "queue:priority:1", []
    async with desk_on(sqlite_in(tmp_path), policy=data) as desk:
        await desk.take("instance:heavy-1", "WORK", key, ttl=600)
        await desk.take("instance:z", "WORK", key, wait=600, keep_alive=600)
        for number in range(12):
            await desk.take(f"instance:heavy-{2 - number % 2}", "WORK", key, wait=600, keep_alive=600)
            await desk.to(10 * (number + 1))
            (lease,) = desk.leases.held(under=key)
            await desk.leases.release(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
            order.append(desk.holders(key)[0])
            if order[-1] == "instance:z":
                break
        told = [each["failure_mode"] for each in desk.signals.notices("instance:z")]

    assert ("instance:z" in order) is is_on
    assert desk.at <= 60 if is_on else len(order) == 12
    assert told == []
