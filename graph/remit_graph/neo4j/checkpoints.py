"""Checkpoints: images of the whole state, kept in parts.

An image of a large graph is tens of megabytes, more than one transaction should hold. Each part is a transaction of its
own, and the image counts from the last one on, which is checked against the log. What a process that was killed
half-way left behind is removed by the next one that saves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.history import image_lost, require_later
from remit_graph.images import problems_of, require_intact, require_of_log, require_parts
from remit_graph.neo4j.database import rows_of
from remit_graph.neo4j.place import last_place
from remit_graph.neo4j.read import base_in
from remit_graph.stored import Checkpoint

if TYPE_CHECKING:
    from neo4j import AsyncManagedTransaction

    from remit_graph.history import Base
    from remit_graph.neo4j.database import Database

PART_BYTES: Final = 1 << 18
"""A part takes a few milliseconds to write."""

KEPT: Final = 2
"""Checkpoints kept, so that there is another one should the newest be damaged."""


async def save(database: Database, realm: str, checkpoint: Checkpoint) -> None:
    """Keep a checkpoint.

    Raises:
        ModelError: its digest is not its blob's, or history begins there or later.
        ChainBroken: the log has another hash at its revision, or has not reached it.
        LedgerUnavailable: another process saved at the same time and took parts for leftovers.
    """
    parts = await save_parts(database, checkpoint)

    async def work(transaction: AsyncManagedTransaction) -> None:
        base = await base_in(transaction, database, realm)
        require_later(base, checkpoint)
        await put(transaction, checkpoint, parts, base=base)
        await rows_of(transaction, "drop_checkpoints", keep=KEPT, base=base.revision)

    await database.write(work)
    await drop_parts(database)


async def save_parts(database: Database, checkpoint: Checkpoint) -> int:
    """Keep the parts of an image, which counts for nothing yet, and return how many they are.

    Raises:
        ModelError: the digest is not the image's.
    """
    require_intact(checkpoint)
    starts = range(0, len(checkpoint.blob), PART_BYTES)
    for number, start in enumerate(starts):
        await _write(
            database,
            "put_checkpoint_part",
            name=f"{checkpoint.digest}/{number}",
            digest=checkpoint.digest,
            part=number,
            data=checkpoint.blob[start : start + PART_BYTES],
        )
    return len(starts)


async def drop_parts(database: Database) -> None:
    """Remove the parts of images that do not count."""
    while (await _write(database, "drop_checkpoint_parts"))[0]["dropped"]:
        pass


async def put(transaction: AsyncManagedTransaction, checkpoint: Checkpoint, parts: int, *, base: Base) -> None:
    """Let an image count whose parts are all here.

    Raises:
        ChainBroken: the log has another hash at its revision, or has not reached it.
        LedgerUnavailable: another process saved at the same time and took parts for leftovers.
    """
    found = await rows_of(transaction, "last_row", last_place=last_place(checkpoint.revision))
    require_of_log(checkpoint, _hash_at(checkpoint.revision, found, base))
    kept = await rows_of(transaction, "count_checkpoint_parts", digest=checkpoint.digest)
    require_parts(parts, kept[0]["parts"])
    values = {"revision": checkpoint.revision, "hash": checkpoint.hash, "digest": checkpoint.digest}
    await rows_of(transaction, "put_checkpoint", **values, parts=parts)


def _hash_at(revision: int, found: list[dict[str, Any]], base: Base) -> str | None:
    """Return the hash of the last row of a revision, or None where the log does not have it."""
    if revision == base.revision:
        return base.hash
    return found[0]["hash"] if found and found[0]["revision"] == revision > base.revision else None


async def of_base(database: Database, base: Base) -> Checkpoint:
    """Return the image that history begins with.

    Raises:
        ChainBroken: it is not there, or is damaged.
    """
    for row in await database.read("checkpoints"):
        if (row["revision"], row["hash"], row["digest"]) == (base.revision, base.hash, base.digest):
            found = await _read(database, row)
            if found.is_intact:
                return found
    raise image_lost(base)


async def newest(database: Database) -> Checkpoint | None:
    """Return the newest checkpoint whose bytes still have their digest, or None."""
    for row in await database.read("checkpoints"):
        found = await _read(database, row)
        if found.is_intact:
            return found
    return None


async def problems(database: Database, base: Base) -> list[str]:
    """Return what is wrong with the images after the base, one sentence each."""
    found: list[str] = []
    for row in await database.read("checkpoints"):
        if row["revision"] != base.revision:
            last = await database.read("last_row", last_place=last_place(row["revision"]))
            found += problems_of(await _read(database, row), _hash_at(row["revision"], last, base))
    return found


async def _read(database: Database, row: dict[str, Any]) -> Checkpoint:
    """Return an image that counts, whole or damaged."""
    names = [f"{row['digest']}/{number}" for number in range(row["parts"])]
    parts = [await database.read("checkpoint_part", name=name) for name in names]
    blob = b"".join(each[0]["data"] for each in parts if each)
    return Checkpoint(revision=row["revision"], hash=row["hash"], digest=row["digest"], blob=blob)


async def _write(database: Database, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
    async def work(transaction: AsyncManagedTransaction) -> list[dict[str, Any]]:
        return await rows_of(transaction, name, **parameters)

    return await database.write(work)
