"""What a ledger says of itself beside its rows: whether it may be used, its schema, and who uses it.

What concerns the head takes its lock first, as an append does; a decision point that says it is there locks nothing of
anybody else's.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from remit_graph.neo4j.database import rows_of
from remit_graph.neo4j.lock import change_head
from remit_graph.sharing import FORGOTTEN_AFTER, Seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neo4j import AsyncManagedTransaction

    from remit_graph.head import Head
    from remit_graph.neo4j.database import Database

_MICROSECOND: Final = timedelta(microseconds=1)


async def finish(database: Database, expected: Head) -> bool:
    """Let an unfinished ledger be used; False if it does not stand at `expected`."""
    values = {"store_id": expected.store_id, "revision": expected.revision, "hash": expected.hash}
    return bool((await change_head(database, expected.realm, "finish", **values))["done"])


async def move_away(database: Database, realm: str, to: str) -> bool:
    """Close the ledger; False if it went elsewhere already, or is unfinished."""
    return bool((await change_head(database, realm, "move_away", note=to))["done"])


async def enable_schema(database: Database, realm: str, schema: int, version: str) -> None:
    """Let rows be written in `schema`, if that is a later one."""
    await change_head(database, realm, "enable_schema", schema=schema, version=version)


async def announce(database: Database, name: str, version: str, schema: int) -> None:
    """Note that a decision point uses the ledger, and forget those that do no longer."""
    values = {"name": name, "version": version, "schema": schema}
    await _write(database, "announce", **values, forgotten_after=FORGOTTEN_AFTER // _MICROSECOND)


async def depart(database: Database, name: str) -> None:
    """Forget a decision point that stops."""
    await _write(database, "depart", name=name)


async def seen(database: Database, within: timedelta) -> Sequence[Seen]:
    """Return the decision points that were seen lately, by name."""
    return [Seen(**row) for row in await database.read("seen", newest=True, within=within // _MICROSECOND)]


async def _write(database: Database, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
    async def work(transaction: AsyncManagedTransaction) -> list[dict[str, Any]]:
        return await rows_of(transaction, name, **parameters)

    return await database.write(work)
