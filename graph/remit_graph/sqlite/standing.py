"""What a ledger says of itself beside its rows: whether it may be used, its schema, and who uses it.

Each is one short transaction of the caller's, and none of them touches the log.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from remit_graph.sharing import FORGOTTEN_AFTER, Seen
from remit_graph.sqlite.statements import STATEMENTS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from remit_graph.head import Head
    from remit_graph.model.instant import Instant


def finish(connection: sqlite3.Connection, expected: Head) -> bool:
    """Let an unfinished ledger be used; False if it does not stand at `expected`."""
    values = {"store_id": expected.store_id, "revision": expected.revision, "hash": expected.hash}
    return connection.execute(STATEMENTS["finish"], values).rowcount > 0


def move_away(connection: sqlite3.Connection, to: str) -> bool:
    """Close the ledger; False if it went elsewhere already, or is unfinished."""
    return connection.execute(STATEMENTS["move_away"], {"note": to}).rowcount > 0


def enable_schema(connection: sqlite3.Connection, schema: int, version: str) -> None:
    """Let rows be written in `schema`, if that is a later one."""
    connection.execute(STATEMENTS["enable_schema"], {"schema": schema, "version": version})


def announce(connection: sqlite3.Connection, seen: Seen) -> None:
    """Note that a decision point uses the ledger, and forget those that do no longer."""
    values = {"name": seen.name, "version": seen.version, "schema": seen.schema, "now": seen.seen_at}
    connection.execute(STATEMENTS["announce"], values)
    connection.execute(
        STATEMENTS["forget_replicas"], {"before": seen.seen_at - FORGOTTEN_AFTER // timedelta(microseconds=1)}
    )


def depart(connection: sqlite3.Connection, name: str) -> None:
    """Forget a decision point that stops."""
    connection.execute(STATEMENTS["depart"], {"name": name})


def seen(connection: sqlite3.Connection, after: Instant) -> Sequence[Seen]:
    """Return the decision points that were seen at `after` or later, by name."""
    rows = connection.execute(STATEMENTS["seen"], {"after": after})
    return [Seen(name=name, version=version, schema=schema, seen_at=at) for name, version, schema, at in rows]
