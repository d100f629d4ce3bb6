"""The half of the embedded ledger that keeps images of the state, and what is left where history was cut."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from remit_graph.head import State
from remit_graph.history import require_image
from remit_graph.refusals import require_state
from remit_graph.sqlite import base, checkpoints, read, remnants

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from remit_graph.head import Head
    from remit_graph.history import Base, Retention, Swept, Weight
    from remit_graph.sqlite.lane import Lane
    from remit_graph.sqlite.options import SqliteOptions
    from remit_graph.stored import Checkpoint, Remains

T = TypeVar("T")


class Keeping(ABC):
    """Checkpoints and the base of one SQLite file; `SqliteLedger` is the rest."""

    _path: Path
    _options: SqliteOptions
    _readers: Lane

    @abstractmethod
    async def head(self) -> Head:
        """Return where the ledger stands now; see the port."""

    @abstractmethod
    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T: ...

    async def checkpoint(self) -> Checkpoint | None:
        """Return the newest checkpoint that is not damaged, or None."""
        return await self._readers.run(checkpoints.read_newest)

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint, in parts between which appends go on.

        Raises:
            ModelError: its digest is not its blob's, or history begins there or later.
            ChainBroken: the log has another hash at its revision.
            LedgerUnavailable: as the port says.
        """
        parts = await self._save_parts(checkpoint)
        await self._write(partial(checkpoints.publish, checkpoint=checkpoint, parts=parts))
        await self._drop_parts()

    async def _save_parts(self, checkpoint: Checkpoint) -> int:
        parts = checkpoints.parts_of(checkpoint)
        for number, data in enumerate(parts):
            await self._write(partial(checkpoints.write_part, checkpoint=checkpoint, part=number, data=data))
        return len(parts)

    async def _drop_parts(self) -> None:
        while await self._write(checkpoints.drop_part):
            pass

    async def base(self) -> Base:
        """Return where history begins; see the port."""
        return await self._readers.run(read.read_base)

    async def base_checkpoint(self) -> Checkpoint | None:
        """Return the image of the state at the base; see the port."""
        return await self._readers.run(base.read_base_checkpoint)

    async def remains(self) -> AsyncIterator[Remains]:
        """Stream what is left of removed revisions; see the port."""
        after = ""
        while answers := await self._readers.run(partial(remnants.read_answers, after=after)):
            for answer in answers:
                yield answer
            after = answers[-1].request_id
        after = ""
        while receipts := await self._readers.run(partial(remnants.read_receipts, after=after)):
            for receipt in receipts:
                yield receipt
            after = receipts[-1].receipt_id

    async def begin_at(self, expected: Head, base: Base, checkpoint: Checkpoint) -> Head:
        """Let an unfinished ledger that is empty begin at a base; see the port."""
        require_state(expected, frozenset({State.UNFINISHED}), str(self._path))
        require_image(base, checkpoint)
        edges = await asyncio.to_thread(remnants.edges_in, checkpoint)
        parts = await self._save_parts(checkpoint)

        def begin(connection: sqlite3.Connection) -> None:
            remnants.begin_at(connection, expected, base, edges, self._path)
            checkpoints.publish_base(connection, checkpoint, parts)

        await self._write(begin)
        return await self.head()

    async def put_remains(self, expected: Head, remains: Sequence[Remains]) -> None:
        """Put what was left of removed revisions into an unfinished ledger; see the port."""
        require_state(expected, frozenset({State.UNFINISHED}), str(self._path))
        await self._write(lambda connection: remnants.put(connection, expected, remains))

    async def weigh(self, revision: int) -> Weight:
        """Return what a cut at `revision` would take out; see the port."""
        return await self._readers.run(lambda connection: base.weigh(connection, revision))

    async def cut(self, checkpoint: Checkpoint, anchored_at: int) -> Base:
        """Let history begin at a checkpoint; see the port."""
        parts = await self._save_parts(checkpoint)
        await self._write(partial(base.cut, checkpoint=checkpoint, anchored_at=anchored_at, parts=parts))
        await self._drop_parts()
        return await self.base()

    async def sweep(self, retention: Retention) -> Swept:
        """Take some of what was cut off out of the file; see the port."""
        now = self._options.clock()
        return await self._write(lambda connection: base.sweep(connection, retention, now))
