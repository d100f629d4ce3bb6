"""Threads with connections: the event loop hands work over and never waits for the disk itself."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from remit_graph.errors import ConstraintBroken, ForeignStore, HeadMoved, LedgerUnavailable, ModelError, RequestReused
from remit_graph.sqlite.faults import translate
from remit_graph.sqlite.statements import STATEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_graph.sqlite.store_file import StoreFile

T = TypeVar("T")

_REFUSALS: Final = (HeadMoved, RequestReused, ConstraintBroken, ForeignStore, ModelError)
"""What is wrong with the work and not with the connection."""


class Lane:
    """A fixed number of threads over one file; with one thread, work is done in the order it arrives.

    A connection that met a fault is dropped, and the next piece of work opens another: a fault that has passed, such
    as a full disk, leaves nothing behind.
    """

    def __init__(self, file: StoreFile, name: str, *, threads: int, may_write: bool) -> None:
        self._file = file
        self._may_write = may_write
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"remit-ledger-{name}")
        self._idle: list[sqlite3.Connection] = []
        self._closed = False

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` on a thread, with a connection that nothing else uses meanwhile.

        Cancelling the caller withdraws work that has not begun, and has no effect on work that has.

        Raises:
            LedgerUnavailable: the ledger is closed, or the file cannot be used.
            LedgerError: as `work` raises it, or as SQLite's error translates.
        """
        if self._closed:
            raise LedgerUnavailable(f"the ledger `{self._file.path}` is closed")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._do, work)

    def close(self) -> None:
        """Finish what has begun and close every connection; blocks."""
        self._closed = True
        self._threads.shutdown(wait=True)
        while self._idle:
            self._idle.pop().close()

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._file.require_in_place()
        connection = self._borrow()
        try:
            result = work(connection)
        except _REFUSALS:
            self._idle.append(connection)
            raise
        except sqlite3.Error as error:
            connection.close()
            raise translate(error, self._file.path) from error
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return result

    def _borrow(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            connection = self._file.connect()
        if not self._may_write:
            connection.execute(STATEMENTS["refuse_writes"])
        return connection
