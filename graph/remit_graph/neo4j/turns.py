"""Whose turn it is to append, on the head of the ledger; `queries/turn.cypher` keeps the rules of the port.

The append itself hands the turn on (`queries/ledger.cypher`), so a turn that is used costs no transaction of its own.
A head without these properties is one that nobody has asked for: there is nothing to migrate.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from remit_graph.neo4j.database import rows_of
from remit_graph.neo4j.read import no_ledger
from remit_graph.sharing import Turn

if TYPE_CHECKING:
    from neo4j import AsyncManagedTransaction

    from remit_graph.neo4j.database import Database


async def see(database: Database, realm: str, writer: str) -> Turn:
    """Return whose turn it is; read outside of a transaction, since it is looked at all the time."""
    found = await database.alone("see_turn", realm=realm, writer=writer)
    if not found:
        raise no_ledger(database, realm)
    return Turn(**found[0])


async def take(database: Database, realm: str, writer: str) -> Turn:
    """Take the turn, or line up for it."""
    return Turn(**await _locked(database, "take_turn", realm, writer))


async def leave(database: Database, realm: str, writer: str) -> None:
    """Give up the turn, or the place in line."""
    await _locked(database, "pass_turn", realm, writer)


async def _locked(database: Database, name: str, realm: str, writer: str) -> dict[str, Any]:
    turn = database.options.turn // timedelta(microseconds=1)

    async def work(transaction: AsyncManagedTransaction) -> list[dict[str, Any]]:
        return await rows_of(transaction, name, realm=realm, writer=writer, turn=turn, lock=secrets.token_hex(8))

    found = await database.write(work)
    if not found:
        raise no_ledger(database, realm)
    return found[0]
