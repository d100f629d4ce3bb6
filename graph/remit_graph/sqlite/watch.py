"""How a waiting reader learns of a new revision: at once from this process, within a poll from another."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from remit_graph.errors import LedgerError
from remit_graph.sqlite.statements import STATEMENTS
from remit_graph.watching import UNKNOWN, Listener

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from remit_graph.sqlite.store_file import StoreFile


class Bell:
    """Wakes whoever waits, on whatever event loop, from whatever thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Listener, asyncio.AbstractEventLoop] = {}
        self.wanted = threading.Event()
        """Set while somebody waits."""

    @contextmanager
    def listening(self) -> Iterator[Listener]:
        """Give a listener of the running loop that hears every ring."""
        listener = Listener()
        with self._lock:
            self._waiting[listener] = asyncio.get_running_loop()
            self.wanted.set()
        try:
            yield listener
        finally:
            with self._lock:
                del self._waiting[listener]
                if not self._waiting:
                    self.wanted.clear()

    def ring(self, revision: int = UNKNOWN) -> None:
        """Tell everyone who waits now that the ledger is at `revision`."""
        with self._lock:
            waiting = list(self._waiting.items())
        for listener, loop in waiting:
            # A loop that was closed has nobody left to wake.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(listener.hear, revision)


class Poller:
    """A thread that rings the bell when another connection has committed; it rests while nobody waits.

    This process's own writer is another connection, too. So it says at which revision the ledger is: a reader that has
    that already, from the append itself, does not read it back.
    """

    def __init__(self, file: StoreFile, bell: Bell, interval: timedelta) -> None:
        self._file = file
        self._bell = bell
        self._interval_seconds = interval.total_seconds()
        self._connection: sqlite3.Connection | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="remit-ledger-poller", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """End the thread; blocks for at most one interval."""
        self._ended.set()
        self._bell.wanted.set()
        self._thread.join()

    def _run(self) -> None:
        seen = None
        while not self._ended.is_set():
            self._bell.wanted.wait()
            try:
                version = self._ask("data_version")
                if version != seen:
                    self._bell.ring(self._ask("revision"))
                    seen = version
            except (sqlite3.Error, LedgerError):
                # The waiters read, and meet the error themselves.
                self._drop()
                self._bell.ring()
                seen = None
            self._ended.wait(self._interval_seconds)
        self._drop()

    def _ask(self, statement: str) -> int:
        self._file.require_in_place()
        if self._connection is None:
            self._connection = self._file.connect()
        answer: tuple[int] | None = self._connection.execute(STATEMENTS[statement]).fetchone()
        # No row is no ledger, which the waiters find out by themselves.
        return UNKNOWN if answer is None else answer[0]

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
