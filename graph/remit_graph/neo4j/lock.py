"""The lock of the head: whoever holds it appends alone, and finds no append under way.

It is taken first by whatever changes the head or must see all that it stands for; `queries/*.cypher` take it in the
statement itself where that is all there is to do.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from remit_graph.errors import ForeignStore
from remit_graph.neo4j.database import rows_of

if TYPE_CHECKING:
    from neo4j import AsyncManagedTransaction

    from remit_graph.neo4j.database import Database

Found = dict[str, Any]


def no_ledger(database: Database, realm: str) -> ForeignStore:
    """Return the error for a database without this ledger."""
    return ForeignStore(
        f"`{database.url}` holds no ledger of realm `{realm}`",
        advice="name another database, or make a ledger in it with `remit store init`",
    )


async def lock_head(transaction: AsyncManagedTransaction, database: Database, realm: str) -> Found:
    """Wait for whatever append is under way, keep others waiting, and return where the ledger then stands.

    Raises:
        ForeignStore: there is no such ledger.
    """
    found = await rows_of(transaction, "lock_head", realm=realm, lock=secrets.token_hex(8))
    if not found:
        raise no_ledger(database, realm)
    return found[0]


async def change_head(database: Database, realm: str, name: str, /, **parameters: Any) -> Found:
    """Run the query `name`, which locks the head first, in a transaction of its own, and return what it says.

    Raises:
        ForeignStore: there is no such ledger.
    """

    async def work(transaction: AsyncManagedTransaction) -> list[Found]:
        return await rows_of(transaction, name, realm=realm, lock=secrets.token_hex(8), **parameters)

    found = await database.write(work)
    if not found:
        raise no_ledger(database, realm)
    return found[0]
