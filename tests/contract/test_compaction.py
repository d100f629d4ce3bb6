"""Compaction on every store: whatever is cut, the state, later revisions and all verdicts on them are as before."""

from __future__ import annotations

import asyncio
import signal
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.errors import HeadMoved, HistoryRemoved, LedgerUnavailable, ModelError
from remit_graph.model.change import Change
from remit_graph.view.image import pack
from remit_service.clock import SystemClock
from remit_service.keeping.checkpoints import keep_checkpoint
from remit_service.keeping.compaction import compact, last_before, plan_compaction
from remit_service.replica.history import view_as_of, view_at_revision
from remit_service.replica.loading import load_view
from remit_service.replica.replica import Replica
from tests.contract.compactions import COMMANDS, FOR_GOOD, compacted, desk, filled
from tests.contract.ledger_commands import a_command, append, now, rows_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from remit_graph.ports import Ledger
    from remit_graph.view.state import View
    from tests.contract.ledgers import Store

ROOT = Path(__file__).parents[2]
LONG = timedelta(seconds=60)


async def loaded(ledger: Ledger) -> View:
    """Return the view of a ledger as a start would have it."""
    return (await load_view(ledger, await ledger.head())).view


@pytest.mark.feature("S103")
@pytest.mark.parametrize("seed", [8])
async def test_nothing_that_is_left_says_anything_else_after_a_cut(store: Store, seed: int) -> None:
    """A random history, cut twice: rows, states of then and now, and the graph beside the log are what they were."""
    ledger = await store.open()
    entries = await filled(ledger, seed)
    instants = {35: entries[34].at, 50: entries[49].at}
    before = {revision: pack(await view_at_revision(ledger, await loaded(ledger), revision)) for revision in instants}
    rows, state = await rows_of(ledger), pack(await loaded(ledger))

    first = await compacted(ledger, 15)
    second = await compacted(ledger, 35)

    view = await loaded(ledger)
    assert (first.plan.before, second.plan.before, second.plan.base) == (0, 15, 35)
    assert second.rows == second.plan.rows
    left = await rows_of(ledger)
    # Each of the two was anchored by rows of its own at the end.
    assert left[:-4] == [row for row in rows if row.revision > 35]
    assert {row.revision for row in left[-4:]} == {COMMANDS + 1, COMMANDS + 2}
    assert pack(await view_at_revision(ledger, view, COMMANDS)) == state
    for revision, image in before.items():
        assert pack(await view_at_revision(ledger, view, revision)) == image
    assert (await view_as_of(ledger, view, instants[50], view.at)).at == instants[50]
    assert await ledger.check() == []
    await append(ledger, Change("principal.put", {"id": "human:after"}))
    assert await ledger.check() == []


@pytest.mark.feature("S103")
async def test_who_asks_for_what_was_removed_is_told_where_history_begins(store: Store) -> None:
    """Earlier states are refused by revision and by instant; the state at the base itself is there."""
    ledger = await store.open()
    entries = await filled(ledger, 5)
    await compacted(ledger, 40)
    view = await loaded(ledger)

    with pytest.raises(HistoryRemoved, match="the state at revision 39 was removed: history begins after revision 40"):
        await view_at_revision(ledger, view, 39)
    with pytest.raises(HistoryRemoved, match="history begins after revision 40, of 2"):
        await view_as_of(ledger, view, entries[39].at - 1, view.at)
    assert (await view_at_revision(ledger, view, 40)).revision == 40
    with pytest.raises(ModelError, match="not between 0 and"):
        await compacted(ledger, view.revision + 1)


async def test_a_checkpoint_after_the_base_is_begun_from(store: Store) -> None:
    """A start reads the newest image; where that one does not count, the one that history begins with."""
    ledger = await store.open()
    await filled(ledger, 6)
    async with desk(ledger) as (replica, writer):
        await compact(replica, writer.submit, await plan_compaction(ledger, 30), FOR_GOOD)
        kept = await keep_checkpoint(replica, writer.submit)
    head = await ledger.head()

    newest = await load_view(ledger, head)
    await store.forget_checkpoints_after(30)
    first = await load_view(ledger, head)

    assert newest.rows < first.rows
    assert pack(newest.view) == pack(first.view)
    assert kept.revision > 30


async def test_a_replica_behind_the_cut_loads_anew(store: Store) -> None:
    """It says so, answers nothing meanwhile, and goes on with the others; no revision is passed over in silence."""
    ledger, other = await store.open(), await store.open()
    behind = Replica(other, SystemClock())
    await behind.load()
    await filled(ledger, 4)
    await compacted(ledger, 50)

    with pytest.raises(LedgerUnavailable, match="history begins after revision 50"):
        await behind.catch_up()
    assert not behind.is_loaded
    await behind.start()

    head = await ledger.head()
    assert behind.view.revision == head.revision
    assert pack(behind.view) == pack(await loaded(ledger))
    await append(ledger, Change("principal.put", {"id": "human:last"}))
    assert await behind.reached(head.revision + 1, LONG)
    await behind.aclose()


async def test_two_who_compact_at_once_do_no_harm(store: Store) -> None:
    """Both come to their end, the later base counts, and every row went once."""
    ledger, other = await store.open(), await store.open()
    await filled(ledger, 7)
    rows = (await ledger.weigh(50)).rows

    done = await asyncio.gather(compacted(ledger, 30), compacted(other, 30), compacted(ledger, 50))

    assert (await ledger.base()).revision == 50
    assert sum(each.rows for each in done) == rows
    assert await ledger.check() == []


@pytest.mark.parametrize("step", ["base", "checkpoint", "read", "cut"])
async def test_a_cut_further_on_that_comes_first_is_an_answer(store: Store, step: str) -> None:
    """Whichever step of a compaction another one comes before: both end well, and history begins where it was cut."""
    ledger, other = await store.open(), await store.open()
    await filled(ledger, 7)
    async with desk(ledger) as (replica, writer):
        plan = await plan_compaction(ledger, 30)
        overtaken: Any = Compacting(replica, Overtaken(ledger, step, lambda: compacted(other, 50)))
        done = await compact(overtaken, writer.submit, plan, FOR_GOOD)

    base = await ledger.base()
    assert (plan.base, done.base, base.revision) == (30, 50, 50)
    assert done.anchored_at in {0, base.anchored_at}
    assert (await ledger.weigh(50)).rows == 0
    assert await ledger.check() == []


class Overtaken:
    """A ledger as a compaction sees it that is overtaken before one of its steps; its replica goes on undisturbed."""

    def __init__(self, ledger: Ledger, step: str, come_first: Callable[[], Awaitable[Any]]) -> None:
        self._ledger, self._step, self._come_first = ledger, step, come_first

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._ledger, name)
        if name != self._step:
            return method

        async def after_it(*arguments: Any) -> Any:
            self._step = ""
            await self._come_first()
            return await method(*arguments)

        return after_it


class Compacting:
    """A replica that compacts by way of another ledger object than it follows."""

    def __init__(self, replica: Replica, ledger: Any) -> None:
        self.ledger, self._replica = ledger, replica

    def __getattr__(self, name: str) -> Any:
        return getattr(self._replica, name)


@pytest.mark.feature("S103")
async def test_a_compaction_that_is_killed_is_finished_by_the_next(store: Store) -> None:
    """Cut, or half swept: the store opens, verifies and holds what it held, and the same command goes on."""
    ledger = await store.open()
    await filled(ledger, 9)
    state = pack(await view_at_revision(ledger, await loaded(ledger), COMMANDS))

    for step in ("cut", "swept"):
        assert await _killed(step, 40, store.address) == -signal.SIGKILL
        ledger = await store.open()
        assert (await ledger.base()).revision == 40, step
        assert await ledger.check() == [], step
        assert pack(await view_at_revision(ledger, await loaded(ledger), COMMANDS)) == state
    left = await ledger.weigh(40)
    done = await compacted(ledger, 40)

    assert (done.rows, done.anchored_at, left.rows > 0) == (left.rows, 0, True)
    assert (await ledger.weigh(40)).rows == 0
    assert await ledger.check() == []


async def _killed(step: str, revision: int, address: str) -> int:
    command = [sys.executable, "-m", "tests.contract.compaction_process", step, str(revision), address]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
    return await process.wait()


async def test_appends_and_reads_go_on_while_it_is_compacted(store: Store) -> None:
    """Other processes write and follow at the same time, and nobody sees anything but whole revisions in order."""
    ledger, other = await store.open(), await store.open()
    await filled(ledger, 2)
    async with desk(other) as (replica, _):
        busy = asyncio.create_task(_appended(other, 20))
        await compacted(ledger, 50)
        await busy
        head = await other.head()
        assert await replica.reached(head.revision, LONG)
        assert pack(replica.view) == pack(await loaded(ledger))
    assert await ledger.check() == []


async def _appended(ledger: Ledger, count: int) -> None:
    number = 0
    while number < count:
        head = await ledger.head()
        change = Change("principal.put", {"id": f"human:busy-{number}"})
        try:
            await ledger.append(head, [a_command(change, at=now(head), request_id=f"busy-{number}")])
        except HeadMoved:
            continue
        number += 1


async def test_the_revision_before_an_instant_is_found(store: Store) -> None:
    """Also where several revisions share one, before the first, and after the last."""
    ledger = await store.open()
    head = await ledger.head()
    start = now(head) - 1_000_000
    await ledger.append(head, [a_command(at=start + at) for at in (0, 10, 10, 10, 20)])

    found = [await last_before(ledger, start + at) for at in (-5, 0, 1, 10, 11, 20, 21)]

    assert found == [0, 0, 1, 1, 4, 4, 5]
    plan = await plan_compaction(ledger, 4)
    assert (plan.before, plan.base, plan.head, plan.rows) == (0, 4, 5, 8)
