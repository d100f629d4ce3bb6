"""One writer at a time among all processes on a file, also while SQLite tidies up after a commit.

SQLite's own write lock ends with the commit, but the checkpoint that a commit may start runs after it. Up to 3.51.2 a
checkpoint that overlaps with the commit of another connection can, rarely, damage the file ("WAL-reset bug",
sqlite.org/wal.html). Distributions ship such versions for years, so every transaction that writes, with the checkpoint
that follows it, holds an advisory lock on a file beside the ledger. It also hands over faster than SQLite, which
sleeps up to 100 ms between two tries.

The lock is never on the ledger's own file: closing any descriptor of that file would release SQLite's locks in this
process. A process that ends in whatever way gives the lock back.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from remit_graph.errors import LedgerUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta
    from pathlib import Path

_PAUSE_SECONDS: Final = 0.0005
"""Between two tries; an append with its sync takes about as long."""


class WriterLock:
    """An exclusive lock on `<ledger>-lock`, for one thread at a time."""

    def __init__(self, path: Path, timeout: timedelta) -> None:
        self._path = path.with_name(f"{path.name}-lock")
        self._timeout = timeout
        self._descriptor: int | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock.

        Raises:
            LedgerUnavailable: another process held it all the time, or the file cannot be made.
        """
        descriptor = self._open()
        self._take(descriptor)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the descriptor back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        if self._descriptor is None:
            try:
                # Reading is enough to lock, so a group that shares the ledger needs no more than that.
                self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o640)
            except OSError as error:
                raise LedgerUnavailable(
                    f"`{self._path}` cannot be opened: {error.strerror}",
                    advice="give this process write permission on the file and its folder",
                ) from error
        return self._descriptor

    def _take(self, descriptor: int) -> None:
        deadline = time.monotonic() + self._timeout.total_seconds()
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise self._busy() from None
                time.sleep(_PAUSE_SECONDS)
            else:
                return

    def _busy(self) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"another process has been writing for {self._timeout.total_seconds():g} s and holds `{self._path}`",
            advice="look for a decision point that is stopped or hangs, and end it",
        )
