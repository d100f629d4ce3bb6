"""The ledgers that the contract suite runs over; a new one is finished when it is in `STORES` and the suite passes.

A `Store` is one place that ledgers are opened on: by this test, by its threads and by other processes. Beside that it
can be damaged past the ledger, which is what the tests of the chain do to it.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from remit_graph.neo4j import Neo4jLedger, Neo4jOptions
from remit_graph.neo4j.place import place_of
from remit_graph.sqlite import SqliteLedger, SqliteOptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from remit_graph.model.change import Row
    from remit_graph.ports import Ledger
    from tests.support.neo4j_server import Neo4jServer

REALM: Final = "acme"

_HEAD_MEMBERS: Final = {
    "revision": "UPDATE head SET revision = ?",
    "hash": "UPDATE head SET hash = ?",
    "schema": "UPDATE head SET schema = ?",
}


async def open_ledger(address: str, **options: Any) -> Ledger:
    """Open another ledger on a store, in whatever process this is called; `options` are those that all stores have."""
    kind, _, place = address.partition(":")
    if kind == "sqlite":
        return await SqliteLedger.open(Path(place), REALM, options=SqliteOptions(**options))
    if kind == "neo4j":
        return await Neo4jLedger.open(patient(**json.loads(place), **options), REALM)
    raise ValueError(f"`{address}` is no address of a store")


class Store(ABC):
    """One store with an empty ledger at first; every ledger opened on it is closed with it."""

    address: str
    """What `open_ledger` opens it by."""

    def __init__(self) -> None:
        self._opened: list[Ledger] = []

    async def open(self, **options: Any) -> Ledger:
        """Open another ledger on the store, with options that ledgers of all stores have."""
        ledger = await open_ledger(self.address, **options)
        self._opened.append(ledger)
        return ledger

    async def aclose(self) -> None:
        """Close every ledger; one may be closed already."""
        while self._opened:
            await self._opened.pop().aclose()

    @abstractmethod
    async def overwrite(self, rows: Sequence[Row], head: Mapping[str, Any] | None = None) -> None:
        """Replace the rows of the log, and the named members of the head, past the ledger."""

    @abstractmethod
    async def forget_checkpoints_after(self, revision: int) -> None:
        """Remove the images of later revisions, past the ledger."""

    @abstractmethod
    async def end_waits(self) -> None:
        """Let the time be over of every answer that is kept for a while beyond its row."""

    @abstractmethod
    async def damage_images(self) -> None:
        """Change the bytes of every image, past the ledger."""


class SqliteStore(Store):
    """An SQLite file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.address = f"sqlite:{path}"

    async def overwrite(self, rows: Sequence[Row], head: Mapping[str, Any] | None = None) -> None:
        """Write into the tables, as somebody with a shell and without the triggers would."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("DROP TRIGGER IF EXISTS rows_are_removed_below_the_base_alone")
            connection.execute("DELETE FROM rows")
            values = [(row.revision, row.seq, row.body, row.hash) for row in rows]
            connection.executemany("INSERT INTO rows (revision, seq, body, hash) VALUES (?, ?, ?, ?)", values)
            for name, value in (head or {}).items():
                connection.execute(_HEAD_MEMBERS[name], (value,))

    async def forget_checkpoints_after(self, revision: int) -> None:
        """Delete from the table."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("DELETE FROM checkpoint WHERE revision > ?", (revision,))

    async def end_waits(self) -> None:
        """Write into the table, instead of waiting."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("UPDATE result SET keep_until = 1 WHERE keep_until IS NOT NULL")

    async def damage_images(self) -> None:
        """Write into the table, as a failing disk would."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("UPDATE checkpoint_part SET data = x'00'")


async def sqlite_store(request: pytest.FixtureRequest) -> Store:
    """Make an SQLite file with an empty ledger."""
    made = SqliteStore(request.getfixturevalue("tmp_path") / "remit.db")
    await (await SqliteLedger.init(made.path, REALM)).aclose()
    return made


def patient(**address: Any) -> Neo4jOptions:
    """Return options whose bounds no busy machine reaches: what is tried here is not how fast it is."""
    long = timedelta(seconds=60)
    return Neo4jOptions(**address, hold_at_most=long, retry_for=long, connect_within=long)


class Neo4jStore(Store):
    """The database of the Neo4j of this run."""

    def __init__(self, server: Neo4jServer) -> None:
        super().__init__()
        self.server = server
        self.options = patient(url=server.url, user=server.user, password=server.password)
        self.address = "neo4j:" + json.dumps({"url": server.url, "user": server.user, "password": server.password})

    async def overwrite(self, rows: Sequence[Row], head: Mapping[str, Any] | None = None) -> None:
        """Write nodes, as somebody with Cypher would."""
        sizes = Counter(row.revision for row in rows)
        values = [
            {
                "place": place_of(row.revision, row.seq),
                "revision": row.revision,
                "seq": row.seq,
                "body": row.body,
                "hash": row.hash,
                "rows": None if row.seq else sizes[row.revision],
            }
            for row in rows
        ]
        await asyncio.to_thread(self.server.query, "MATCH (change:Change) DELETE change")
        await asyncio.to_thread(
            self.server.query, "UNWIND $rows AS row CREATE (change:Change) SET change = row", rows=values
        )
        await asyncio.to_thread(self.server.query, "MATCH (head:Head) SET head += $head", head=dict(head or {}))

    async def forget_checkpoints_after(self, revision: int) -> None:
        """Delete nodes."""
        query = "MATCH (checkpoint:Checkpoint) WHERE checkpoint.revision > $revision DELETE checkpoint"
        await asyncio.to_thread(self.server.query, query, revision=revision)

    async def end_waits(self) -> None:
        """Write into the nodes, instead of waiting."""
        await asyncio.to_thread(self.server.query, "MATCH (op:Op) WHERE op.keep_until > 0 SET op.keep_until = 1")

    async def damage_images(self) -> None:
        """Write into the nodes, as a failing disk would."""
        await asyncio.to_thread(self.server.query, "MATCH (part:CheckpointPart) SET part.data = $data", data=b"x")


async def neo4j_store(request: pytest.FixtureRequest) -> Neo4jStore:
    """Empty the Neo4j of this run, all but its schema, and make a ledger in it."""
    server: Neo4jServer = request.getfixturevalue("neo4j_of_this_run")
    await asyncio.to_thread(server.revive)
    await asyncio.to_thread(server.empty)
    made = Neo4jStore(server)
    await (await Neo4jLedger.init(made.options, REALM)).aclose()
    return made


STORES: Final[Sequence[Any]] = [
    pytest.param(sqlite_store, id="sqlite"),
    pytest.param(neo4j_store, id="neo4j", marks=pytest.mark.neo4j),
]
"""Each makes a new store with an empty ledger of realm `acme`."""


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """A store with an empty ledger, of each kind in turn."""
    make: Callable[[pytest.FixtureRequest], Awaitable[Store]] = request.param
    made = await make(request)
    yield made
    await made.aclose()
