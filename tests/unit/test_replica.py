"""The replica: when it is fresh, when it is not, and what stops it; on a clock that tests move."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.errors import ForeignStore, LedgerError, LedgerUnavailable, SchemaTooNew
from remit_graph.model.change import Change, Command
from remit_graph.sqlite.ledger import SqliteLedger
from remit_graph.sqlite.options import SqliteOptions
from remit_service.clock import ManualClock
from remit_service.keeping.keeper import Keeper
from remit_service.replica import replica as of_replica
from remit_service.replica import tail as of_tail
from remit_service.replica.freshness import Freshness
from remit_service.replica.replica import Replica
from remit_service.writer.command import Accepted, Submission
from remit_service.writer.writer import Writer
from tests.support.process import wait_until
from tests.support.view_state import state_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from remit_graph.model.change import Entry

SOON = timedelta(seconds=5)
START = 1_800_000_000_000_000


@asynccontextmanager
async def a_replica(path: Path, clock: ManualClock, **more: Any) -> AsyncIterator[Replica]:
    """Run a replica on the ledger at `path`, made if it is not there."""
    options = SqliteOptions(clock=clock.now)
    there = await asyncio.to_thread(path.exists)
    ledger = await (
        SqliteLedger.open(path, options=options) if there else SqliteLedger.init(path, "acme", options=options)
    )
    replica = Replica(ledger, clock, **more)
    await replica.start()
    try:
        yield replica
    finally:
        await replica.aclose()
        await ledger.aclose()


async def append(replica: Replica, *changes: Change, action: str = "TEST") -> Entry:
    """Append past the replica's own writer."""
    head = await replica.ledger.head()
    command = Command(action=action, actor="system", at=max(head.now, head.at), changes=changes)
    return (await replica.ledger.append(head, [command]))[0]


def principal(name: str) -> Change:
    """Return the change that declares a principal."""
    return Change("principal.put", {"id": name})


async def test_the_tail_brings_what_others_append(tmp_path: Path) -> None:
    """Two replicas of one ledger come to the same view, and listeners are told of each entry once."""
    clock = ManualClock(START)
    async with a_replica(tmp_path / "l.db", clock) as one, a_replica(tmp_path / "l.db", clock) as two:
        told: list[int] = []
        two.subscribe(lambda entry: told.append(entry.revision))
        for name in ("role:a", "role:b", "role:c"):
            await append(one, principal(name))

        assert await two.reached(3, SOON)
        assert await one.reached(3, SOON)
        assert told == [1, 2, 3]
        assert state_of(one.view) == state_of(two.view)
        assert not await two.reached(4, timedelta(0))


async def test_a_change_of_a_later_version_stops_the_replica(tmp_path: Path) -> None:
    """It stays whole before that change, says what it met, and applies nothing of it."""
    clock = ManualClock(START)
    async with a_replica(tmp_path / "l.db", clock) as replica:
        await append(replica, principal("role:a"))
        await append(replica, principal("role:b"), Change("moon.put", {"id": "m"}))
        await append(replica, principal("role:c"))
        with pytest.raises(SchemaTooNew):
            await replica.catch_up()

        assert replica.view.revision == 1
        assert sorted(replica.view.principals) == ["role:a"]
        assert isinstance(replica.stopped_by, SchemaTooNew)
        assert "moon.put" in replica.stopped_by.message
        with pytest.raises(SchemaTooNew):
            await replica.catch_up()


async def test_a_change_that_cannot_be_applied_stops_the_replica(tmp_path: Path) -> None:
    """A row that breaks the model is named with its revision; nothing of it is kept."""
    clock = ManualClock(START)
    async with a_replica(tmp_path / "l.db", clock) as replica:
        await append(replica, principal("role:a"), principal("ghost:b"))
        with pytest.raises(LedgerError, match="revision 1 cannot be applied"):
            await replica.catch_up()

        assert (replica.view.revision, replica.view.principals) == (0, {})


async def test_a_replica_that_hears_nothing_grows_stale_and_recovers(tmp_path: Path) -> None:
    """While the ledger fails nothing confirms the view; when it answers again the tail goes on by itself (F054)."""
    clock = ManualClock(START)
    async with a_replica(tmp_path / "l.db", clock, max_staleness=timedelta(milliseconds=40)) as replica:
        assert replica.staleness_seconds() == 0
        head, watch = replica.ledger.head, replica.ledger.watch
        failing = asyncio.Event()

        async def fail(*_: Any) -> Any:
            failing.set()
            raise LedgerUnavailable("no answer")

        replica.ledger.watch = fail  # type: ignore[method-assign, assignment]
        replica.ledger.head = fail  # type: ignore[method-assign]
        clock.advance(7)
        await asyncio.wait_for(failing.wait(), 60)
        assert replica.staleness_seconds() == 7

        replica.ledger.watch, replica.ledger.head = watch, head  # type: ignore[method-assign]
        await append(replica, principal("role:a"))
        assert await replica.reached(1, SOON)
        await replica.catch_up()
        assert replica.staleness_seconds() == 0


async def test_a_ledger_that_was_put_back_is_loaded_anew(tmp_path: Path) -> None:
    """With another incarnation nothing is answered from the old view, until the new one is there."""
    clock = ManualClock(START)
    async with a_replica(tmp_path / "l.db", clock) as replica:
        await append(replica, principal("role:a"))
        assert await replica.reached(1, SOON)
        before = replica.view
        await replica.ledger.begin_incarnation()
        with pytest.raises(ForeignStore, match="not the one that was loaded"):
            await replica.catch_up()
        assert not replica.is_loaded
        assert replica.staleness_seconds() == float("inf")

        await asyncio.wait_for(replica.loaded(), 60)
        assert replica.view is not before
        assert replica.view.revision == 1
        assert replica.head is not None
        assert replica.head.incarnation == 2


async def test_a_store_that_moved_away_confirms_nothing(tmp_path: Path) -> None:
    """The view grows stale, nothing newer is taken for granted, and why is kept for whoever asks for readiness."""
    clock = ManualClock(START)
    async with a_replica(tmp_path / "remit.db", clock) as replica:
        await append(replica, principal("human:ada"))
        await replica.catch_up()

        await replica.ledger.move_away("neo4j://db")
        clock.advance(60)
        await asyncio.to_thread(wait_until, lambda: replica.trouble is not None, within_seconds=30)

        assert replica.trouble is not None
        assert "went on at `neo4j://db`" in replica.trouble.message
        assert replica.staleness_seconds() >= 60
        with pytest.raises(ForeignStore, match="went on"):
            await replica.catch_up()


async def test_a_patient_replica_loads_when_it_can(tmp_path: Path) -> None:
    """It starts without a view, counts what failed, and is loaded as a whole later (F013)."""
    clock = ManualClock(START)
    async with a_replica(tmp_path / "l.db", clock) as one:
        await append(one, principal("role:a"))
        ledger = await SqliteLedger.open(tmp_path / "l.db")
        replica = Replica(ledger, clock)
        read = ledger.read
        failures = 3

        async def fail(after: int, limit: int) -> Any:
            nonlocal failures
            failures -= 1
            if failures >= 0:
                raise LedgerUnavailable("the read of edge 7 failed")
            return await read(after, limit)

        ledger.read = fail  # type: ignore[method-assign]
        with pytest.raises(LedgerUnavailable):
            await Replica(ledger, clock).start()
        await replica.start(patiently=True)
        assert (replica.is_loaded, replica.view.revision) == (False, 0)
        await asyncio.wait_for(replica.loaded(), 60)

        assert (replica.load_failures, replica.view.revision) == (2, 1)
        await replica.aclose()
        await ledger.aclose()


def test_a_view_that_lags_is_as_old_as_its_lag() -> None:
    """What confirms it is the head that it has reached, not that something came."""
    clock = ManualClock(START)
    fresh = Freshness(clock)
    fresh.begin(clock.monotonic())
    clock.advance(1)
    fresh.aim(clock.monotonic(), 100)
    clock.advance(1)
    fresh.reached(50)
    assert fresh.age_seconds() == 2
    fresh.aim(clock.monotonic(), 200)
    fresh.reached(150)

    assert fresh.age_seconds() == 1


async def test_one_of_many_replicas_keeps_a_checkpoint_when_it_is_due(tmp_path: Path) -> None:
    """The others see its anchor, and for them none is due any more."""
    clock = ManualClock(START)
    async with a_replica(tmp_path / "l.db", clock) as one, a_replica(tmp_path / "l.db", clock) as two:
        writer, other = Writer(one.ledger, one, clock), Writer(two.ledger, two, clock)
        await writer.start()
        quick = Keeper(one, writer.submit, rows=10, spread_seconds=0)
        slow = Keeper(two, other.submit, rows=10, spread_seconds=3600)
        quick.start()
        slow.start()
        for number in range(5):
            await writer.submit(put(f"role:r{number}"))
        assert await two.reached(6, SOON)
        assert not slow.is_due
        await quick.aclose()
        await slow.aclose()
        await writer.aclose()

        entries = await one.ledger.read(0, 100)
        assert [entry.action for entry in entries] == ["TEST"] * 5 + ["CHECKPOINT"]


def put(name: str) -> Submission:
    """Return a command that declares a principal."""
    verdict = Accepted(changes=(principal(name),), result={})
    return Submission(action="TEST", actor="system", decide=lambda _view, _at: verdict)


async def test_a_revision_that_takes_long_to_read_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look that was given up for silence is given longer the next time, so that a large revision comes in at last."""
    monkeypatch.setattr(of_tail, "SILENCE", timedelta(milliseconds=60))
    monkeypatch.setattr(of_replica, "RETRY_SECONDS", 0.001)
    clock = ManualClock(START)
    async with a_replica(tmp_path / "l.db", clock, max_staleness=timedelta(milliseconds=4)) as replica:
        watch = replica.ledger.watch

        async def slow(*asked: Any, **more: Any) -> Any:
            await asyncio.sleep(0.15)
            return await watch(*asked, **more)

        replica.ledger.watch = slow  # type: ignore[method-assign]
        await append(replica, principal("role:a"))

        async with asyncio.timeout(60):
            assert await replica.reached(1, SOON)
