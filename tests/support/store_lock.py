"""A process that holds a store's own write lock, as an engineer's open transaction does.

    lock = StoreLock(f"sqlite:///{path}")
    with lock.held():
        ...

The lock is the database's: a write transaction of SQLite, or a written and uncommitted head in Neo4j. What the
transaction wrote is taken back when it is let go.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]


class StoreLock:
    """The process, which lives until `close`; `store` is an address as settings have it."""

    def __init__(self, store: str, password: str = "") -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.support.store_lock", store],
            cwd=ROOT,
            env={**os.environ, "STORE_PASSWORD": password},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock."""
        self._tell("hold")
        try:
            yield
        finally:
            self._tell("free")

    def close(self) -> None:
        """End the process; a lock that it holds goes with it."""
        self._child.kill()
        self._child.communicate()

    def _tell(self, order: str) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(f"{order}\n")
        self._child.stdin.flush()
        said = self._child.stdout.readline()
        assert said == f"{order}\n", f"the process that holds the lock said `{said}`"


def _follow_orders(hold: Callable[[], Callable[[], object]]) -> None:
    free: Callable[[], object] = int
    for order in sys.stdin:
        if order == "hold\n":
            free = hold()
        else:
            free()
        sys.stdout.write(order)
        sys.stdout.flush()


def _in_sqlite(path: str) -> None:
    import sqlite3

    connection = sqlite3.connect(path, isolation_level=None)

    def hold() -> Callable[[], object]:
        connection.execute("BEGIN IMMEDIATE")
        return connection.rollback

    _follow_orders(hold)


def _in_neo4j(url: str, password: str) -> None:
    from neo4j import GraphDatabase

    scheme, _, place = url.partition("://")
    user, _, host = place.partition("@")
    with GraphDatabase.driver(f"{scheme}://{host}", auth=(user, password)) as driver, driver.session() as session:

        def hold() -> Callable[[], object]:
            transaction = session.begin_transaction()
            transaction.run("MATCH (head:Head) SET head.lock = 'by hand'").consume()
            return transaction.rollback

        _follow_orders(hold)


if __name__ == "__main__":
    if sys.argv[1].startswith("sqlite:///"):
        _in_sqlite(sys.argv[1].removeprefix("sqlite:///"))
    else:
        _in_neo4j(sys.argv[1], os.environ["STORE_PASSWORD"])
