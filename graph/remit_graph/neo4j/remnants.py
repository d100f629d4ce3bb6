"""What is left of removed revisions, on its way out of one ledger and into another that begins at the same base."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from remit_graph.neo4j.database import rows_of
from remit_graph.neo4j.lock import lock_head
from remit_graph.neo4j.read import head_of
from remit_graph.refusals import why_not_moved
from remit_graph.stored import StoredResult, Wrote

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from neo4j import AsyncManagedTransaction

    from remit_graph.head import Head
    from remit_graph.neo4j.database import Database
    from remit_graph.stored import Remains


async def stream(database: Database, revision: int) -> AsyncIterator[Remains]:
    """Yield the answers of revisions up to `revision`, then the receipts that were written last in one of them."""
    async for row in database.stream("remaining_answers", revision=revision):
        yield StoredResult(**row)
    async for row in database.stream("remaining_receipts", revision=revision):
        yield Wrote(receipt_id=row["ref"].partition("/")[2], revision=row["revision"])


async def put(database: Database, expected: Head, remains: Sequence[Remains]) -> None:
    """Keep answers and receipts of removed revisions.

    Raises:
        HeadMoved, ForeignStore: the ledger is elsewhere.
    """
    answers = [astuple(each) for each in remains if isinstance(each, StoredResult)]
    receipts = [[f"receipt/{each.receipt_id}", each.revision] for each in remains if isinstance(each, Wrote)]

    async def work(transaction: AsyncManagedTransaction) -> None:
        await require_head(transaction, database, expected)
        if answers:
            await rows_of(transaction, "put_answers", answers=[list(each) for each in answers])
        if receipts:
            await rows_of(transaction, "put_receipts", receipts=receipts)

    await database.write(work)


async def require_head(transaction: AsyncManagedTransaction, database: Database, expected: Head) -> None:
    """Lock the head, and check that it stands where it is expected.

    Raises:
        HeadMoved, ForeignStore: it does not.
    """
    await lock_head(transaction, database, expected.realm)
    found: list[dict[str, Any]] = await rows_of(transaction, "head", realm=expected.realm)
    error = why_not_moved(expected, head_of(expected.realm, found[0]))
    if error is not None:
        raise error
