"""Empties the database of a ledger that was made for a while: the demo's, or one that a failed move left half-way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.neo4j.database import Database, rows_of

if TYPE_CHECKING:
    from neo4j import AsyncManagedTransaction

    from remit_graph.neo4j.options import Neo4jOptions


async def remove(options: Neo4jOptions) -> None:
    """Remove everything in a database but its constraints and indexes; for whoever has just made what is in it.

    Raises:
        LedgerUnavailable: it cannot be reached, or takes no writes.
    """
    database = Database(options)

    async def some(transaction: AsyncManagedTransaction) -> int:
        return int((await rows_of(transaction, "remove_nodes"))[0]["removed"])

    try:
        while await database.write(some):
            pass
    finally:
        await database.aclose()
