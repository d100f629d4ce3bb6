"""Checkpoints: an image of the view, anchored in the chain and kept in the store, so that a start is quick.

Decisions and commands go on meanwhile. The tables of the view are copied in one go, then the image is made in slices,
each followed by a rest as long as itself; compression happens in a thread.

The anchor is appended before the image is kept: an image that is there is anchored, and a process that is killed in
between leaves an anchor of nothing, which harms nobody.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Final

from remit_graph.model.change import Change
from remit_graph.stored import Checkpoint
from remit_graph.view.image import compressor
from remit_graph.view.image_write import Snapshot
from remit_service.opening import SYSTEM
from remit_service.replica.loading import anchor_of
from remit_service.writer.command import Accepted, Submission

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from remit_service.replica.replica import Replica
    from remit_service.writer.command import Done

    Submit = Callable[[Submission], Awaitable[Done]]

SLICE_SECONDS: Final = 0.002
"""How long decisions wait at most for an image that is being made."""

PIECE_BYTES: Final = 1 << 20
"""Lines are compressed in pieces of this size: large enough that handing one over costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A checkpoint that was made.

    Attributes:
        revision: Of the state it holds.
        anchored_at: The revision of its anchor.
        size: Bytes.
        edges: Current edges in it.
        seconds: How long it took.
    """

    revision: int
    anchored_at: int
    digest: str
    size: int
    edges: int
    seconds: float


async def keep_checkpoint(replica: Replica, submit: Submit) -> Kept:
    """Make a checkpoint of the view as it is now, anchor it, and keep it in the store.

    Raises:
        LedgerError: it could not be anchored or kept.
    """
    started = perf_counter()
    # (1) Copy the tables; nothing is awaited between here and the revision they are of.
    snapshot = Snapshot(replica.view)
    # (2) Make the image.
    checkpoint = await checkpoint_of(snapshot)
    # (3) Anchor it.
    verdict = Accepted(changes=(Change("anchor", anchor_of(checkpoint)),), result={"digest": checkpoint.digest})
    done = await submit(
        Submission(action="CHECKPOINT", actor=SYSTEM, decide=lambda _view, _at: verdict, reason="checkpoint")
    )
    # (4) Keep it.
    await replica.ledger.save_checkpoint(checkpoint)
    return Kept(
        revision=checkpoint.revision,
        anchored_at=done.revision,
        digest=checkpoint.digest,
        size=len(checkpoint.blob),
        edges=snapshot.edges,
        seconds=perf_counter() - started,
    )


async def checkpoint_of(snapshot: Snapshot) -> Checkpoint:
    """Return the checkpoint of a view, made in slices between which others work."""
    blob = await _image(snapshot)
    digest = await asyncio.to_thread(lambda: hashlib.sha256(blob).hexdigest())
    return Checkpoint(revision=snapshot.revision, hash=snapshot.hash, digest=digest, blob=blob)


async def _image(snapshot: Snapshot) -> bytes:
    stream = compressor()
    pieces: list[bytes] = []
    lines: list[bytes] = []
    waiting = 0
    since = perf_counter()
    for line in snapshot.lines():
        lines.append(line)
        waiting += len(line)
        if waiting >= PIECE_BYTES:
            pieces.append(await asyncio.to_thread(stream.compress, b"".join(lines)))
            lines, waiting, since = [], 0, perf_counter()
        elif (worked := perf_counter() - since) >= SLICE_SECONDS:
            await asyncio.sleep(worked)
            since = perf_counter()
    pieces.append(await asyncio.to_thread(stream.compress, b"".join(lines)))
    return b"".join([*pieces, stream.flush()])
