"""How a ledger is founded, and how its tables reach a later layout.

Both are one transaction: a process that is killed in the middle leaves the file as it was, or empty.
"""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Final

from remit_graph.errors import ForeignStore, ModelError, SchemaTooNew
from remit_graph.head import first_head
from remit_graph.sqlite.faults import cannot_open, translate
from remit_graph.sqlite.lock import WriterLock
from remit_graph.sqlite.statements import LAYOUTS, STATEMENTS
from remit_graph.sqlite.store_file import StoreFile, is_empty, require_ours, write_ahead
from remit_graph.sqlite.transaction import writing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from pathlib import Path
    from typing import LiteralString

    from remit_graph.head import Beginning

# What a ledger tells is for its operator: who may do what, and digests of keys.
_MODE: Final = 0o600


def found(path: Path, realm: str, busy_timeout: timedelta, beginning: Beginning | None = None) -> None:
    """Make a ledger at `path`, which must not exist or be an empty SQLite file; blocks.

    With `beginning` it is unfinished, and will be what that says.

    Raises:
        ModelError: the realm has no name.
        ForeignStore: the file holds something; `code` is `already_exists`.
        LedgerUnavailable: the folder is missing, or may not be written.
    """
    if not realm:
        raise ModelError("a realm needs a name")
    path = path.absolute()
    _make(path)
    file = StoreFile(path, busy_timeout)
    lock = WriterLock(path, busy_timeout)
    connection = file.connect()
    try:
        _require_empty(connection, path)
        with lock.held():
            connection.execute(STATEMENTS["may_shrink"])
            write_ahead(connection, path)
        with writing(connection, lock, path):
            # Again: another process may have founded one since.
            _require_empty(connection, path)
            _climb(connection, 0, LAYOUTS)
            connection.execute(STATEMENTS["insert_head"], first_head(realm, beginning))
    except sqlite3.Error as error:
        raise translate(error, path) from error
    finally:
        connection.close()
        lock.close()


def migrate(
    path: Path, busy_timeout: timedelta, layouts: Sequence[Sequence[LiteralString]] = LAYOUTS
) -> tuple[int, int]:
    """Bring the tables of a ledger to the newest layout; blocks. The rows of the log stay as they are.

    Returns:
        The layout before and after; equal if there was nothing to do.

    Raises:
        ForeignStore: the file is no ledger.
        SchemaTooNew: its layout is of a later program.
        LedgerUnavailable: it is missing, locked or may not be written.
    """
    file = StoreFile(path, busy_timeout)
    lock = WriterLock(file.path, busy_timeout)
    connection = file.connect()
    try:
        with writing(connection, lock, file.path):
            layout = require_ours(connection, file.path)
            if layout > len(layouts):
                raise SchemaTooNew(
                    f"`{path}` has layout {layout}, and this program knows layouts up to {len(layouts)}",
                    advice="install the version of Remit that migrated it, or a later one",
                    schema=layout,
                )
            _climb(connection, layout, layouts)
    except sqlite3.Error as error:
        raise translate(error, file.path) from error
    finally:
        connection.close()
        lock.close()
    return layout, len(layouts)


def _make(path: Path) -> None:
    """Make the file with narrow permissions; SQLite gives its companions the same."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE))
    except FileExistsError:
        return
    except OSError as error:
        raise cannot_open(path) from error
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _require_empty(connection: sqlite3.Connection, path: Path) -> None:
    if not is_empty(connection):
        raise ForeignStore(
            f"`{path}` holds something already",
            code="already_exists",
            advice="open it if it is a ledger; otherwise name another file. Nothing was changed",
        )


def _climb(connection: sqlite3.Connection, layout: int, layouts: Sequence[Sequence[LiteralString]]) -> None:
    for step in layouts[layout:]:
        for statement in step:
            connection.execute(statement)
