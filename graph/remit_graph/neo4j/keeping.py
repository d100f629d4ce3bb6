"""The half of the ledger in Neo4j that keeps images of the state, and what is left where history was cut."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from remit_graph.errors import ChainBroken
from remit_graph.head import State
from remit_graph.history import require_image
from remit_graph.neo4j import base, checkpoints, founding, read, remnants
from remit_graph.refusals import require_state

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from remit_graph.head import Head
    from remit_graph.history import Base, Retention, Swept, Weight
    from remit_graph.neo4j.database import Database
    from remit_graph.stored import Checkpoint, Remains


class Keeping(ABC):
    """Checkpoints and the base of one database; `Neo4jLedger` is the rest."""

    _database: Database
    _realm: str

    @abstractmethod
    async def head(self) -> Head:
        """Return where the ledger stands now; see the port."""

    @abstractmethod
    async def materialised(self) -> None:
        """Return when the graph is where the ledger is; see the port."""

    async def checkpoint(self) -> Checkpoint | None:
        """Return the newest checkpoint that is not damaged, or None."""
        return await checkpoints.newest(self._database)

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint, in parts between which appends go on; see `checkpoints.save`."""
        await checkpoints.save(self._database, self._realm, checkpoint)

    async def base(self) -> Base:
        """Return where history begins; see the port."""
        return await read.read_base(self._database, self._realm)

    async def base_checkpoint(self) -> Checkpoint | None:
        """Return the image of the state at the base; see the port."""
        begins = await self.base()
        while not begins.is_whole:
            try:
                return await checkpoints.of_base(self._database, begins)
            except ChainBroken:
                # An image is read part by part, and goes where history is cut again meanwhile.
                before, begins = begins, await self.base()
                if begins == before:
                    raise
        return None

    async def remains(self) -> AsyncIterator[Remains]:
        """Stream what is left of removed revisions; see the port."""
        async for each in remnants.stream(self._database, (await self.base()).revision):
            yield each

    async def begin_at(self, expected: Head, base: Base, checkpoint: Checkpoint) -> Head:
        """Let an unfinished ledger that is empty begin at a base; see the port."""
        require_state(expected, frozenset({State.UNFINISHED}), self._database.url)
        require_image(base, checkpoint)
        await founding.begin_at(self._database, expected, base, checkpoint)
        return await self.head()

    async def put_remains(self, expected: Head, remains: Sequence[Remains]) -> None:
        """Put what was left of removed revisions into an unfinished ledger; see the port."""
        require_state(expected, frozenset({State.UNFINISHED}), self._database.url)
        await remnants.put(self._database, expected, remains)

    async def weigh(self, revision: int) -> Weight:
        """Return what a cut at `revision` would take out; see the port."""
        return await base.weigh(self._database, revision)

    async def cut(self, checkpoint: Checkpoint, anchored_at: int) -> Base:
        """Let history begin at a checkpoint; see the port."""
        # What is not in the graph yet is brought there from the rows.
        await self.materialised()
        return await base.cut(self._database, self._realm, checkpoint, anchored_at)

    async def sweep(self, retention: Retention) -> Swept:
        """Take some of what was cut off out of the database; see the port."""
        return await base.sweep(self._database, self._realm, retention)
