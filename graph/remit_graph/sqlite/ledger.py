"""The embedded ledger, behind the port.

    ledger = await SqliteLedger.init(path, "example", options=SqliteOptions())
    head = await ledger.head()
    entries = await ledger.append(head, [command])

Rules:
- one thread writes, others read, none of them is the event loop's;
- every fault is an error of the port, with advice; what was refused left nothing behind;
- processes on one file agree through the file alone, whichever of them ends in whatever way.
"""

from __future__ import annotations

import asyncio
import secrets
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar

from remit_graph.errors import ForeignStore
from remit_graph.head import USABLE, State, new_store_id
from remit_graph.refusals import not_unfinished, require_known_schema, require_state, why_not_moved
from remit_graph.sharing import Seen
from remit_graph.sqlite import append, migrate, read, standing, turns
from remit_graph.sqlite.check import NOTHING_VERIFIED, check_chain, check_rest
from remit_graph.sqlite.keeping import Keeping
from remit_graph.sqlite.lane import Lane
from remit_graph.sqlite.lock import WriterLock
from remit_graph.sqlite.options import SqliteOptions
from remit_graph.sqlite.spell import respell, spell
from remit_graph.sqlite.statements import STATEMENTS
from remit_graph.sqlite.store_file import StoreFile, require_ledger, write_ahead
from remit_graph.sqlite.transaction import writing
from remit_graph.sqlite.watch import Bell, Poller
from remit_graph.watching import wait_for_entries

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from remit_graph.head import Beginning, Head
    from remit_graph.model.change import Command, Entry, Row
    from remit_graph.sharing import Turn
    from remit_graph.sqlite.spell import Revision
    from remit_graph.stored import Stored, StoredResult

T = TypeVar("T")


class SqliteLedger(Keeping):
    """A ledger in one SQLite file; made by `init` or `open`."""

    def __init__(self, file: StoreFile, options: SqliteOptions, accepts: frozenset[State]) -> None:
        self._options = options
        self._accepts = accepts
        self._path = file.path
        self._name = secrets.token_hex(8)
        self._lock = WriterLock(file.path, options.busy_timeout)
        self._writer = Lane(file, "writer", threads=1, may_write=True)
        self._readers = Lane(file, "reader", threads=options.readers, may_write=False)
        self._bell = Bell()
        self._poller = Poller(file, self._bell, options.poll_interval)
        self._poller.start()
        self._verified = NOTHING_VERIFIED

    @classmethod
    async def init(
        cls, path: Path, realm: str, *, options: SqliteOptions | None = None, beginning: Beginning | None = None
    ) -> Self:
        """Make a ledger for `realm` at `path`, and open it; with `beginning` an unfinished one, to be filled.

        Raises:
            ForeignStore: the file holds something already; `code` is `already_exists`.
            LedgerUnavailable: the folder is missing, or may not be written.
            ModelError: the realm has no name.
        """
        options = options or SqliteOptions()
        await asyncio.to_thread(migrate.found, path, realm, options.busy_timeout, beginning)
        accepts = USABLE if beginning is None else frozenset({State.UNFINISHED})
        return await cls.open(path, realm, options=options, accepts=accepts)

    @classmethod
    async def open(
        cls,
        path: Path,
        realm: str | None = None,
        *,
        options: SqliteOptions | None = None,
        accepts: frozenset[State] = USABLE,
    ) -> Self:
        """Open the ledger at `path`; with `realm`, only if it is that realm's.

        Raises:
            ForeignStore: the file is no ledger, has an older layout, is another realm's, or in no state of `accepts`.
            SchemaTooNew: the file has a later layout, or takes rows of a later schema.
            LedgerUnavailable: it is missing, locked, damaged, or may not be read and written.
        """
        options = options or SqliteOptions()
        ledger = cls(await asyncio.to_thread(StoreFile, path, options.busy_timeout), options, accepts)
        try:
            await ledger._writer.run(ledger._require_usable)
            await ledger._require_realm(realm)
        except BaseException:
            await ledger.aclose()
            raise
        return ledger

    async def head(self) -> Head:
        """Return where the ledger stands now; see the port."""
        head = await self._head()
        require_state(head, self._accepts, str(self._path))
        return head

    async def append(self, expected: Head, batch: Sequence[Command]) -> Sequence[Entry]:
        """Append `batch` after `expected`; see the port.

        A caller that is cancelled does not know whether the append happened: it looks the request ids up.
        """
        if not batch:
            return []
        require_state(expected, self._accepts - {State.MOVED}, str(self._path))
        entries = await self._writer.run(lambda connection: self._append(connection, expected, spell(expected, batch)))
        # Here and not on the writer's thread: whoever awaits this has the entries before a reader of this loop wakes.
        self._bell.ring(entries[-1].revision)
        return entries

    async def put_back(self, expected: Head, revisions: Sequence[Stored]) -> Head:
        """Append `revisions` to an unfinished ledger as they stand; see the port."""
        require_state(expected, frozenset({State.UNFINISHED}), str(self._path))
        if revisions:
            await self._writer.run(lambda connection: self._append(connection, expected, respell(expected, revisions)))
        return await self.head()

    async def take_turn(self) -> Turn:
        """Take the turn to append, or line up for it; see the port."""
        return await self._write(lambda connection: turns.take(connection, self._name, self._options))

    async def see_turn(self) -> Turn:
        """Look whose turn it is; see the port."""
        return await self._readers.run(lambda connection: turns.see(connection, self._name, self._options))

    async def pass_turn(self) -> None:
        """Give up the turn, or the place in line; see the port."""
        await self._write(lambda connection: turns.leave(connection, self._name, self._options))

    async def read(self, after: int, limit: int) -> Sequence[Entry]:
        """Return up to `limit` whole revisions after `after`; see the port."""
        return await self._readers.run(lambda connection: read.read_entries(connection, after, limit))

    async def watch(self, after: int, within: timedelta, *, known: Callable[[], int] | None = None) -> Sequence[Entry]:
        """Wait until revisions after `after` exist and return up to 1,000 of them; see the port."""
        with self._bell.listening() as listener:
            return await wait_for_entries(listener, self.read, within, known or (lambda: after))

    async def rows(self, after: int | None = None) -> AsyncIterator[Row]:
        """Stream the rows after `after` up to the head of this moment; see the port."""
        head = await self.head()
        last, after = head.revision, head.base if after is None else after
        place = (after + 1, -1)
        while page := await self._readers.run(partial(_page, place=place, last=last)):
            for row in page:
                yield row
            place = (page[-1].revision, page[-1].seq)

    async def result(self, request_id: str) -> StoredResult | None:
        """Return what a request id was answered with; see the port."""
        return await self._readers.run(lambda connection: read.read_result(connection, request_id))

    async def receipt(self, receipt_id: str) -> Entry | None:
        """Return the newest revision that wrote a receipt of this id; see the port."""
        return await self._readers.run(lambda connection: read.read_receipt(connection, receipt_id))

    async def results(self, request_ids: Sequence[str]) -> Sequence[StoredResult]:
        """Return what those of `request_ids` that were appended were answered with."""
        return await self._readers.run(lambda connection: read.read_results(connection, request_ids))

    async def finish(self, expected: Head) -> Head:
        """Let an unfinished ledger be used; see the port."""
        if not await self._write(lambda connection: standing.finish(connection, expected)):
            raise why_not_moved(expected, await self._head()) or not_unfinished(str(self._path))
        self._accepts = USABLE
        return await self.head()

    async def materialised(self) -> None:
        """Return at once: nothing is brought along after a commit."""

    async def move_away(self, to: str) -> Head:
        """Close the ledger for writing, for good; see the port."""
        if not await self._write(lambda connection: standing.move_away(connection, to)):
            require_state(await self._head(), frozenset({State.READY}), str(self._path))
        return await self._head()

    async def enable_schema(self, schema: int, version: str) -> Head:
        """Let rows be written in `schema` from here on; see the port."""
        await self._write(lambda connection: standing.enable_schema(connection, schema, version))
        return await self.head()

    async def announce(self, name: str, version: str, schema: int) -> None:
        """Say that a decision point of this name uses the ledger."""
        seen = Seen(name=name, version=version, schema=schema, seen_at=self._options.clock())
        await self._write(lambda connection: standing.announce(connection, seen))

    async def depart(self, name: str) -> None:
        """Forget a decision point that stops."""
        await self._write(lambda connection: standing.depart(connection, name))

    async def seen(self, within: timedelta) -> Sequence[Seen]:
        """Return the decision points that were seen lately, by name."""
        after = self._options.clock() - within // timedelta(microseconds=1)
        return await self._readers.run(lambda connection: standing.seen(connection, after))

    async def check(self, *, full: bool = True, graph: bool = True) -> Sequence[str]:  # noqa: ARG002
        """Return what is wrong with the store, one sentence each.

        Args:
            full: Verify the whole chain and all that stands beside it; otherwise only the chain after the last place
                up to which this object found it unbroken.
            graph: Of no account: no graph is kept beside this log.
        """
        start = NOTHING_VERIFIED if full else self._verified
        problems, self._verified = await self._readers.run(lambda connection: check_chain(connection, start))
        return await self._readers.run(check_rest) if full and not problems else problems

    async def begin_incarnation(self, *, after: int = 0) -> Head:
        """Give a restored store a new identity: another store id, and an incarnation above its own and `after`.

        Args:
            after: The incarnation of the store whose place this one takes; a backup may be older than its last restore.
        """
        await self._write(
            lambda connection: connection.execute(
                STATEMENTS["begin_incarnation"], {"store_id": new_store_id(), "after": after}
            )
        )
        return await self.head()

    async def aclose(self) -> None:
        """Finish what has begun and give every connection back."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._poller.close()
        self._readers.close()
        self._writer.close()
        self._lock.close()

    def _append(self, connection: sqlite3.Connection, expected: Head, revisions: Sequence[Revision]) -> Sequence[Entry]:
        with writing(connection, self._lock, self._path):
            append.write(connection, expected, revisions, self._options, self._name)
        return [each.entry for each in revisions]

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def in_transaction(connection: sqlite3.Connection) -> T:
            with writing(connection, self._lock, self._path):
                return work(connection)

        return await self._writer.run(in_transaction)

    def _require_usable(self, connection: sqlite3.Connection) -> None:
        require_ledger(connection, self._path)
        write_ahead(connection, self._path)
        # A file that cannot be written is told now and not at the first command.
        with writing(connection, self._lock, self._path):
            pass

    async def _require_realm(self, realm: str | None) -> None:
        head = await self.head()
        if realm is not None and head.realm != realm:
            raise ForeignStore(
                f"`{self._path}` is the ledger of realm `{head.realm}`, not of `{realm}`",
                advice="name another file, or the realm it belongs to",
                realm=head.realm,
            )
        require_known_schema(head)

    async def _head(self) -> Head:
        return await self._readers.run(lambda connection: read.read_head(connection, self._options.clock()))


def _page(connection: sqlite3.Connection, place: tuple[int, int], last: int) -> list[Row]:
    return read.read_page(connection, *place, last)
