"""Reads. A revision is read whole or not at all, and what is missing is an error and never an answer.

Neo4j makes a commit visible bit by bit: the head may be seen moved before an index finds the rows. So each revision's
first row says how many rows it has, and each row carries the hash over the one before. What does not fit is read again
behind the head's lock, where no append is under way: what does not fit there is broken.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ChainBroken
from remit_graph.head import Head, State
from remit_graph.history import Base, require_kept
from remit_graph.model.change import GENESIS
from remit_graph.neo4j.database import rows_of
from remit_graph.neo4j.judge import judge, row_of
from remit_graph.neo4j.lock import lock_head, no_ledger
from remit_graph.neo4j.place import MAX_ROWS, first_place, last_place, revision_of, seq_of
from remit_graph.stored import StoredResult
from remit_graph.watching import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from neo4j import AsyncManagedTransaction

    from remit_graph.model.change import Entry, Row
    from remit_graph.neo4j.database import Database

ROWS_PER_READ: Final = 20_000
"""A read stops after the revision that reaches this many rows."""

READ_WITHIN: Final = timedelta(seconds=60)
"""How long a read may take: the largest takes a second of a machine that has nothing else to do, and holds no lock."""

ROWS_PER_TAIL: Final = 2_000
"""Rows that whoever follows the tail gets in one answer; there are seldom more than an append has."""

ROWS_PER_PAGE: Final = 5_000
"""Raw rows are read in pages, so that no transaction lasts as long as its reader takes."""

Found = dict[str, Any]


async def read_head(database: Database, realm: str) -> Head:
    """Return where the ledger stands, by the member that takes the writes."""
    rows = await database.once("head", realm=realm)
    if not rows:
        raise no_ledger(database, realm)
    return head_of(realm, rows[0])


def head_of(realm: str, found: Found) -> Head:
    """Return a head as the port has it."""
    told = {name: found[name] for name in _OF_A_HEAD}
    return Head(realm=realm, state=State(found["state"]), **told)


_OF_A_HEAD: Final = ("store_id", "incarnation", "revision", "hash", "at", "schema", "now", "note", "needs", "base")


async def read_base(database: Database, realm: str) -> Base:
    """Return where history begins, by the member that takes the writes."""

    async def work(transaction: AsyncManagedTransaction) -> Base:
        return await base_in(transaction, database, realm)

    return await database.reading(work, newest=True)


async def base_in(transaction: AsyncManagedTransaction, database: Database, realm: str) -> Base:
    """Do what `read_base` does, inside a transaction of the caller's."""
    found = _only(await rows_of(transaction, "base", realm=realm), database, realm)
    return Base(**{**found, "hash": found["hash"] or GENESIS})


async def read_revision(database: Database, realm: str) -> int:
    """Return the head's revision alone; made to be asked all the time."""
    rows = await database.alone("position", realm=realm)
    if not rows:
        raise no_ledger(database, realm)
    return int(rows[0]["revision"])


async def read_entries(database: Database, realm: str, after: int, limit: int) -> Sequence[Entry]:
    """Return up to `limit` revisions after `after`; fewer where they are large or one is of a later schema.

    Raises:
        HistoryRemoved: some of them were removed.
        SchemaTooNew: the very next revision is of a later schema; `facts` hold `schema` and `revision`.
        ChainBroken: a revision is missing, not whole, or does not follow the one before it.
    """
    if limit < 1:
        return []
    if limit <= AT_ONCE:
        entries = await _tail(database, realm, after, limit)
        if entries is not None:
            return entries

    async def work(transaction: AsyncManagedTransaction) -> list[Entry]:
        head = await rows_of(transaction, "position", realm=realm)
        return await _judged(transaction, _only(head, database, realm), after, limit)

    async def behind_lock(transaction: AsyncManagedTransaction) -> list[Entry]:
        return await _judged(transaction, await lock_head(transaction, database, realm), after, limit)

    try:
        return await database.reading(work, within=READ_WITHIN)
    except ChainBroken:
        return await database.write(behind_lock)


async def _tail(database: Database, realm: str, after: int, limit: int) -> list[Entry] | None:
    """Return what was appended after `after`, or None where the first of it is large, or it does not fit."""
    values = {"after": after, **_span(after, limit), "limit": ROWS_PER_TAIL}
    head = _only(await database.once("tail", realm=realm, **values), database, realm)
    if after >= head["revision"]:
        return []
    require_kept(after, head["base"])
    found = [_row(*each) for each in sorted(head["rows"])]
    if not (vouched := _vouched(found, after, limit, ROWS_PER_TAIL)):
        return None
    try:
        return judge(found, head, after, vouched)
    except ChainBroken:
        return None


def _row(place: int, body: str, digest: str, rows: int | None) -> Found:
    return {
        "place": place,
        "revision": revision_of(place),
        "seq": seq_of(place),
        "body": body,
        "hash": digest,
        "rows": rows,
    }


async def _judged(transaction: AsyncManagedTransaction, head: Found, after: int, limit: int) -> list[Entry]:
    if after >= head["revision"]:
        return []
    require_kept(after, head["base"])
    found = await _found(transaction, after, limit, ROWS_PER_READ)
    if vouched := _vouched(found, after, limit, ROWS_PER_READ):
        return judge(found, head, after, vouched)
    return judge(await _found(transaction, after, 1, MAX_ROWS + 1), head, after, 1)


def _vouched(found: Sequence[Found], after: int, limit: int, rows_at_most: int) -> int:
    """Return how many of `limit` revisions a page has that another row follows; 0 where it ends in the first.

    A page that is full may end with a revision and say nothing of the next, which is not to be taken for the end.
    """
    return limit if len(found) < rows_at_most else min(limit, found[-1]["revision"] - after - 1)


async def _found(transaction: AsyncManagedTransaction, after: int, limit: int, rows_at_most: int) -> list[Found]:
    found = await rows_of(transaction, "rows_to_read", **_span(after, limit), limit=rows_at_most)
    return sorted(found, key=lambda row: int(row["place"]))


def _span(after: int, limit: int) -> dict[str, int]:
    # One row more than asked for: what follows vouches for the end of what is returned.
    return {"first_place": first_place(after + 1), "last_place": first_place(after + limit + 1)}


def _only(found: Sequence[Found], database: Database, realm: str) -> Found:
    if not found:
        raise no_ledger(database, realm)
    return found[0]


async def stream_rows(database: Database, realm: str, after: int, last: int) -> AsyncIterator[Row]:
    """Yield the rows of the revisions after `after` up to `last`, page by page.

    Raises:
        HistoryRemoved: some of them were removed, maybe meanwhile.
    """
    place = first_place(after + 1)
    while place <= last_place(last):
        page = await page_of_rows(database, realm, place, last)
        for each in page:
            yield row_of(each)
        if len(page) < ROWS_PER_PAGE:
            return
        place = page[-1]["place"] + 1


async def page_of_rows(database: Database, realm: str, place: int, last: int) -> list[Found]:
    """Return the rows from a place on, up to revision `last` or as many as make a page.

    Raises:
        HistoryRemoved: some of them were removed.
    """

    async def work(transaction: AsyncManagedTransaction) -> list[Found]:
        span = {"first_place": place, "last_place": last_place(last)}
        page = await rows_of(transaction, "page_of_rows", **span, limit=ROWS_PER_PAGE)
        # After the rows: what was removed before they were read is noticed, and what is removed later was read.
        head = await rows_of(transaction, "position", realm=realm)
        require_kept(revision_of(place) - 1, _only(head, database, realm)["base"])
        return page

    return await database.reading(work)


async def read_receipt(database: Database, realm: str, receipt_id: str) -> Entry | None:
    """Return the newest revision that wrote a receipt of this id, or None.

    The graph may have been edited by hand, and then says wrongly where to look; what is returned is in the log.

    Raises:
        HistoryRemoved: that revision was removed.
    """
    rows = await database.read("receipt", newest=True, ref=f"receipt/{receipt_id}")
    if not rows or not isinstance(rows[0]["revision"], int):
        return None
    revision = rows[0]["revision"]
    base = await read_base(database, realm)
    require_kept(revision - 1, base.revision, what=f"receipt `{receipt_id}` of revision {revision}")
    entries = await read_entries(database, realm, revision - 1, 1)
    return next((each for each in entries if _has_receipt(each, receipt_id)), None)


def _has_receipt(entry: Entry, receipt_id: str) -> bool:
    return any(each.kind == "receipt.put" and each.body.get("id") == receipt_id for each in entry.changes)


async def read_result(database: Database, request_id: str) -> StoredResult | None:
    """Return what a request id was answered with, or None; by the member that takes the writes."""
    rows = await database.once("result", request_id=request_id)
    return StoredResult(**rows[0]) if rows else None


async def read_results(database: Database, request_ids: Sequence[str]) -> list[StoredResult]:
    """Return what those of `request_ids` that were appended were answered with."""
    rows = await database.once("results_of", request_ids=list(request_ids))
    return [StoredResult(**row) for row in rows]
