"""What is left of removed revisions, on its way out of one ledger and into another that begins at the same base."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from remit_graph.refusals import not_unfinished, why_not_moved
from remit_graph.sqlite.read import read_head
from remit_graph.sqlite.statements import STATEMENTS
from remit_graph.stored import StoredResult, Wrote
from remit_graph.view.image import edges_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from remit_graph.head import Head
    from remit_graph.history import Base
    from remit_graph.model.edge import Edge
    from remit_graph.stored import Checkpoint, Remains

SOME: Final = 1_000
"""Answers or receipts that are read at once."""


def read_answers(connection: sqlite3.Connection, after: str) -> list[StoredResult]:
    """Return the next answers of removed revisions, by request id."""
    found = connection.execute(STATEMENTS["remaining_answers"], {"after": after, "limit": SOME})
    return [
        StoredResult(request_id=known, fingerprint=fingerprint, revision=revision, result=result, keep_until=until)
        for known, fingerprint, revision, result, until in found
    ]


def read_receipts(connection: sqlite3.Connection, after: str) -> list[Wrote]:
    """Return the next receipts of removed revisions, by id."""
    found = connection.execute(STATEMENTS["remaining_receipts"], {"after": after, "limit": SOME})
    return [Wrote(receipt_id=receipt_id, revision=revision) for receipt_id, revision in found]


def edges_in(checkpoint: Checkpoint) -> list[Edge]:
    """Return the versions of edges that an image holds, current and ended."""
    return [each for some in edges_of(checkpoint.blob) for each in some]


def begin_at(connection: sqlite3.Connection, expected: Head, base: Base, edges: Iterable[Edge], path: Path) -> None:
    """Let an empty ledger begin at a base, with the edges that its image holds.

    Raises:
        HeadMoved, ForeignStore: it is not empty, or not unfinished.
    """
    values = {**asdict(base), "store_id": expected.store_id}
    if not connection.execute(STATEMENTS["begin_at"], values).rowcount:
        raise why_not_moved(expected, read_head(connection, 0)) or not_unfinished(str(path))
    rows = [
        {
            "edge_id": each.edge_id,
            "version": each.version,
            "revision_from": each.revision_from,
            "revision_to": each.revision_to,
        }
        for each in edges
    ]
    connection.executemany(STATEMENTS["put_edge"], rows)


def put(connection: sqlite3.Connection, expected: Head, remains: Sequence[Remains]) -> None:
    """Keep answers and receipts of removed revisions.

    Raises:
        HeadMoved, ForeignStore: the ledger is elsewhere.
    """
    error = why_not_moved(expected, read_head(connection, 0))
    if error is not None:
        raise error
    for each in remains:
        connection.execute(STATEMENTS["put_answer" if isinstance(each, StoredResult) else "note_receipt"], asdict(each))
