"""History that is kept to a number of days by itself, and a beginning of history that the chain does not vouch for."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from hashlib import sha256
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.errors import ChainBroken
from remit_graph.history import Retention
from remit_graph.model.change import Change, Command
from remit_graph.model.instant import SECOND
from remit_graph.sqlite.ledger import SqliteLedger
from remit_graph.view.image import pack
from remit_graph.view.state import View
from remit_service.clock import ManualClock, SystemClock
from remit_service.keeping.compaction import PASSING, compact, plan_compaction, retention_of
from remit_service.keeping.compactor import Compactor
from remit_service.replica.loading import load_view
from remit_service.replica.replica import Replica
from remit_service.writer.writer import Writer
from tests.support.desk import policy_with

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

DAY = 24 * 3600 * SECOND
START = 1_700_000_000 * SECOND
DAYS = 10


@asynccontextmanager
async def a_point(path: Path) -> AsyncIterator[Any]:
    """A ledger with a revision for each of some days, and what a compactor needs of a decision point on it."""
    ledger = await SqliteLedger.init(path, "acme")
    commands = [
        Command(
            action="TEST", actor="system", at=START + day * DAY,
            changes=(Change("principal.put", {"id": f"role:day-{day}"}),),
        )
        for day in range(DAYS)
    ]  # fmt: skip
    await ledger.append(await ledger.head(), commands)
    replica = Replica(ledger, SystemClock())
    writer = Writer(ledger, replica, SystemClock())
    await replica.start()
    await writer.start()
    clock = ManualClock(START + DAYS * DAY)
    try:
        yield SimpleNamespace(replica=replica, submit=writer.submit, policy=policy_with(), clock=clock, ledger=ledger)
    finally:
        await writer.aclose()
        await replica.aclose()
        await ledger.aclose()


async def test_what_is_older_than_the_days_that_stay_goes(tmp_path: Path) -> None:
    """Once there is enough of it; then nothing is done until more has grown old."""
    async with a_point(tmp_path / "l.db") as point:
        patient = Compactor(point, timedelta(days=4), worth_rows=100)
        keen = Compactor(point, timedelta(days=4), worth_rows=1)

        assert await patient.look() is None
        assert (await point.ledger.base()).is_whole
        done = await keen.look()
        assert done is not None
        assert (done.plan.base, done.rows) == (6, 12)
        assert await keen.look() is None
        point.clock.advance(DAY / SECOND)
        await keen.look()
        assert (await point.ledger.base()).revision == 7
        assert sorted(point.replica.view.principals) == sorted(f"role:day-{day}" for day in range(DAYS))
        assert await point.ledger.check() == []


async def test_a_compactor_ends_with_its_process(tmp_path: Path) -> None:
    """It looks by itself, and stops when it is told to."""
    async with a_point(tmp_path / "l.db") as point:
        compactor = Compactor(point, timedelta(days=4), worth_rows=1, spread_seconds=0)
        compactor.start()
        while (await point.ledger.base()).is_whole:
            await point.replica.reached(point.replica.view.revision + 1, timedelta(milliseconds=20))
        others = asyncio.all_tasks()
        await compactor.aclose()

        ended = others - asyncio.all_tasks()
        assert [task.get_name() for task in ended] == ["remit-compactor"]
        assert (await point.ledger.base()).revision == 6


async def test_a_beginning_that_the_chain_does_not_hold_is_no_beginning(tmp_path: Path) -> None:
    """Whoever puts another image and its digest into the store past the ledger gives nobody authority by it."""
    path = tmp_path / "l.db"
    async with a_point(path) as point:
        plan = await plan_compaction(point.ledger, 4)
        await compact(point.replica, point.submit, plan, Retention(kept_for=timedelta(0)))
        forged = pack(View())
        digest = sha256(forged).hexdigest()
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE checkpoint_part SET data = ?, digest = ?", (forged, digest))
            connection.execute("UPDATE checkpoint SET digest = ?", (digest,))
            connection.execute("UPDATE head SET base_digest = ?", (digest,))

        with pytest.raises(ChainBroken, match="no row of the chain holds the digest"):
            await load_view(point.ledger, await point.ledger.head())
        assert any("no row of the chain" in each for each in await point.ledger.check())


def test_answers_are_kept_beyond_the_longest_hold() -> None:
    """Coordination for the longest hold of any resource type and a day; governance is not among what passes."""
    tables = policy_with().tables
    longest = max([tables.leases.max_hold_us, *tables.max_hold_us.values()])

    assert retention_of(tables).kept_for == timedelta(microseconds=longest, hours=24)
    assert not PASSING & {"GRANT", "DELEGATE", "REVOKE", "APPLY_WORLD", "MINT_CAPABILITY", "APPROVE"}
