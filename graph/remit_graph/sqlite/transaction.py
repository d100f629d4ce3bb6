"""Transactions, and what a failed one leaves: nothing.

`writing` takes the write lock before anything is read, so a comparison made inside it still holds at the commit
(house rule 34). A failure of the commit itself is told apart from one before it: only there the outcome is unknown.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from remit_graph.sqlite.faults import commit_failed
from remit_graph.sqlite.statements import STATEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from remit_graph.sqlite.lock import WriterLock


@contextmanager
def writing(connection: sqlite3.Connection, lock: WriterLock, path: Path) -> Iterator[None]:
    """Run the block as one transaction that alone writes.

    Raises:
        OutcomeUnknown: the disk failed while committing.
        LedgerUnavailable: the lock was not to be had, or the commit was refused; nothing was written.
    """
    with lock.held():
        connection.execute(STATEMENTS["begin_write"])
        with _rolled_back_on_error(connection):
            yield
            try:
                # A checkpoint that SQLite finds due runs inside this call, so under the lock.
                connection.execute(STATEMENTS["commit"])
            except sqlite3.Error as error:
                raise commit_failed(error, path) from error


@contextmanager
def reading(connection: sqlite3.Connection) -> Iterator[None]:
    """Let all statements of the block see one state."""
    connection.execute(STATEMENTS["begin_read"])
    with _rolled_back_on_error(connection):
        yield
        connection.execute(STATEMENTS["commit"])


@contextmanager
def _rolled_back_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        # SQLite has rolled back by itself after some errors; if this one fails too, the caller drops the connection.
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute(STATEMENTS["rollback"])
        raise
