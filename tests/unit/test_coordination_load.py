"""Many actors at once (S06): who meets nobody never waits, and on one key nothing is lost and nobody is passed over."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.support.desk import desk_on, sqlite_in

if TYPE_CHECKING:
    from pathlib import Path

    from remit_service.coordinator.reply import Reply
    from tests.support.desk import Desk

ACTORS = 30
SHARED = "queue:fifo:shared"


@dataclass
class Counter:
    """A resource that is read, waited on and written whole, and that remembers who wrote under which token."""

    value: int = 0
    wrote: list[tuple[str, int]] = field(default_factory=list)

    @property
    def version(self) -> str:
        """The version to plan on."""
        return f"v{self.value}"

    async def add_one(self, who: str, token: int) -> None:
        """Read, let others have their chance to interfere, and write."""
        read = self.value
        for _ in range(5):
            await asyncio.sleep(0)
        self.value = read + 1
        self.wrote.append((who, token))


async def worked(desk: Desk, who: str, key: str, counter: Counter) -> Reply:
    """Walk a whole operation, waiting for its turn if need be; return what `begin` was answered."""
    begun = await desk.begin(who, "WORK", key, wait=300, keep_alive=300, ttl=300)
    body = begun.body
    while not body["decision"]:
        body = (await desk.leases.wait(begun.body["waiter_id"], desk.caller, within_seconds=30)).body
    token = body["lease_epoch"]
    version = counter.version
    await counter.add_one(who, token)
    done = await desk.walk_on(body["coordination_id"], token, version=version, final=counter.version)
    assert not done.is_refused, done
    return begun


@pytest.mark.feature("S06", "S45", "S55")
async def test_many_actors_wait_for_nobody_they_do_not_meet_and_lose_nothing(tmp_path: Path) -> None:
    """Thirty on keys of their own begin at once, thirty on one key in the order they came; every change is there."""
    actors = [f"instance:worker-{number}" for number in range(ACTORS)]
    own = {who: Counter() for who in actors}
    shared = Counter()
    async with desk_on(sqlite_in(tmp_path)) as desk:
        await desk.join("team:workers", *actors)
        before = desk.point.view.revision
        apart = await asyncio.gather(
            *(worked(desk, who, f"queue:fifo:own-{place}", own[who]) for place, who in enumerate(actors))
        )
        together = await asyncio.gather(*(worked(desk, who, SHARED, shared) for who in actors))
        entries = await desk.point.ledger.read(before, 10_000)
        left = desk.leases.held()

    changes = [change for entry in entries for change in entry.changes]
    waited = [each.body["holder"] for each in changes if each.kind == "waiter.put"]
    receipts = [each.body for each in changes if each.kind == "receipt.put" and each.body["record"] == "coordination"]
    assert [each.is_waiting for each in apart] == [False] * ACTORS
    assert {who: each.value for who, each in own.items()} == dict.fromkeys(actors, 1)
    assert [each.is_waiting for each in together] == [False] + [True] * (ACTORS - 1)
    assert (shared.value, [who for who, _ in shared.wrote]) == (ACTORS, [actors[0], *waited])
    tokens = [token for _, token in shared.wrote]
    assert tokens == sorted(set(tokens))
    on_shared = [each for each in receipts if each["resource_key"] == SHARED]
    assert [each["final_version"] for each in on_shared] == [f"v{number + 1}" for number in range(ACTORS)]
    assert {each["status"] for each in receipts} == {"COMPLETED"}
    assert left == []
