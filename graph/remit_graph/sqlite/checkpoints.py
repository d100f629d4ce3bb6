"""Checkpoints: images of the whole state, kept in parts.

An image of a large graph is tens of megabytes. Written in one transaction it would keep appends waiting for as long
as the disk needs; so each part is a short transaction of its own, and the image counts from the last one on. What a
process that was killed half-way left behind is removed by the next one that saves.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from remit_graph.errors import ChainBroken, LedgerUnavailable, ModelError
from remit_graph.history import require_later
from remit_graph.sqlite.read import hash_at, read_base
from remit_graph.sqlite.statements import STATEMENTS
from remit_graph.sqlite.transaction import reading
from remit_graph.stored import Checkpoint

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

PART_BYTES: Final = 1 << 20
"""A part takes a few milliseconds to write and sync."""

KEPT: Final = 2
"""Checkpoints kept, so that there is another one should the newest be damaged."""


def parts_of(checkpoint: Checkpoint) -> Sequence[bytes]:
    """Cut an image into parts.

    Raises:
        ModelError: the digest is not the image's.
    """
    if hashlib.sha256(checkpoint.blob).hexdigest() != checkpoint.digest:
        raise ModelError(f"the checkpoint of revision {checkpoint.revision} does not have the digest it names")
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
    stored = hash_at(connection, checkpoint.revision)
    if stored != checkpoint.hash:
        raise ChainBroken(
            f"the log does not have the hash {checkpoint.hash} at revision {checkpoint.revision}",
            revision=checkpoint.revision,
            expected=checkpoint.hash,
            stored=stored,
        )
    kept = connection.execute(STATEMENTS["count_checkpoint_parts"], {"digest": checkpoint.digest}).fetchone()[0]
    if kept != parts:
        raise LedgerUnavailable("another process saved a checkpoint at the same time", advice="save it again")
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
        for revision, digest_of_row, digest, parts in connection.execute(STATEMENTS["checkpoints"]).fetchall():
            blob = _joined(connection, digest, parts)
            if hashlib.sha256(blob).hexdigest() == digest:
                return Checkpoint(revision=revision, hash=digest_of_row, digest=digest, blob=blob)
    return None


def check_checkpoints(connection: sqlite3.Connection) -> list[str]:
    """Return what is wrong with the images, one sentence each."""
    problems: list[str] = []
    for revision, digest_of_row, digest, parts in connection.execute(STATEMENTS["checkpoints"]).fetchall():
        if hashlib.sha256(_joined(connection, digest, parts)).hexdigest() != digest:
            problems.append(f"the checkpoint of revision {revision} is damaged: its bytes do not have its digest")
        if hash_at(connection, revision) != digest_of_row:
            problems.append(f"the checkpoint of revision {revision} is of another log: the hash there is not the same")
    return problems


def read_blob(connection: sqlite3.Connection, revision: int, digest: str) -> bytes | None:
    """Return the image of a revision with this digest, or None where it is not there or damaged."""
    for kept, _, named, parts in connection.execute(STATEMENTS["checkpoints"]).fetchall():
        if (kept, named) == (revision, digest):
            blob = _joined(connection, digest, parts)
            return blob if hashlib.sha256(blob).hexdigest() == digest else None
    return None


def _joined(connection: sqlite3.Connection, digest: str, parts: int) -> bytes:
    found = (
        connection.execute(STATEMENTS["checkpoint_part"], {"digest": digest, "part": part}).fetchone()
        for part in range(parts)
    )
    return b"".join(each[0] for each in found if each is not None)
