"""Checkpoints: images of the whole state, kept in parts.

An image of a large graph is tens of megabytes. Written in one transaction it would keep appends waiting for as long
as the disk needs; so each part is a short transaction of its own, and the image counts from the last one on. What a
process that was killed half-way left behind is removed by the next one that saves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.history import image_lost, require_later
from remit_graph.images import problems_of, require_intact, require_of_log, require_parts
from remit_graph.sqlite.read import hash_at, read_base
from remit_graph.sqlite.statements import STATEMENTS
from remit_graph.sqlite.transaction import reading
from remit_graph.stored import Checkpoint

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from remit_graph.history import Base

PART_BYTES: Final = 1 << 20
"""A part takes a few milliseconds to write and sync."""

KEPT: Final = 2
"""Checkpoints kept, so that there is another one should the newest be damaged."""


def parts_of(checkpoint: Checkpoint) -> Sequence[bytes]:
    """Cut an image into parts.

    Raises:
        ModelError: the digest is not the image's.
    """
    require_intact(checkpoint)
    return [checkpoint.blob[start : start + PART_BYTES] for start in range(0, len(checkpoint.blob), PART_BYTES)]


def write_part(connection: sqlite3.Connection, checkpoint: Checkpoint, part: int, data: bytes) -> None:
    """Keep one part; an image whose last part is not kept counts for nothing."""
    values = {"digest": checkpoint.digest, "part": part, "data": data}
    connection.execute(STATEMENTS["put_checkpoint_part"], values)


def publish(connection: sqlite3.Connection, checkpoint: Checkpoint, parts: int) -> None:
    """Let an image count whose parts are all here, and the oldest no longer.

    Raises:
        ModelError: history begins at its revision or later.
        ChainBroken: the log has another hash at that revision, or has not reached it.
        LedgerUnavailable: a process that saved at the same time took parts for leftovers.
    """
    require_later(read_base(connection), checkpoint)
    _put(connection, checkpoint, parts)
    connection.execute(STATEMENTS["drop_checkpoints"], {"keep": KEPT, "base": read_base(connection).revision})


def publish_base(connection: sqlite3.Connection, checkpoint: Checkpoint, parts: int) -> None:
    """Let an image count that history is to begin with, and those of before no longer."""
    _put(connection, checkpoint, parts)
    connection.execute(STATEMENTS["drop_checkpoints"], {"keep": KEPT, "base": checkpoint.revision})


def _put(connection: sqlite3.Connection, checkpoint: Checkpoint, parts: int) -> None:
    require_of_log(checkpoint, hash_at(connection, checkpoint.revision))
    kept = connection.execute(STATEMENTS["count_checkpoint_parts"], {"digest": checkpoint.digest}).fetchone()[0]
    require_parts(parts, kept)
    values = {
        "revision": checkpoint.revision,
        "hash": checkpoint.hash,
        "digest": checkpoint.digest,
        "parts": parts,
    }
    connection.execute(STATEMENTS["put_checkpoint"], values)


def drop_part(connection: sqlite3.Connection) -> bool:
    """Remove one part that belongs to no image that counts, and tell whether there was one."""
    return connection.execute(STATEMENTS["drop_checkpoint_part"]).rowcount > 0


def read_newest(connection: sqlite3.Connection) -> Checkpoint | None:
    """Return the newest image whose bytes still have their digest, or None."""
    with reading(connection):
        kept = (_read(connection, *each) for each in connection.execute(STATEMENTS["checkpoints"]).fetchall())
        return next((each for each in kept if each.is_intact), None)


def read_image(connection: sqlite3.Connection, base: Base) -> Checkpoint:
    """Return the image that history begins with.

    Raises:
        ChainBroken: it is not there, or is damaged.
    """
    for row in connection.execute(STATEMENTS["checkpoints"]).fetchall():
        if row[:3] == (base.revision, base.hash, base.digest):
            found = _read(connection, *row)
            if found.is_intact:
                return found
    raise image_lost(base)


def check_checkpoints(connection: sqlite3.Connection) -> list[str]:
    """Return what is wrong with the images after the base, one sentence each."""
    base = read_base(connection)
    kept = [each for each in connection.execute(STATEMENTS["checkpoints"]).fetchall() if each[0] != base.revision]
    return [problem for each in kept for problem in problems_of(_read(connection, *each), hash_at(connection, each[0]))]


def _read(connection: sqlite3.Connection, revision: int, digest_of_row: str, digest: str, parts: int) -> Checkpoint:
    """Return an image that counts, whole or damaged."""
    found = (
        connection.execute(STATEMENTS["checkpoint_part"], {"digest": digest, "part": part}).fetchone()
        for part in range(parts)
    )
    blob = b"".join(each[0] for each in found if each is not None)
    return Checkpoint(revision=revision, hash=digest_of_row, digest=digest, blob=blob)
