"""Where history begins, and taking out what was cut off; each function runs inside a transaction of the caller's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import LedgerError, ModelError
from remit_graph.history import Swept, Weight, require_anchored, require_later
from remit_graph.sqlite.base_edges import edges_unlike_the_image
from remit_graph.sqlite.checkpoints import publish_base, read_image
from remit_graph.sqlite.read import read_base, read_entries_in, read_page_in
from remit_graph.sqlite.shrink import shrink
from remit_graph.sqlite.statements import STATEMENTS
from remit_graph.sqlite.transaction import reading

if TYPE_CHECKING:
    import sqlite3

    from remit_graph.history import Retention
    from remit_graph.model.instant import Instant
    from remit_graph.stored import Checkpoint

ROWS: Final = 2_000
"""Rows that one sweep takes out: some 20 ms in which nobody else can write."""


def weigh(connection: sqlite3.Connection, revision: int) -> Weight:
    """Return what a cut at `revision` would take out."""
    rows, size = connection.execute(STATEMENTS["weigh"], {"revision": revision}).fetchone()
    return Weight(rows=rows, size=size)


def cut(connection: sqlite3.Connection, checkpoint: Checkpoint, anchored_at: int, parts: int) -> None:
    """Let history begin at a checkpoint whose parts are here.

    Raises:
        ModelError, ChainBroken, LedgerUnavailable: as the port says.
    """
    before = read_base(connection)
    require_later(before, checkpoint)
    found = read_entries_in(connection, anchored_at - 1, 1) if anchored_at > checkpoint.revision else []
    require_anchored(found, revision=checkpoint.revision, digest_of_row=checkpoint.hash, digest=checkpoint.digest)
    publish_base(connection, checkpoint, parts)
    at = read_entries_in(connection, checkpoint.revision - 1, 1)[0].at
    first = before.first or read_page_in(connection, before.revision + 1, -1, before.revision + 1)[0].hash
    values = {
        "revision": checkpoint.revision,
        "hash": checkpoint.hash,
        "at": at,
        "digest": checkpoint.digest,
        "anchored_at": anchored_at,
        "first": first,
    }
    connection.execute(STATEMENTS["set_base"], values)


def read_base_checkpoint(connection: sqlite3.Connection) -> Checkpoint | None:
    """Return the image that history begins with, or None where it is whole.

    Raises:
        ChainBroken: it is not there, or is damaged.
    """
    with reading(connection):
        return _base_checkpoint(connection)


def _base_checkpoint(connection: sqlite3.Connection) -> Checkpoint | None:
    base = read_base(connection)
    return None if base.is_whole else read_image(connection, base)


def check_base(connection: sqlite3.Connection) -> list[str]:
    """Return what is wrong with where history begins, one sentence each."""
    with reading(connection):
        base = read_base(connection)
        if base.is_whole:
            return []
        try:
            image = _base_checkpoint(connection)
            found = read_entries_in(connection, base.anchored_at - 1, 1)
            require_anchored(found, revision=base.revision, digest_of_row=base.hash, digest=base.digest)
            return [] if image is None else edges_unlike_the_image(connection, image)
        except (LedgerError, ModelError) as error:
            return [error.message]


def sweep(connection: sqlite3.Connection, retention: Retention, now: Instant) -> Swept:
    """Take some rows out that were cut off; where none is left, answers whose time is over, then free pages."""
    rows = connection.execute(STATEMENTS["rows_to_sweep"], {"limit": ROWS}).fetchall()
    if not rows:
        dropped = connection.execute(STATEMENTS["drop_answers"], {"now": now, "limit": ROWS}).rowcount
        return Swept(rows=0, answers=dropped, is_done=dropped < ROWS and not shrink(connection))
    answers = sum(_let_go(connection, revision, body, retention, now) for revision, _, body in rows if body is not None)
    revision, seq, _ = rows[-1]
    connection.execute(STATEMENTS["drop_rows"], {"revision": revision, "seq": seq})
    return Swept(rows=len(rows), answers=answers, is_done=False)


def _let_go(connection: sqlite3.Connection, revision: int, body: str, retention: Retention, now: Instant) -> int:
    """Forget the answer to a command whose row goes, or note until when it stays; returns how many were forgotten."""
    command: dict[str, Any] = json.loads(body)
    until = retention.until(command)
    if until is None:
        return 0
    values = {"request_id": command["request_id"], "revision": revision}
    if until > now:
        connection.execute(STATEMENTS["keep_answer_until"], {**values, "until": until})
        return 0
    return connection.execute(STATEMENTS["drop_answer"], values).rowcount
