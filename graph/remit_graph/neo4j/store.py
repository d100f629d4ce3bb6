"""The database of a ledger: how one is founded, and what is refused before anything is read from it.

Each way in which a database does not fit has an error of its own with advice: it cannot be reached, its password is
another, it is too old, it takes no writes, it lacks a constraint, it holds another realm's ledger or none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.errors import ForeignStore, LedgerUnavailable, ModelError, SchemaTooNew
from remit_graph.head import first_head
from remit_graph.model.change import SCHEMA
from remit_graph.neo4j.database import rows_of
from remit_graph.neo4j.faults import OLDEST, OLDEST_TEXT
from remit_graph.neo4j.schema import Rule, install, missing
from remit_graph.refusals import version_advice

if TYPE_CHECKING:
    from neo4j import AsyncManagedTransaction

    from remit_graph.head import Beginning
    from remit_graph.neo4j.database import Database

NAMED: Final = 5
"""Missing constraints and indexes that an error names."""


async def found(database: Database, realm: str, beginning: Beginning | None = None) -> None:
    """Make a ledger for `realm` in a database that holds none.

    With `beginning` it is unfinished, and will be what that says.

    Raises:
        ModelError: the realm has no name.
        ForeignStore: the database holds a ledger or anything else; `code` is `already_exists`.
        LedgerUnavailable: it cannot be reached, is too old, or takes no writes.
    """
    if not realm:
        raise ModelError("a realm needs a name")
    await require_server(database)
    await _require_empty(database)
    await install(database)
    values = first_head(realm, beginning)

    async def work(transaction: AsyncManagedTransaction) -> bool:
        rows = await rows_of(transaction, "found", **values)
        return bool(rows[0]["founded"])

    if not await database.write(work):
        raise _occupied(database)


async def require_ledger(database: Database, realm: str | None) -> str:
    """Check that a database holds a usable ledger, of `realm` if that is given, and return its realm.

    Raises:
        ForeignStore: it holds none, another realm's, or lacks constraints or indexes, which are named.
        SchemaTooNew: the ledger takes rows of a later schema than this program knows.
        LedgerUnavailable: it cannot be reached, is too old, or takes no writes.
    """
    await require_server(database)
    stored = await require_head(database, realm)
    lacking = await missing(database)
    if lacking:
        raise _lacking(database, lacking)
    return stored


async def require_server(database: Database) -> None:
    """Check that a server of a known version answers and takes writes."""
    rows = await database.alone("server")
    version = str(rows[0]["version"]) if rows else "of an unknown version"
    if _numbers(version) < OLDEST:
        raise LedgerUnavailable(
            f"`{database.url}` is Neo4j {version}, and the ledger needs {OLDEST_TEXT} or later",
            advice=f"upgrade Neo4j to {OLDEST_TEXT}",
            version=version,
        )
    await _require_writable(database)


async def _require_writable(database: Database) -> None:
    name = database.options.database
    rows = await database.alone("may_write", name=name)
    # An alias, or a user who may not look, has no row; then the first write tells.
    states = [(row["access"], row["writer"], row["status"]) for row in rows]
    if states and not any(access == "read-write" and writer for access, writer, _ in states):
        raise LedgerUnavailable(
            f"database `{name}` at `{database.url}` takes no writes: its access is {states[0][0]}",
            advice="connect to the member that does, with a `neo4j://` address, or lift `server.databases.read_only`",
            database=name,
        )


async def require_head(database: Database, realm: str | None) -> str:
    """Return the realm of the ledger in a database, whatever else it lacks."""
    heads = await database.alone("heads")
    if not heads:
        occupied = (await database.alone("any_node"))[0]["occupied"]
        raise ForeignStore(
            f"database `{database.options.database}` at `{database.url}` holds "
            f"{'something, but no ledger' if occupied else 'nothing'}",
            advice="name another database; nothing was changed"
            if occupied
            else "make a ledger with `remit store init`",
        )
    stored = str(heads[0]["realm"])
    if len(heads) > 1 or realm not in (None, stored):
        names = ", ".join(f"`{each['realm']}`" for each in heads)
        raise ForeignStore(
            f"database `{database.options.database}` at `{database.url}` holds the ledger of realm {names}, "
            f"not of `{realm}`",
            advice="name another database, or the realm it belongs to",
            realm=stored,
        )
    if heads[0]["schema"] > SCHEMA:
        raise SchemaTooNew(
            f"the ledger at `{database.url}` takes rows of schema {heads[0]['schema']}, "
            f"and this program writes up to {SCHEMA}",
            advice=version_advice(heads[0]["needs"]),
            schema=heads[0]["schema"],
        )
    return stored


async def _require_empty(database: Database) -> None:
    if (await database.alone("any_node"))[0]["occupied"]:
        raise _occupied(database)


def _occupied(database: Database) -> ForeignStore:
    return ForeignStore(
        f"database `{database.options.database}` at `{database.url}` holds something already",
        code="already_exists",
        advice="open it if it is a ledger; otherwise name another database. Nothing was changed",
    )


def _lacking(database: Database, lacking: list[Rule]) -> ForeignStore:
    more = len(lacking) - NAMED
    named = ", ".join(map(str, lacking[:NAMED])) + (f" and {more} more" if more > 0 else "")
    return ForeignStore(
        f"database `{database.options.database}` at `{database.url}` lacks {named}",
        advice="run `remit store migrate`; if it finds duplicates, `remit graph check` names them",
        missing=[str(each) for each in lacking],
    )


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split("-", maxsplit=1)[0].split(".")
    return tuple(int(part) for part in parts if part.isdigit())
