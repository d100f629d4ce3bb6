"""The append: one transaction that moves the head from where the writer decided, or changes nothing."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING

from remit_graph.errors import ConstraintBroken, ForeignStore, GraphError, HeadMoved, ModelError, RequestReused
from remit_graph.model.instant import format_instant
from remit_graph.sqlite.read import read_head
from remit_graph.sqlite.statements import STATEMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.model.instant import Instant
    from remit_graph.ports import Head
    from remit_graph.sqlite.edges import EdgeStep
    from remit_graph.sqlite.options import SqliteOptions
    from remit_graph.sqlite.spell import Answer, Revision


def write(
    connection: sqlite3.Connection, expected: Head, revisions: Sequence[Revision], options: SqliteOptions
) -> None:
    """Put `revisions` after `expected`, inside a transaction of the caller's.

    Raises:
        HeadMoved, ForeignStore, ModelError, RequestReused, ConstraintBroken: as the port says; the caller rolls back.
    """
    # (1) Move the head: one statement compares and sets, under the write lock.
    last = revisions[-1].entry
    moved = connection.execute(
        STATEMENTS["advance_head"],
        {
            "revision": last.revision,
            "hash": last.hash,
            "at": last.at,
            "store_id": expected.store_id,
            "incarnation": expected.incarnation,
            "schema": expected.schema,
            "expected_revision": expected.revision,
            "expected_hash": expected.hash,
            "first_at": revisions[0].entry.at,
        },
    ).rowcount
    if not moved:
        raise _why_not(expected, read_head(connection, options.clock()), revisions[0].entry.at)
    # (2) Read the clock, now that nobody else can append, and refuse an `at` too far ahead of it.
    _refuse_future(revisions, options.clock(), options.max_clock_skew)
    # (3) Add the rows, the answers to request ids and the edges; the schema refuses what is there already.
    for index, revision in enumerate(revisions):
        _insert(connection, revision, index)


def _why_not(expected: Head, head: Head, at: Instant) -> GraphError:
    """Say why the head could not be moved; the order goes from what cannot be mended to what can."""
    if (head.store_id, head.incarnation) != (expected.store_id, expected.incarnation):
        return ForeignStore(
            f"the writer decided on incarnation {expected.incarnation} of store `{expected.store_id}`, "
            f"and this is incarnation {head.incarnation} of `{head.store_id}`",
            advice="load the state anew: the ledger was restored or replaced",
        )
    if head.revision < expected.revision or (head.revision == expected.revision and head.hash != expected.hash):
        return ForeignStore(
            f"the writer decided on revision {expected.revision} with hash {expected.hash}, "
            f"and the ledger stands at revision {head.revision} with hash {head.hash}: it lost what it had",
            advice="stop writing and compare backups; put a backup back only with `remit store restore`",
        )
    if head.revision > expected.revision or head.schema != expected.schema:
        return HeadMoved(
            f"the head is at revision {head.revision}, the writer decided on {expected.revision}",
            expected=expected.revision,
            actual=head.revision,
        )
    return ModelError(
        f"command 0 is of {format_instant(at)}, before the last one, {format_instant(head.at)}",
        index=0,
        at=at,
        bound=head.at,
    )


def _refuse_future(revisions: Sequence[Revision], now: Instant, skew: timedelta) -> None:
    bound = now + skew // timedelta(microseconds=1)
    for index, revision in enumerate(revisions):
        if revision.entry.at > bound:
            raise ModelError(
                f"command {index} is of {format_instant(revision.entry.at)}, more than {skew.total_seconds():g} s "
                f"ahead of the store's clock, {format_instant(now)}",
                index=index,
                at=revision.entry.at,
                bound=bound,
            )


def _insert(connection: sqlite3.Connection, revision: Revision, index: int) -> None:
    rows = [{"revision": row.revision, "seq": row.seq, "body": row.body, "hash": row.hash} for row in revision.rows]
    try:
        connection.executemany(STATEMENTS["insert_row"], rows)
    except sqlite3.IntegrityError as error:
        raise ConstraintBroken(
            f"revision {revision.entry.revision} is there already, though the head does not say so: {error}",
            advice="run `remit store check`",
            index=index,
        ) from error
    if revision.answer is not None:
        _insert_answer(connection, revision.answer, revision.entry.revision, index)
    for step in revision.edges:
        _apply(connection, step, revision.entry.revision, index)


def _insert_answer(connection: sqlite3.Connection, answer: Answer, revision: int, index: int) -> None:
    values = {
        "request_id": answer.request_id,
        "fingerprint": answer.fingerprint,
        "revision": revision,
        "result": answer.result,
    }
    try:
        connection.execute(STATEMENTS["insert_result"], values)
    except sqlite3.IntegrityError as error:
        raise RequestReused(
            f"request `{answer.request_id}` was appended before",
            advice="ask for its result; another request needs another id",
            request_id=answer.request_id,
            index=index,
        ) from error


def _apply(connection: sqlite3.Connection, step: EdgeStep, revision: int, index: int) -> None:
    values = {"edge_id": step.edge_id, "version": step.version, "revision": revision}
    try:
        connection.execute(STATEMENTS["begin_edge" if step.begins else "end_edge"], values)
    except sqlite3.IntegrityError as error:
        raise ConstraintBroken(
            f"edge `{step.edge_id}` version {step.version} was made before, or another version of it is current",
            index=index,
            edge_id=step.edge_id,
            version=step.version,
        ) from error
