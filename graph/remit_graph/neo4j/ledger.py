"""The ledger in Neo4j, behind the port: the system of record of production.

    ledger = await Neo4jLedger.open(Neo4jOptions(url="neo4j://host:7687", password=...), "acme")
    head = await ledger.head()
    entries = await ledger.append(head, [command])

Rules:
- one driver for the life of this object, whatever the number of tasks;
- every fault is an error of the port, with advice; what was refused left nothing behind;
- any number of processes share one database, and agree through its head alone;
- the materialised graph is written here and read by people; no decision reads it (rules.md 11).
"""

from __future__ import annotations

import asyncio
import secrets
from time import monotonic
from typing import TYPE_CHECKING, Self

from remit_graph.head import USABLE, State, new_store_id
from remit_graph.neo4j import append, read, set_aside, standing, store, turns
from remit_graph.neo4j.backlog import Backlog
from remit_graph.neo4j.check import NOTHING_VERIFIED, check_chain, check_rest, settled
from remit_graph.neo4j.database import Database, rows_of
from remit_graph.neo4j.drift import quick
from remit_graph.neo4j.keeping import Keeping
from remit_graph.neo4j.looking import PARTS, findings
from remit_graph.neo4j.schema import install
from remit_graph.neo4j.spell import respell, spell, takes_long
from remit_graph.neo4j.watch import Bell
from remit_graph.refusals import not_unfinished, require_state, why_not_moved
from remit_graph.watching import wait_for_entries

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from datetime import timedelta

    from neo4j import AsyncManagedTransaction

    from remit_graph.drift import Finding, PartDrift, SetAside
    from remit_graph.head import Beginning, Head
    from remit_graph.model.change import Command, Entry, Row
    from remit_graph.neo4j.options import Neo4jOptions
    from remit_graph.neo4j.spell import Spelled
    from remit_graph.sharing import Seen, Turn
    from remit_graph.stored import Stored, StoredResult


class Neo4jLedger(Keeping):
    """A ledger in one Neo4j database; made by `init` or `open`."""

    def __init__(self, database: Database, realm: str, accepts: frozenset[State] = USABLE) -> None:
        self._database = database
        self._accepts = accepts
        self._realm = realm
        self._name = secrets.token_hex(8)
        self._bell = Bell(lambda: read.read_revision(database, realm), database.options)
        self._backlog = Backlog(database, realm)
        self._pace = turns.Pace(database.options.turn)
        self._verified = NOTHING_VERIFIED

    @classmethod
    async def init(cls, options: Neo4jOptions, realm: str, *, beginning: Beginning | None = None) -> Self:
        """Make a ledger for `realm` in an empty database, and open it.

        With `beginning` it is unfinished, and is to be filled.

        Raises:
            ForeignStore: the database holds something already; `code` is `already_exists`.
            LedgerUnavailable: it cannot be reached, is too old, or takes no writes.
            ModelError: the realm has no name.
        """
        database = Database(options)
        try:
            await store.found(database, realm, beginning)
        finally:
            await database.aclose()
        accepts = USABLE if beginning is None else frozenset({State.UNFINISHED})
        return await cls.open(options, realm, accepts=accepts)

    @classmethod
    async def open(cls, options: Neo4jOptions, realm: str | None = None, *, accepts: frozenset[State] = USABLE) -> Self:
        """Open the ledger in a database; with `realm`, only if it is that realm's.

        Raises:
            ForeignStore: the database holds no ledger or another realm's, lacks constraints or indexes, or is in no
                state of `accepts`.
            SchemaTooNew: the ledger takes rows of a later schema.
            LedgerUnavailable: it cannot be reached, is too old, or takes no writes.
        """
        database = Database(options)
        try:
            ledger = cls(database, await store.require_ledger(database, realm), accepts)
            await ledger.head()
        except BaseException:
            await database.aclose()
            raise
        # A process that was killed may have left the graph behind the ledger.
        if State.UNFINISHED not in accepts:
            ledger._backlog.wake()
        return ledger

    @staticmethod
    async def migrate(options: Neo4jOptions) -> Sequence[str]:
        """Make the constraints and indexes that a ledger's database lacks, and return what was made.

        Raises:
            ForeignStore: the database holds no ledger, or two things that a constraint forbids.
            LedgerUnavailable: it cannot be reached, is too old, or takes no writes.
        """
        database = Database(options)
        try:
            await store.require_server(database)
            await store.require_head(database, None)
            return [str(each) for each in await install(database)]
        finally:
            await database.aclose()

    async def head(self) -> Head:
        """Return where the ledger stands now; see the port."""
        head = await self._head()
        require_state(head, self._accepts, self._database.url)
        return head

    async def _head(self) -> Head:
        return await read.read_head(self._database, self._realm)

    async def append(self, expected: Head, batch: Sequence[Command]) -> Sequence[Entry]:
        """Append `batch` after `expected`; see the port.

        A caller that is cancelled does not know whether the append happened: it looks the request ids up.
        """
        if not batch:
            return []
        require_state(expected, self._accepts - {State.MOVED}, self._database.url)
        if takes_long(batch):
            return await self._append(expected, await asyncio.to_thread(spell, expected, batch), large=True)
        return await self._append(expected, spell(expected, batch))

    async def put_back(self, expected: Head, revisions: Sequence[Stored]) -> Head:
        """Append `revisions` to an unfinished ledger as they stand; see the port."""
        require_state(expected, frozenset({State.UNFINISHED}), self._database.url)
        if revisions:
            await self._append(expected, respell(expected, revisions))
        return await self.head()

    async def _append(self, expected: Head, spelled: Spelled, *, large: bool = False) -> Sequence[Entry]:
        waves = await asyncio.to_thread(append.waves_of, spelled) if large else append.waves_of(spelled)
        began = monotonic()
        is_materialised = await append.append(
            self._database, expected, spelled, waves, writer=self._name, turn=self._pace.turn
        )
        self._pace.note(monotonic() - began)
        self._bell.ring(spelled.entries[-1].revision)
        # Whoever fills a ledger waits for its graph at the end; until then the two would wait for each other's locks.
        if not is_materialised and State.UNFINISHED not in self._accepts:
            self._backlog.wake()
        return list(spelled.entries)

    async def take_turn(self) -> Turn:
        """Take the turn to append, or line up for it; see the port."""
        return await turns.take(self._database, self._realm, self._name, self._pace.turn)

    async def see_turn(self) -> Turn:
        """Look whose turn it is; see the port."""
        return await turns.see(self._database, self._realm, self._name)

    async def pass_turn(self) -> None:
        """Give up the turn, or the place in line; see the port."""
        await turns.leave(self._database, self._realm, self._name, self._pace.turn)

    async def read(self, after: int, limit: int) -> Sequence[Entry]:
        """Return up to `limit` whole revisions after `after`; see the port."""
        return await read.read_entries(self._database, self._realm, after, limit)

    async def watch(self, after: int, within: timedelta, *, known: Callable[[], int] | None = None) -> Sequence[Entry]:
        """Wait until revisions after `after` exist and return up to 1,000 of them; see the port."""
        with self._bell.listening() as listener:
            return await wait_for_entries(listener, self.read, within, known or (lambda: after))

    async def rows(self, after: int | None = None) -> AsyncIterator[Row]:
        """Stream the rows after `after` up to the head of this moment; see the port."""
        head = await settled(self._database, self._realm)
        begins = head["base"] if after is None else after
        async for row in read.stream_rows(self._database, self._realm, begins, head["revision"]):
            yield row

    async def result(self, request_id: str) -> StoredResult | None:
        """Return what a request id was answered with; see the port."""
        return await read.read_result(self._database, request_id)

    async def receipt(self, receipt_id: str) -> Entry | None:
        """Return the newest revision that wrote a receipt of this id; see the port."""
        return await read.read_receipt(self._database, self._realm, receipt_id)

    async def results(self, request_ids: Sequence[str]) -> Sequence[StoredResult]:
        """Return what those of `request_ids` that were appended were answered with."""
        return await read.read_results(self._database, request_ids)

    async def finish(self, expected: Head) -> Head:
        """Let an unfinished ledger be used, once its graph is there too; see the port."""
        await self.materialised()
        if not await standing.finish(self._database, expected):
            raise why_not_moved(expected, await self._head()) or not_unfinished(self._database.url)
        self._accepts = USABLE
        return await self.head()

    async def move_away(self, to: str) -> Head:
        """Close the ledger for writing, for good; see the port."""
        if not await standing.move_away(self._database, self._realm, to):
            require_state(await self._head(), frozenset({State.READY}), self._database.url)
        return await self._head()

    async def enable_schema(self, schema: int, version: str) -> Head:
        """Let rows be written in `schema` from here on; see the port."""
        await standing.enable_schema(self._database, self._realm, schema, version)
        return await self.head()

    async def announce(self, name: str, version: str, schema: int) -> None:
        """Say that a decision point of this name uses the ledger."""
        await standing.announce(self._database, name, version, schema)

    async def depart(self, name: str) -> None:
        """Forget a decision point that stops."""
        await standing.depart(self._database, name)

    async def seen(self, within: timedelta) -> Sequence[Seen]:
        """Return the decision points that were seen lately, by name."""
        return await standing.seen(self._database, within)

    async def check(self, *, full: bool = True, graph: bool = True) -> Sequence[str]:
        """Return what is wrong with the store, one sentence each.

        Args:
            full: Verify the whole chain and all that stands beside it; otherwise only the chain after the last place
                up to which this object found it unbroken.
            graph: With `full`, look at every element of the graph too, as `findings` does.
        """
        start = NOTHING_VERIFIED if full else self._verified
        problems, self._verified = await check_chain(self._database, self._realm, start)
        return await check_rest(self._database, self._realm, graph=graph) if full and not problems else problems

    async def begin_incarnation(self, *, after: int = 0) -> Head:
        """Give a restored store a new identity: another store id, and an incarnation above its own and `after`.

        Args:
            after: The incarnation of the store whose place this one takes; a backup may be older than its last restore.
        """
        store_id = new_store_id()

        async def work(transaction: AsyncManagedTransaction) -> None:
            await rows_of(transaction, "begin_incarnation", realm=self._realm, store_id=store_id, after=after)

        await self._database.write(work)
        return await self.head()

    async def materialised(self) -> None:
        """Return when the graph is where the ledger stood when this was called; see `backlog`."""
        await self._backlog.done()

    async def drift(self) -> Sequence[PartDrift]:
        """Return the kinds of elements of the graph that differ from what the ledger made; quick, for a timer."""
        return await quick(self._database)

    def parts(self) -> Sequence[str]:
        """Return the names of the parts of the graph that `findings` can look at one by one."""
        return PARTS

    async def findings(self, *, everything: bool = True, part: str | None = None) -> Sequence[Finding]:
        """Return by name what in the graph is not what the ledger made, once it is where the ledger is.

        Args:
            everything: Look at every element; otherwise only into the kinds that `drift` names.
            part: Look at every element of this part alone.
        """
        await self.materialised()
        return await findings(self._database, everything=everything, part=part)

    async def set_aside(self, findings: Sequence[Finding], *, by: str = "", reason: str | None = None) -> None:
        """Bring what `findings` name to what the ledger says, and keep what it was; see `set_aside`."""
        await set_aside.set_aside(self._database, self._realm, findings, by=by, reason=reason)

    async def was_set_aside(self) -> Sequence[SetAside]:
        """Return what was ever taken out of the graph, oldest first."""
        return await set_aside.kept(self._database)

    async def aclose(self) -> None:
        """Finish what has begun and give every connection back."""
        await self._bell.aclose()
        await self._backlog.aclose()
        await self._database.aclose()
