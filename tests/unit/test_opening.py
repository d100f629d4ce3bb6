"""How a first world enters a store: whole, once, and without a permit before it is whole."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.errors import ForeignStore, LedgerUnavailable
from remit_graph.sqlite.ledger import SqliteLedger
from remit_service import opening
from remit_service.clock import SystemClock
from remit_service.decision.caller import Caller
from remit_service.decision.request import parse_evaluation
from remit_service.opening import bring_in, read_world, shipped_world
from remit_service.point import DecisionPoint
from tests.http.questions import PERMITTED
from tests.support.scenario.stage import Recorder, policy_with
from tests.support.view_state import state_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from remit_graph.world.value import World

CALLER = Caller(point=None, trusts_all=True)


def the_world(name: str = "seo") -> World:
    """Return a world that ships."""
    return read_world(shipped_world(name), policy_with(()).scales)


@asynccontextmanager
async def a_point(path: Path) -> AsyncIterator[DecisionPoint]:
    """Run a decision point on the ledger at `path`, made if it is not there."""
    there = await asyncio.to_thread(path.exists)
    ledger = await (SqliteLedger.open(path) if there else SqliteLedger.init(path, "acme"))
    point = DecisionPoint(ledger=ledger, policy=policy_with(()), clock=SystemClock(), recorder=Recorder())
    await point.start()
    try:
        yield point
    finally:
        await point.aclose()


async def effect_of(point: DecisionPoint) -> str:
    """Return the effect of a question that the whole world permits."""
    return (await point.evaluate(parse_evaluation(PERMITTED), CALLER)).effect


def fail_after(point: DecisionPoint, commands: int) -> None:
    """Let the process end, as it were, after so many commands."""
    submit = point.submit
    left = [commands]

    async def ending(submission: Any) -> Any:
        if not left[0]:
            raise LedgerUnavailable("the process was killed")
        left[0] -= 1
        return await submit(submission)

    point.submit = ending  # type: ignore[method-assign]


async def test_a_world_enters_in_one_command_if_it_is_small(tmp_path: Path) -> None:
    """It is one revision, and a second time nothing happens."""
    told: list[int] = []
    async with a_point(tmp_path / "l.db") as point:
        assert await bring_in(point, the_world(), told.append)
        assert not await bring_in(point, the_world())

        assert (point.view.revision, point.view.realm.name) == (1, "acme")
        assert len(told) == 1


async def test_a_large_world_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was killed half-way leaves no permit, and the next one brings in the rest and nothing twice."""
    monkeypatch.setattr(opening, "CHUNK", 41)
    path, whole = tmp_path / "l.db", tmp_path / "whole.db"
    async with a_point(whole) as point:
        await bring_in(point, the_world())
        assert await effect_of(point) == "permit"
        expected, commands = state_of(point.view), point.view.revision
    async with a_point(path) as point:
        fail_after(point, commands - 1)
        with pytest.raises(LedgerUnavailable):
            await bring_in(point, the_world())
        assert point.view.principals
        assert await effect_of(point) == "deny"
        assert not point.readiness().ready
    async with a_point(path) as point:
        assert await bring_in(point, the_world())
        found = state_of(point.view)

    for volatile in ("at", "hash"):
        del found["scalars"][volatile], expected["scalars"][volatile]
    assert found == expected


async def test_two_processes_bring_one_world_in_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes second finds each command there."""
    monkeypatch.setattr(opening, "CHUNK", 100)
    async with a_point(tmp_path / "l.db") as one, a_point(tmp_path / "l.db") as two:
        await asyncio.gather(bring_in(one, the_world()), bring_in(two, the_world()))
        await one.replica.catch_up()
        await two.replica.catch_up()

        actions = [entry.action for entry in await one.ledger.read(0, 100)]
        assert actions == ["APPLY_WORLD"] * one.view.revision
        assert state_of(one.view) == state_of(two.view)
        assert await one.ledger.check() == []


async def test_a_part_of_another_world_is_not_built_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that was begun with one world is not finished with another."""
    monkeypatch.setattr(opening, "CHUNK", 41)
    async with a_point(tmp_path / "l.db") as point:
        fail_after(point, 2)
        with pytest.raises(LedgerUnavailable):
            await bring_in(point, the_world())
    other = next(path.stem for path in shipped_world("seo").parent.glob("*.yaml") if path.stem != "seo")
    async with a_point(tmp_path / "l.db") as point:
        with pytest.raises(ForeignStore, match="part of another world"):
            await bring_in(point, the_world(other))


async def test_a_server_that_is_slow_at_first_is_waited_for(tmp_path: Path) -> None:
    """An append that did not happen is tried again, a few times: the server may have started a moment ago itself."""
    async with a_point(tmp_path / "l.db") as point:
        append, refused = point.ledger.append, [2]

        async def slow(*arguments: Any) -> Any:
            if refused[0]:
                refused[0] -= 1
                raise LedgerUnavailable("the transaction has not completed in time")
            return await append(*arguments)

        point.ledger.append = slow  # type: ignore[method-assign, assignment]

        assert await bring_in(point, the_world())
        assert (refused, point.view.revision) == ([0], 1)
