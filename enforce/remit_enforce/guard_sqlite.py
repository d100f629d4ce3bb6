"""The guard in a SQLite file: what it has seen outlives the process, and every process on the host meets it.

The file lies beside the resource and is for the guard alone. A resource that is itself a table in SQLite keeps the
tokens in its own database better: then check and write are one transaction, and `passing` of `guard.py` is the check.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from remit_enforce.guard import INCARNATION, passing, tokens_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

_SCHEMA: Final = "CREATE TABLE IF NOT EXISTS seen (fence_key TEXT PRIMARY KEY, token INTEGER NOT NULL) WITHOUT ROWID"
_READ: Final = (
    "SELECT fence_key, token FROM seen "
    "WHERE fence_key = :incarnation OR fence_key >= :key || '#' AND fence_key < :key || '$'"
)
_RAISE: Final = (
    "INSERT INTO seen (fence_key, token) VALUES (?, ?) "
    "ON CONFLICT (fence_key) DO UPDATE SET token = excluded.token WHERE excluded.token > token"
)


class SqliteGuard:
    """A guard whose memory is a file; any number of threads and processes may share it."""

    def __init__(self, path: str | PathLike[str], *, wait_seconds: float = 5) -> None:
        """Use the file, which is made where it is missing.

        Args:
            path: Of the file, on a disk of this host.
            wait_seconds: How long to wait for a write that is under way, before `sqlite3.OperationalError` refuses.
        """
        self._path, self._wait = path, wait_seconds

    @contextmanager
    def admit(self, key: str, tokens: Mapping[str, int]) -> Iterator[None]:
        """Let a write through, see `Guard.admit`.

        Raises:
            StaleToken: A higher token was seen, or none is shown for this resource.
            sqlite3.Error: The file cannot be used; nothing passes then.
        """
        shown = tokens_for(key, tokens)
        connection = sqlite3.connect(self._path, timeout=self._wait, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            # First what was seen, for good: were it lost with a body that fails half-way, an older token could follow.
            with _alone(connection):
                connection.execute(_SCHEMA)
                connection.executemany(_RAISE, passing(key, shown, _seen(connection, key)).items())
            # Then the write, with nobody beside it; between the two a higher one may have come.
            with _alone(connection):
                passing(key, shown, _seen(connection, key))
                yield
        finally:
            connection.close()


@contextmanager
def _alone(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold the file's write lock from before the first look."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _seen(connection: sqlite3.Connection, key: str) -> Mapping[str, int]:
    return dict(connection.execute(_READ, {"key": key, "incarnation": INCARNATION}))
