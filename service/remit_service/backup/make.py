"""Makes a backup of a ledger while it is written to: every revision up to one, byte for byte."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from remit_graph.backup.carry import remains_of, revisions_of
from remit_graph.backup.form import End, Header, header_of
from remit_graph.backup.write import BackupWriter
from remit_graph.errors import ChainBroken, HistoryRemoved
from remit_graph.model.change import verify_rows
from remit_service.backup.state import loaded
from remit_service.replica.loading import beginning_of

if TYPE_CHECKING:
    from pathlib import Path

    from remit_graph.backup.carry import Tell
    from remit_graph.ports import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A backup that was made: what it is of, what is in it, and its size in bytes."""

    header: Header
    end: End
    size: int


async def make_backup(ledger: Ledger, path: Path, tell: Tell) -> Made:
    """Write a backup of `ledger` to `path`, all of it or nothing.

    Raises:
        LedgerError: the ledger cannot be read, is not sound, or (`HistoryRemoved`) was cut meanwhile: make it again.
        OSError: the file cannot be written.
    """
    try:
        return await _made(ledger, path, tell)
    except HistoryRemoved as error:
        raise HistoryRemoved(
            "history was cut while the backup was made, so that there is none",
            advice="make it again",
            base=error.facts.get("base"),
        ) from error


async def _made(ledger: Ledger, path: Path, tell: Tell) -> Made:
    # (1) The state at some revision: the backup ends there, whatever is appended meanwhile.
    _, head, state = await loaded(ledger)
    base, image = await beginning_of(ledger)
    while head.revision < base.anchored_at:
        # It was cut meanwhile: without the row that anchors the image it begins with, a backup could not be put back.
        _, head, state = await loaded(ledger)
        base, image = await beginning_of(ledger)
    header = header_of(head, version("remit"), base)
    with await asyncio.to_thread(BackupWriter, path, header) as writer:
        # (2) Where history was cut: the state that it begins with, and what outlived the rows before.
        if image is not None:
            await asyncio.to_thread(writer.begin, image.blob)
            async for left in remains_of(ledger):
                await asyncio.to_thread(writer.keep, left)
        # (3) Its rows, verified on their way.
        reached, digest = base.revision, base.hash
        async for some in revisions_of(ledger, head.revision, after=base.revision):
            digest = verify_rows((row for each in some for row in each.rows), previous=digest, after=reached)
            reached = some[-1].rows[0].revision
            await asyncio.to_thread(writer.add, some)
            tell(reached)
        if (reached, digest) != (head.revision, head.hash):
            raise ChainBroken(
                f"the log ends at revision {reached} with hash `{digest}`, "
                f"and was at {head.revision} with `{head.hash}` before",
                advice="run `remit store check`",
            )
        # (4) The end; from here on the file is there.
        end = await asyncio.to_thread(writer.finish, state)
    return Made(header=header, end=end, size=writer.size)
