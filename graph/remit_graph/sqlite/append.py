"""The append: one transaction that moves the head from where the writer decided, or changes nothing."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING, NoReturn

from remit_graph.errors import ConstraintBroken, RequestReused
from remit_graph.refusals import require_near, require_order, why_not_moved
from remit_graph.sqlite.read import read_head
from remit_graph.sqlite.statements import STATEMENTS
from remit_graph.sqlite.turns import spend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from remit_graph.head import Head
    from remit_graph.model.instant import Instant
    from remit_graph.sqlite.edges import EdgeStep
    from remit_graph.sqlite.options import SqliteOptions
    from remit_graph.sqlite.spell import Revision
    from remit_graph.stored import StoredResult


def write(
    connection: sqlite3.Connection, expected: Head, revisions: Sequence[Revision], options: SqliteOptions, writer: str
) -> None:
    """Put `revisions` after `expected`, inside a transaction of the caller's.

    Raises:
        HeadMoved, TurnTaken, ForeignStore, ModelError, RequestReused, ConstraintBroken: as the port says; the caller
            rolls back.
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
            "state": str(expected.state),
            "expected_revision": expected.revision,
            "expected_hash": expected.hash,
            "first_at": revisions[0].entry.at,
        },
    ).rowcount
    instants = [each.entry.at for each in revisions]
    # (2) Read the clock, now that nobody else can append; refuse whose turn it is not, then what the batch says.
    now = options.clock()
    head = None if moved else read_head(connection, now)
    if head is not None and (error := why_not_moved(expected, head)) is not None:
        raise error
    spend(connection, writer, now, options)
    if head is not None:
        _refuse(head, instants)
    require_near(instants, now, options.max_clock_skew // timedelta(microseconds=1))
    # (3) Add the rows, the answers to request ids, the edges and receipts; the schema refuses what is there already.
    _insert_rows(connection, revisions)
    for index, revision in enumerate(revisions):
        _insert(connection, revision, index)


def _refuse(head: Head, instants: Sequence[Instant]) -> NoReturn:
    """Say what in a batch kept the head from being moved, although it stands where the writer decided."""
    require_order(instants, head.at)
    raise AssertionError("the head stands where the writer decided, and yet it did not move")


def _insert_rows(connection: sqlite3.Connection, revisions: Sequence[Revision]) -> None:
    begun: list[int] = []

    def rows() -> Iterator[dict[str, object]]:
        for index, revision in enumerate(revisions):
            begun.append(index)
            for row in revision.rows:
                yield {"revision": row.revision, "seq": row.seq, "body": row.body, "hash": row.hash}

    try:
        # One call for all of a batch: to begin anew for each revision takes as long as its rows do.
        connection.executemany(STATEMENTS["insert_row"], rows())
    except sqlite3.IntegrityError as error:
        index = begun[-1]
        raise ConstraintBroken(
            f"revision {revisions[index].entry.revision} is there already, though the head does not say so: {error}",
            advice="run `remit store check`",
            index=index,
        ) from error


def _insert(connection: sqlite3.Connection, revision: Revision, index: int) -> None:
    if revision.answer is not None:
        _insert_answer(connection, revision.answer, index)
    for step in revision.edges:
        _apply(connection, step, revision.entry.revision, index)
    for receipt_id in revision.receipts:
        values = {"receipt_id": receipt_id, "revision": revision.entry.revision}
        connection.execute(STATEMENTS["note_receipt"], values)


def _insert_answer(connection: sqlite3.Connection, answer: StoredResult, index: int) -> None:
    values = {
        "request_id": answer.request_id,
        "fingerprint": answer.fingerprint,
        "revision": answer.revision,
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
