"""How a view comes from a ledger: the newest checkpoint, and the changes after it; or every change there is.

A checkpoint counts only if its digest stands in the hash chain, as an `anchor` among the changes after it. So nobody
who can write a checkpoint, and nothing else, can say what the graph is. One that does not count costs time and nothing
else: the ledger is then read from its first row on, or from the base where its history was cut (`remit_graph.history`).

A load may take a minute, and never keeps the event loop for longer than a slice (`slices`), so that health is answered.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import structlog

from remit_graph import history
from remit_graph.errors import HistoryRemoved, LedgerError, LedgerUnavailable, ModelError, SchemaTooNew
from remit_graph.history import require_anchored
from remit_graph.view.apply import applying
from remit_graph.view.image import lines_of
from remit_graph.view.image_read import Restoring
from remit_graph.view.state import View
from remit_service.slices import Pause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from remit_graph.head import Head
    from remit_graph.history import Base
    from remit_graph.model.change import Change, Entry
    from remit_graph.ports import Ledger
    from remit_graph.stored import Checkpoint

CHUNK: Final = 2_000
"""Revisions read at once."""

FREEZE_FROM: Final = 100_000
"""Objects that make a collection longer than a decision may wait."""

CUTS: Final = 3
"""How often a load begins again because history was cut meanwhile; each cut is a load of its own for whoever cuts."""

CHECKPOINT: Final = "checkpoint"
"""What an anchor is of, if it is of an image of the state."""

_log = structlog.get_logger(__name__)


def anchor_of(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the body of the `anchor` that lets a checkpoint count."""
    return history.anchor_of(CHECKPOINT, checkpoint)


def anchored_revision(change: Change) -> int | None:
    """Return the revision of the checkpoint that a change anchors, or None if it anchors none."""
    body: Mapping[str, Any] = change.body
    if change.kind != "anchor" or body.get("of") != CHECKPOINT:
        return None
    return int(body["revision"])


@dataclass(frozen=True, slots=True)
class Loaded:
    """A view, and how many rows had to be applied for it beside a checkpoint."""

    view: View
    rows: int


async def load_view(ledger: Ledger, head: Head) -> Loaded:
    """Return the view at `head`.

    Raises:
        LedgerError: the ledger cannot be read, or holds what this program does not know.
    """
    for _ in range(CUTS):
        try:
            return await _loaded(ledger, head)
        except HistoryRemoved:
            # Another process cut the history meanwhile: it begins elsewhere now.
            _log.info("history was cut while it was loaded")
    return await _loaded(ledger, head)


async def _loaded(ledger: Ledger, head: Head) -> Loaded:
    with without_collections():
        view, entries = await from_checkpoint(ledger, head.revision)
        rows = await take(view, entries)
        while view.revision < head.revision:
            rows += await take(view, await read_some(ledger, view.revision))
    return Loaded(view, rows)


async def read_some(ledger: Ledger, after: int, limit: int = CHUNK) -> Sequence[Entry]:
    """Return some revisions after one that is not the last.

    Raises:
        LedgerUnavailable: there are none, though the head said so.
        LedgerError: as the port says.
    """
    entries = await ledger.read(after, limit)
    if not entries:
        raise LedgerUnavailable(
            f"the ledger ends at revision {after}, before the head it had", advice="run `remit store check`"
        )
    return entries


@contextmanager
def without_collections() -> Iterator[None]:
    """Let the block make many objects that stay: looking for garbage among them would double its time.

    Where they are many, what is there at the end is never looked at again (rules.md 11).
    """
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
        # The first number counts what was made since the last collection, so since the block began.
        if gc.get_count()[0] > FREEZE_FROM:
            gc.freeze()
    finally:
        if enabled:
            gc.enable()


async def from_checkpoint(
    ledger: Ledger, last: int, *, fits: Callable[[Checkpoint, Entry], bool] = lambda _checkpoint, _next: True
) -> tuple[View, Sequence[Entry]]:
    """Return the view of the newest checkpoint and entries that follow it, or that of the base and nothing.

    Where history is whole, the base is an empty view.

    Args:
        ledger: Where.
        last: The last revision of the ledger.
        fits: Whether a checkpoint will do, judged by it and by the entry after it; the base is not asked about.
    """
    checkpoint = await ledger.checkpoint()
    if checkpoint is None or not (await ledger.base()).revision < checkpoint.revision < last:
        return await from_base(ledger), []
    entries = await _up_to_anchor(ledger, checkpoint, last)
    if entries is None:
        _log.warning("checkpoint without anchor", revision=checkpoint.revision, digest=checkpoint.digest)
        return await from_base(ledger), []
    if not fits(checkpoint, entries[0]):
        return await from_base(ledger), []
    try:
        view = await _restored(checkpoint)
    except ModelError as error:
        _log.warning("checkpoint cannot be used", revision=checkpoint.revision, reason=error.message)
        return await from_base(ledger), []
    return view, entries


async def from_base(ledger: Ledger) -> View:
    """Return the view that history begins with: an empty one, or that of the image it was cut at.

    Raises:
        ChainBroken: the image is damaged, or the chain does not hold its digest.
        LedgerUnavailable: it is of a form that this program does not read.
    """
    base, checkpoint = await beginning_of(ledger)
    if checkpoint is None:
        return View()
    anchors = await ledger.read(base.anchored_at - 1, 1)
    require_anchored(anchors, revision=checkpoint.revision, digest_of_row=checkpoint.hash, digest=checkpoint.digest)
    try:
        return await _restored(checkpoint)
    except ModelError as error:
        raise LedgerUnavailable(
            f"the state that history begins with, at revision {base.revision}, cannot be read: {error.message}",
            advice="use the version of Remit that cut the history, or a later one that reads its images",
        ) from error


async def beginning_of(ledger: Ledger) -> tuple[Base, Checkpoint | None]:
    """Return where history begins, and the image of the state there.

    Raises:
        ChainBroken: the image is damaged.
    """
    while True:
        base, checkpoint = await ledger.base(), await ledger.base_checkpoint()
        # Unless another process cut it between the two.
        if base.revision == (0 if checkpoint is None else checkpoint.revision):
            return base, checkpoint


async def _up_to_anchor(ledger: Ledger, checkpoint: Checkpoint, last: int) -> list[Entry] | None:
    """Return the entries after a checkpoint, up to one that anchors it and maybe further; None if none does."""
    entries: list[Entry] = []
    reached = checkpoint.revision
    while reached < last:
        some = await read_some(ledger, reached)
        entries.extend(some)
        if any(_anchors(each, checkpoint) for each in some):
            return entries
        reached = some[-1].revision
    return None


def _anchors(entry: Entry, checkpoint: Checkpoint) -> bool:
    return any(change.kind == "anchor" and change.body == anchor_of(checkpoint) for change in entry.changes)


async def _restored(checkpoint: Checkpoint) -> View:
    restoring = Restoring()
    pause = Pause()
    for line in lines_of(checkpoint.blob):
        restoring.feed(line)
        await pause()
    view = restoring.view()
    if (view.revision, view.hash) != (checkpoint.revision, checkpoint.hash):
        raise ModelError(f"the image is of revision {view.revision}, the checkpoint of {checkpoint.revision}")
    return view


async def take(view: View, entries: Iterable[Entry]) -> int:
    """Apply the entries that follow a view which nobody reads yet; return how many rows they have.

    Raises:
        SchemaTooNew: one is of a later version.
        LedgerError: one cannot be applied.
    """
    pause = Pause()
    rows = 0
    for entry in entries:
        try:
            for _ in applying(view, entry):
                await pause()
        except SchemaTooNew:
            raise
        except Exception as error:
            raise malformed(entry, error) from error
        rows += len(entry.changes) + 1
        await pause()
    return rows


def malformed(entry: Entry, error: Exception) -> LedgerError:
    """Return the error for an entry that cannot be applied: it is never passed over (rules.md 2)."""
    return LedgerError(
        f"revision {entry.revision} cannot be applied: {error!r}",
        advice="run `remit store check`; a backup from before that revision can be restored",
        revision=entry.revision,
    )
