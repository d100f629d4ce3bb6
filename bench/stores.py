"""Fresh ledgers to measure on: the embedded one on a disk, and a Neo4j of the benchmark's own."""

from __future__ import annotations

import tempfile
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from bench.report import tell
from remit_graph.neo4j import Neo4jLedger, Neo4jOptions
from remit_graph.neo4j.remove import remove
from remit_graph.sqlite.ledger import SqliteLedger
from tests.support.neo4j_server import neo4j_in
from tests.support.programs import Missing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from remit_graph.ports import Ledger

REALM = "bench"
PATIENCE = timedelta(seconds=60)


def options_of(address: Mapping[str, str]) -> Neo4jOptions:
    """Return how to reach a server; a busy machine is to give worse figures, not none."""
    return Neo4jOptions(
        url=address["url"],
        user=address["user"],
        password=address["password"],
        connect_within=PATIENCE,
        retry_for=PATIENCE,
        hold_at_most=PATIENCE,
    )


@contextmanager
def neo4j() -> Iterator[Neo4jOptions | None]:
    """Run a Neo4j for as long as the block runs; None where there is none to be had."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-", ignore_cleanup_errors=True) as folder:
        tell("a Neo4j starts")
        try:
            server = neo4j_in(Path(folder) / "neo4j")
        except Missing as missing:
            tell(f"Neo4j is left out: {missing}")
            yield None
            return
        try:
            yield options_of({"url": server.url, "user": server.user, "password": server.password})
        finally:
            server.stop()


@asynccontextmanager
async def fresh_ledger(options: Neo4jOptions | None = None) -> AsyncIterator[Ledger]:
    """Make an empty ledger, in Neo4j in the place of the one before, or embedded in a folder that goes with it."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as folder:
        if options is None:
            ledger: Ledger = await SqliteLedger.init(Path(folder) / "remit.db", REALM)
        else:
            await remove(options)
            ledger = await Neo4jLedger.init(options, REALM)
        try:
            yield ledger
        finally:
            await ledger.aclose()


def name_of(options: Neo4jOptions | None) -> str:
    """Return what a row calls the store."""
    return "embedded" if options is None else "Neo4j"
