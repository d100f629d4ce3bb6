"""One compare-and-refuse for every epoch (S36): monotone, never reused, the older refused, the equal accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.laws.owns import next_ownership_epoch
from remit_graph.model.edge import EdgeType
from tests.support.desk import desk_on, open_desk, sqlite_again, sqlite_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from remit_service.decision.decision import Decision
    from tests.support.desk import Desk

POST = "wp:post:1024"
CANONICAL = "UPDATE_CANONICAL"
READ = {"expected_version": "v1"}


@dataclass(frozen=True)
class Stamp:
    """What somebody was given under an epoch: its number, and the write that shows it."""

    number: int
    write: Callable[[Desk], Awaitable[Decision]]


async def next_lease(desk: Desk, before: Stamp | None) -> Stamp:
    """A new holder of the post."""
    for lease in desk.leases.held(under=POST):
        await desk.leases.release(lease["lease_id"], desk.caller, token=lease["lease_epoch"])
    who = "instance:b" if before is not None and before.number % 2 else "instance:a"
    lease = (await desk.take(who, CANONICAL, POST, ttl=600)).body["lease"]
    return Stamp(lease["lease_epoch"], lambda at: at.present(lease, CANONICAL, **READ))


async def next_owner(desk: Desk, _before: Stamp | None) -> Stamp:
    """A new version of the ownership, with a grant that rests on it."""
    view = desk.point.view
    own = next(each for each in view.outgoing(EdgeType.OWNS, "controller:seo") if each.to == "wp:post:*")
    others = [each for versions in view.history.values() for each in versions if each.edge is EdgeType.OWNS]
    number = next_ownership_epoch(own, [own, *others])
    edge = {"epoch": 1, "to": "wp:post:*", "scope": {"fields": ["canonical"]}}
    owns = {**edge, "edge": "OWNS", "edge_id": own.edge_id, "version": own.version + 1, "from": "controller:seo",
            "issuer": "organization:desk", "ownership_epoch": number}  # fmt: skip
    grant = {**edge, "edge": "MAY_WRITE", "edge_id": f"g-{number}", "version": 1, "from": "instance:a",
             "issuer": "controller:seo", "rests_on": [{"edge_id": own.edge_id, "ownership_epoch": number}],
             "scope": {"actions": [CANONICAL], "fields": ["canonical"]}}  # fmt: skip
    ended = ("edges.end", {"edges": [[own.edge_id, own.version]], "cause": "amended"})
    await desk.append(ended, ("edge.begin", owns), ("edge.begin", grant))
    return Stamp(number, lambda at: at.ask("instance:a", CANONICAL, POST, {**READ, "ownership_epoch": number}))


async def next_authority(desk: Desk, before: Stamp | None) -> Stamp:
    """A new authority epoch that all older grants are below, and one grant of it."""
    number = desk.point.view.authority_epoch + (before is not None)
    who = f"instance:under-{number}"
    grant = {"edge": "MAY_WRITE", "edge_id": f"w-{number}", "version": 1, "from": who, "to": "log:*", "epoch": number,
             "issuer": "organization:desk", "scope": {"actions": ["APPEND_LOG"]}}  # fmt: skip
    floors = {"authority": number, "minimum_authority": {"read": number, "write": number}}
    await desk.append(("epoch.set", floors), ("principal.put", {"id": who, "trust": 2}), ("edge.begin", grant))
    return Stamp(number, lambda at: at.ask(who, "APPEND_LOG", "log:1"))


KINDS: dict[str, tuple[Any, str]] = {
    "lease": (next_lease, "stale_fencing_token"),
    "ownership": (next_owner, "stale_ownership_epoch"),
    "authority": (next_authority, "stale_authority_epoch"),
}


@pytest.mark.feature("S35", "S36", "S65")
@pytest.mark.parametrize("kind", KINDS)
async def test_whoever_is_behind_an_epoch_does_nothing_any_more(tmp_path: Path, kind: str) -> None:
    """Each raise is above all before it, also after a restart; the current one passes, and no older one ever does."""
    raised, code = KINDS[kind]
    stamps: list[Stamp] = []
    async with desk_on(sqlite_in(tmp_path)) as desk:
        for _ in range(3):
            stamps.append(await raised(desk, stamps[-1] if stamps else None))
            assert (await stamps[-1].write(desk)).outcome == "execute"
        restarted = await open_desk(await sqlite_again(tmp_path, desk.clock), desk.clock)
        stamps.append(await raised(restarted, stamps[-1]))
        behind = [await each.write(restarted) for each in stamps[:-1]]
        current = await stamps[-1].write(restarted)
        await restarted.point.aclose()

    numbers = [each.number for each in stamps]
    assert numbers == sorted(set(numbers))
    assert [(each.outcome, code in each.codes) for each in behind] == [("deny", True)] * 3
    assert current.outcome == "execute"
