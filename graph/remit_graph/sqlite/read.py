"""Reads, each within one state of the store.

A revision is read whole or not at all, and what is missing is an error and never an answer: a replica that was told
"nothing new" by a ledger that lost rows would go on with an old state.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from remit_graph.errors import ChainBroken, ModelError
from remit_graph.head import Head, State
from remit_graph.history import Base, require_kept
from remit_graph.model.change import SCHEMA, Entry, Row, entry_of, verify_link
from remit_graph.refusals import too_new
from remit_graph.sqlite.statements import STATEMENTS
from remit_graph.sqlite.transaction import reading
from remit_graph.stored import StoredResult

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from remit_graph.model.instant import Instant

ROWS_PER_READ: Final = 20_000
"""A read stops after the revision that reaches this many rows: a thousand revisions may have a million."""

ROWS_PER_PAGE: Final = 1_000
"""Raw rows are read in pages, so that no long read keeps SQLite's log from being tidied up."""


def read_head(connection: sqlite3.Connection, now: Instant) -> Head:
    """Return where the ledger stands; `now` is the store's clock."""
    found = connection.execute(STATEMENTS["head"]).fetchone()
    store_id, realm, incarnation, revision, digest, at, schema, state, note, needs, base = found
    return Head(
        store_id=store_id,
        realm=realm,
        incarnation=incarnation,
        revision=revision,
        hash=digest,
        at=at,
        schema=schema,
        now=now,
        state=State(state),
        note=note,
        needs=needs,
        base=base,
    )


def read_base(connection: sqlite3.Connection) -> Base:
    """Return where history begins."""
    revision, digest_of_row, at, digest, anchored_at, first = connection.execute(STATEMENTS["base"]).fetchone()
    return Base(revision=revision, hash=digest_of_row, at=at, digest=digest, anchored_at=anchored_at, first=first)


def read_entries(connection: sqlite3.Connection, after: int, limit: int) -> Sequence[Entry]:
    """Return up to `limit` revisions after `after`; fewer where they are large or one is of a later schema.

    Raises:
        HistoryRemoved: some of them were removed.
        SchemaTooNew: the very next revision is of a later schema; `facts` hold `schema` and `revision`.
        ChainBroken: a revision is missing, not whole, or does not follow the one before it.
    """
    with reading(connection):
        return read_entries_in(connection, after, limit)


def read_entries_in(connection: sqlite3.Connection, after: int, limit: int) -> Sequence[Entry]:
    """Do what `read_entries` does, inside a transaction of the caller's."""
    head = read_head(connection, 0)
    if after >= head.revision or limit < 1:
        return []
    require_kept(after, head.base)
    previous = _hash_at(connection, after)
    values = {"after": after, "last": min(after + limit, head.revision)}
    rows = (_row(each) for each in connection.execute(STATEMENTS["rows_of_revisions"], values))
    entries = list(_entries(rows, after, previous, head.needs))
    if entries:
        after, previous = entries[-1].revision, entries[-1].hash
    _require_sequel(connection, head, after, previous)
    return entries


def read_receipt(connection: sqlite3.Connection, receipt_id: str) -> Entry | None:
    """Return the newest revision that wrote a receipt of this id, or None.

    Raises:
        HistoryRemoved: that revision was removed.
    """
    with reading(connection):
        found = connection.execute(STATEMENTS["receipt"], {"receipt_id": receipt_id}).fetchone()
        if found is None:
            return None
        before = found[0] - 1
        require_kept(before, read_base(connection).revision, what=f"receipt `{receipt_id}` of revision {found[0]}")
        return read_entries_in(connection, before, 1)[0]


def _require_sequel(connection: sqlite3.Connection, head: Head, revision: int, digest: str) -> None:
    """Check that what follows what was read fits: without that, a revision that lost its last rows looks whole."""
    sequel = connection.execute(
        STATEMENTS["rows_after"], {"revision": revision + 1, "seq": -1, "last": revision + 1, "limit": 1}
    ).fetchone()
    if sequel is not None:
        verify_link(_row(sequel), previous=digest)
    elif (revision, digest) != (head.revision, head.hash):
        end = f"the log ends at revision {revision} with hash `{digest}`"
        raise ChainBroken(
            f"{end}, the head says {head.revision} and `{head.hash}`",
            advice="run `remit store check`",
            revision=revision + 1,
        )


def _hash_at(connection: sqlite3.Connection, revision: int) -> str:
    digest = hash_at(connection, revision)
    if digest is None:
        raise ChainBroken(f"revision {revision} is missing", advice="run `remit store check`", revision=revision)
    return digest


def hash_at(connection: sqlite3.Connection, revision: int) -> str | None:
    """Return the hash of the last row of a revision, or None where the log does not have it."""
    base = read_base(connection)
    if revision == base.revision:
        return base.hash
    row = read_last_row(connection, revision)
    return row.hash if row is not None and row.revision == revision > base.revision else None


def _entries(rows: Iterator[Row], after: int, previous: str, needs: str) -> Iterator[Entry]:
    taken = 0
    for revision, group in groupby(rows, key=attrgetter("revision")):
        of_revision = list(group)
        if revision != after + 1:
            raise ChainBroken(f"revision {after + 1} is missing, the next is {revision}", revision=after + 1)
        for row in of_revision:
            verify_link(row, previous=previous)
            previous = row.hash
        entry = _entry(of_revision)
        if entry.schema > SCHEMA:
            if taken:
                return
            raise too_new(revision, entry.schema, needs)
        yield entry
        after, taken = revision, taken + len(of_revision)
        if taken >= ROWS_PER_READ:
            return


def _entry(rows: Sequence[Row]) -> Entry:
    try:
        return entry_of(rows)
    except ModelError as error:
        raise ChainBroken(
            f"revision {rows[0].revision} cannot be read: {error}",
            advice="run `remit store check`",
            revision=rows[0].revision,
        ) from error


def read_page(connection: sqlite3.Connection, revision: int, seq: int, last: int) -> list[Row]:
    """Return the next rows after one place, up to revision `last`.

    Raises:
        HistoryRemoved: some of them were removed.
    """
    with reading(connection):
        return read_page_in(connection, revision, seq, last)


def read_page_in(connection: sqlite3.Connection, revision: int, seq: int, last: int) -> list[Row]:
    """Do what `read_page` does, inside a transaction of the caller's."""
    require_kept(revision - 1, read_base(connection).revision)
    values = {"revision": revision, "seq": seq, "last": last, "limit": ROWS_PER_PAGE}
    return [_row(each) for each in connection.execute(STATEMENTS["rows_after"], values)]


def stream_rows(connection: sqlite3.Connection, after: int, last: int) -> Iterator[Row]:
    """Yield the rows of the revisions after `after` up to `last`, page by page.

    Raises:
        HistoryRemoved: some of them were removed, maybe meanwhile.
    """
    # No row has a sequence number below 0, so this place is just before the next revision.
    place = (after + 1, -1)
    while page := read_page(connection, *place, last):
        yield from page
        place = (page[-1].revision, page[-1].seq)


def read_last_row(connection: sqlite3.Connection, last: int) -> Row | None:
    """Return the last row of the revisions up to `last`, or None."""
    found = connection.execute(STATEMENTS["last_row"], {"last": last}).fetchone()
    return None if found is None else _row(found)


def read_result(connection: sqlite3.Connection, request_id: str) -> StoredResult | None:
    """Return what a request id was answered with, or None."""
    found = connection.execute(STATEMENTS["result"], {"request_id": request_id}).fetchone()
    if found is None:
        return None
    known, fingerprint, revision, result = found
    return StoredResult(request_id=known, fingerprint=fingerprint, revision=revision, result=result)


def read_results(connection: sqlite3.Connection, request_ids: Sequence[str]) -> list[StoredResult]:
    """Return what those of `request_ids` that were appended were answered with."""
    return [found for each in request_ids if (found := read_result(connection, each)) is not None]


def _row(values: tuple[int, int, str, str]) -> Row:
    revision, seq, body, digest = values
    return Row(revision=revision, seq=seq, body=body, hash=digest)
