"""Fresh ledgers for scenarios: an SQLite file, and the Neo4j of the run."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from remit_graph.neo4j import Neo4jLedger, Neo4jOptions
from remit_graph.sqlite.ledger import SqliteLedger
from remit_graph.sqlite.options import SqliteOptions

if TYPE_CHECKING:
    from pathlib import Path

    from remit_graph.ports import Ledger
    from remit_service.clock import ManualClock
    from tests.support.neo4j_server import Neo4jServer
    from tests.support.scenario.stage import MakeLedger

ANY_SKEW: Final = timedelta(days=36_500)
"""Scenarios play on a manual clock, far from that of the database."""

PATIENCE: Final = timedelta(seconds=60)
"""The bounds of the adapter are shown by its contract suite; here a busy machine is no fault."""


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
