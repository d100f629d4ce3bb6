"""Giving pages back to the file system that a cut has freed; runs inside a transaction of the caller's.

A file can do that only if it was made so (`may_shrink`): one that an earlier version made uses its pages again instead.
Some stay free, since the next appends would only take them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.sqlite.statements import STATEMENTS

if TYPE_CHECKING:
    import sqlite3

AT_ONCE: Final = 500
"""Pages that go together: some 20 ms in which nobody else can write."""

SPARE: Final = 10
"""One page in so many may stay free."""

LEAST: Final = 256
"""Pages, 1 MiB, that may always stay free."""

_INCREMENTAL: Final = 2


def shrink(connection: sqlite3.Connection) -> bool:
    """Give some free pages back, and tell whether more are to go."""
    pages, free, mode = connection.execute(STATEMENTS["pages"]).fetchone()
    over = free - max(LEAST, (pages - free) // SPARE)
    if mode != _INCREMENTAL or over <= 0:
        return False
    for _ in range(min(over, AT_ONCE)):
        # One at a time: a statement that returns no row is not sure to be run to its end.
        connection.execute(STATEMENTS["give_back"]).fetchall()
    return True
