"""The file of a ledger: how connections to it are made, and how a foreign or replaced one is told.

Rules:
- the file is opened by SQLite only. Opening and closing it by other means would release SQLite's locks;
- a connection never makes the file: a wrong path is an error and no empty ledger;
- what is no ledger of this layout is refused by name before anything is read from it.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from remit_graph.errors import ForeignStore, LedgerUnavailable, SchemaTooNew
from remit_graph.sqlite.faults import cannot_open, translate
from remit_graph.sqlite.statements import LAYOUTS, STATEMENTS

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import Path

APPLICATION_ID: Final = 0x524D4954
"""'RMIT', written into the file's header by the first step of schema/."""

LAYOUT: Final = len(LAYOUTS)
"""The layout of the tables that this program works with."""

# STRICT tables, by which SQLite checks the types it stores.
_OLDEST_SQLITE: Final = (3, 37, 0)


class StoreFile:
    """One file, as it was when this was made: if another takes its place, nothing is read or written any more."""

    def __init__(self, path: Path, busy_timeout: timedelta) -> None:
        self.path = path.absolute()
        self._busy_timeout = busy_timeout
        self._identity = self._look()

    def connect(self) -> sqlite3.Connection:
        """Open a connection that may be used by one thread at a time.

        Raises:
            LedgerUnavailable: the file is missing, damaged, locked, or may not be opened.
            ForeignStore: it is no SQLite file.
        """
        require_sqlite()
        try:
            connection = sqlite3.connect(
                f"{self.path.as_uri()}?mode=rw",
                uri=True,
                isolation_level=None,
                timeout=self._busy_timeout.total_seconds(),
                check_same_thread=False,
            )
        except sqlite3.Error as error:
            raise translate(error, self.path) from error
        try:
            for name in ("durable", "durable_on_macos", "distrust_schema"):
                connection.execute(STATEMENTS[name])
        except sqlite3.Error as error:
            connection.close()
            raise translate(error, self.path) from error
        return connection

    def require_in_place(self) -> None:
        """Check that the path still leads to the file that the connections have open.

        Raises:
            LedgerUnavailable: it was removed or replaced; what would be written to the open one, nobody would find.
        """
        if self._look() != self._identity:
            raise LedgerUnavailable(
                f"`{self.path}` was replaced while it was in use",
                advice="start this process anew; replace a ledger only by `remit store restore`, while nothing uses it",
            )

    def _look(self) -> tuple[int, int]:
        try:
            found = self.path.stat()
        except OSError as error:
            raise cannot_open(self.path) from error
        return found.st_dev, found.st_ino


def require_ledger(connection: sqlite3.Connection, path: Path) -> None:
    """Check that a file holds a ledger of the layout that this program works with.

    Raises:
        ForeignStore: it is another program's, is empty, or has an older layout.
        SchemaTooNew: a later version of this program has changed its tables; `facts` hold `schema`.
    """
    layout = require_ours(connection, path)
    if layout > LAYOUT:
        raise SchemaTooNew(
            f"`{path}` has layout {layout}, and this program knows layouts up to {LAYOUT}",
            advice="install the version of Remit that migrated it, or a later one",
            schema=layout,
        )
    if layout < LAYOUT:
        raise ForeignStore(
            f"`{path}` has layout {layout}, and this program needs layout {LAYOUT}",
            advice="make a backup, then run `remit store migrate`",
            schema=layout,
        )


def require_ours(connection: sqlite3.Connection, path: Path) -> int:
    """Return the layout of a ledger of whatever version.

    Raises:
        ForeignStore: the file is another program's, or is empty.
    """
    if is_empty(connection):
        raise ForeignStore(f"`{path}` is empty", advice="make a ledger in it with `remit store init`")
    if _number(connection, "application_id") != APPLICATION_ID:
        raise ForeignStore(
            f"`{path}` is a SQLite file of another program", advice="name another file; nothing was changed in this one"
        )
    return _number(connection, "layout")


def write_ahead(connection: sqlite3.Connection, path: Path) -> None:
    """Let readers and the writer not wait for each other, whatever journal the file had.

    Raises:
        LedgerUnavailable: the file system cannot do it; SQLite says so only by not doing it.
    """
    journal = connection.execute(STATEMENTS["write_ahead"]).fetchone()[0]
    if journal != "wal":
        raise LedgerUnavailable(
            f"`{path}` cannot have a write-ahead log, only `{journal}`",
            advice="put the ledger on a local disk: file systems of a network lack the shared memory it needs",
        )


def is_empty(connection: sqlite3.Connection) -> bool:
    """Tell whether a file holds nothing at all, as after an `init` that was cut short."""
    return _number(connection, "application_id") == 0 and _number(connection, "tables") == 0


def require_sqlite() -> None:
    """Check that the SQLite of this Python is recent enough.

    Raises:
        LedgerUnavailable: it is too old.
    """
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        needed = ".".join(map(str, _OLDEST_SQLITE))
        raise LedgerUnavailable(
            f"this Python comes with SQLite {sqlite3.sqlite_version}, and the embedded ledger needs {needed}",
            advice="use another build of Python, or the ledger in Neo4j",
        )


def _number(connection: sqlite3.Connection, name: str) -> int:
    number: int = connection.execute(STATEMENTS[name]).fetchone()[0]
    return number
