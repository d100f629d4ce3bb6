"""What a command would mean, looked at while the graph moves: what is tried rests on one revision."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.change import Change
from remit_graph.view.beside import beside
from remit_service import slices
from remit_service.evidence.decision_log.compose import make_log
from remit_service.evidence.decision_log.errors import RecordingFailed
from remit_service.governance import becoming
from remit_service.governance.becoming import Becoming, Decided
from remit_service.governance.consequences import concluded
from remit_service.governance.ending import Target, revoke
from remit_service.governance.governor import Governor, Order
from remit_service.governance.law import Actor
from remit_service.settings import Settings
from remit_service.writer.command import Accepted, Refused
from tests.support.desk import desk_on, question, sqlite_in

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator
    from pathlib import Path

    from tests.support.desk import Desk

ROOT = Order(actor="organization:desk")
POSTS = [f"wp:post:{number}" for number in range(20)]
MANY = 600
"""Edges that are made ready beside the view."""


def revoked(desk: Desk, edge_id: str) -> Decided | Refused:
    """Decide the revocation of an edge on the graph of now, with all that it brings about."""
    view, at, policy = desk.point.view, desk.point.now(), desk.point.policy
    verdict = revoke(policy, view, at, Actor(principal=ROOT.actor), Target(edge_id=edge_id))
    told = concluded(verdict, view, at, policy)
    return told if isinstance(told, Refused) else Decided.on(view, told)


def many(desk: Desk) -> Decided:
    """Return many grants, as they would be made on the graph of now."""
    edge = {"version": 1, "edge": "MAY_READ", "from": "role:heavy", "epoch": 1, "issuer": ROOT.actor}
    changes = tuple(Change("edge.begin", {**edge, "edge_id": f"many-{n}", "to": f"report:{n}"}) for n in range(MANY))
    return Decided.on(desk.point.view, Accepted(changes=changes, result={}))


class Anew:
    """Decides anew by a function, and counts how often."""

    def __init__(self, decide: Any) -> None:
        """Begin at none."""
        self.times = 0
        self._decide = decide

    async def __call__(self) -> Decided | Refused:
        """Do it once more."""
        self.times += 1
        found: Decided | Refused = self._decide()
        return found


async def test_what_moved_since_it_was_decided_is_decided_anew(tmp_path: Path) -> None:
    """A delegation amended meanwhile would end by its present version, and the verdicts on it change as they would."""
    async with desk_on(sqlite_in(tmp_path)) as desk:
        log = make_log(Settings(decision_log="none"))
        governor = Governor(desk.point, log)
        for each in POSTS:
            asked = question("instance:a", "UPDATE_CANONICAL", each)
            with contextlib.suppress(RecordingFailed):
                await log.record(await desk.point.evaluate(asked, desk.caller), asked, desk.caller, {})
        decided = revoked(desk, "del-a")
        assert isinstance(decided, Decided)
        amended = {**desk.point.view.edges["del-a"].record(), "version": 2}
        await desk.govern(("edges.end", {"edges": [["del-a", 1]], "cause": "amended"}), ("edge.begin", amended))
        anew = Anew(lambda: revoked(desk, "del-a"))

        found = await governor.impact.of(decided, anew)
        gone = await governor.impact.of(decided, Anew(lambda: Refused(code="not_found", message="it is gone")))

        assert (found["decisions"], found["skipped"], found["changed"], anew.times) == (len(POSTS), 0, len(POSTS), 1)
        assert {each["after"]["effect"] for each in found["would_change"]} == {"deny"}
        assert (gone["decisions"], gone["skipped"], gone["changed"]) == (0, len(POSTS), 0)
        assert desk.point.view.edges["del-a"].version == 2


async def test_leases_that_moved_since_are_as_they_are_now(tmp_path: Path) -> None:
    """A lease that was given back is not tried as lost, and one that came since is there; the rest is tried."""
    async with desk_on(sqlite_in(tmp_path)) as desk:
        taken = (await desk.take("instance:a", "UPDATE_CANONICAL", POSTS[0])).body["lease"]
        decided = revoked(desk, "del-a")
        assert isinstance(decided, Decided)
        assert any(each.kind.startswith("lease.") for each in decided.verdict.changes)
        await desk.leases.release(taken["lease_id"], desk.caller, token=taken["lease_epoch"])
        other = (await desk.take("instance:a", "UPDATE_CANONICAL", POSTS[1])).body["lease"]
        records = dict(desk.point.view.records["lease"])
        anew = Anew(lambda: revoked(desk, "del-a"))
        trial = Becoming(desk.point, Governor(desk.point).structure, decided, anew)

        assert await trial.is_ready()
        with trial.tried(desk.point.now()) as view:
            seen, has = dict(view.records["lease"]), "del-a" in view.edges

        assert (has, "del-a" in desk.point.view.edges, anew.times) == (False, True, 0)
        assert seen == records == dict(desk.point.view.records["lease"])
        assert other["lease_id"] in seen


@pytest.mark.parametrize("moves", ["structure", "a lease"])
async def test_many_edges_are_not_made_ready_on_a_graph_that_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: str
) -> None:
    """A command between two slices: where it is of structure all begins anew, and a lease is there as it is now."""
    async with desk_on(sqlite_in(tmp_path)) as desk:
        view, before = desk.point.view, desk.point.view.revision
        governor = Governor(desk.point)
        commands: dict[str, Coroutine[Any, Any, Any]] = {
            "structure": governor.carry_out("declare", {"id": "instance:new"}, ROOT),
            "a lease": desk.take("instance:a", "UPDATE_CANONICAL", POSTS[0]),
        }

        def paused(*arguments: Any, **options: Any) -> Generator[None, None, Any]:
            steps = beside(*arguments, **options)
            yield from (next(steps) for _ in range(3))
            while view.revision == before:
                yield
            return (yield from steps)

        monkeypatch.setattr(becoming, "beside", paused)
        monkeypatch.setattr(slices, "SLICE_SECONDS", 0.0)
        command = asyncio.create_task(commands.pop(moves))
        for each in commands.values():
            each.close()
        anew = Anew(lambda: many(desk))
        trial = Becoming(desk.point, governor.structure, many(desk), anew)

        assert await trial.is_ready()
        assert view.revision > before
        for _ in range(2):
            with trial.tried(desk.point.now()) as after:
                assert sum(each.startswith("many-") for each in after.edges) == MANY
                assert len(after.grants["role:heavy"]) >= MANY
                assert ("instance:new" in after.principals) is (moves == "structure")
                assert bool(after.records.get("lease")) is (moves == "a lease")
            assert not any(each.startswith("many-") for each in view.edges)
        await command

        assert anew.times == (1 if moves == "structure" else 0)
