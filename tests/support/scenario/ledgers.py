"""Fresh ledgers for scenarios: an SQLite file, where possible on a disk in memory, and the Neo4j of the run."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from remit_graph.neo4j import Neo4jLedger, Neo4jOptions
from remit_graph.sqlite.ledger import SqliteLedger
from remit_graph.sqlite.options import SqliteOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.ports import Ledger
    from remit_service.clock import ManualClock
    from tests.support.neo4j_server import Neo4jServer
    from tests.support.scenario.stage import MakeLedger

MEMORY: Final = Path("/dev/shm")  # noqa: S108 - shared memory of Linux; each use makes a folder of its own in it
"""What these tests show does not depend on the disk, and waiting for it to write is most of their time."""

ANY_SKEW: Final = timedelta(days=36_500)
"""Scenarios play on a manual clock, far from that of the database."""

PATIENCE: Final = timedelta(seconds=60)
"""The bounds of the adapter are shown by its contract suite; here a busy machine is no fault."""


@contextmanager
def quick_folder() -> Iterator[Path]:
    """Make a folder in memory where there is such a place, else on disk; it goes with the block."""
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="remit-test-", dir=place) as folder:
        yield Path(folder)


def sqlite_in(folder: Path) -> MakeLedger:
    """Return what makes a fresh embedded ledger in `folder`."""

    async def make(realm: str, clock: ManualClock) -> Ledger:
        return await SqliteLedger.init(folder / "remit.db", realm, options=SqliteOptions(clock=clock.now))

    return make


def neo4j_on(server: Neo4jServer) -> MakeLedger:
    """Return what makes a fresh ledger in an empty Neo4j."""
    options = Neo4jOptions(
        url=server.url,
        user=server.user,
        password=server.password,
        max_clock_skew=ANY_SKEW,
        connect_within=PATIENCE,
        retry_for=PATIENCE,
        hold_at_most=PATIENCE,
    )

    async def make(realm: str, _clock: ManualClock) -> Ledger:
        return await Neo4jLedger.init(options, realm)

    return make
