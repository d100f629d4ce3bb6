"""Brings the graph to where the ledger is, when an append did not do it itself.

An append that would change more than a few thousand elements adds its rows only; from then on every append does, until
the graph has caught up here. It is a replay in the order of the rows, so nothing is overtaken. Each chunk is one
transaction under the head's lock that also notes how far it came: a process that is killed in between leaves the rest
to the next one, and two that work at it at once take turns.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import LedgerError
from remit_graph.model.change import Change
from remit_graph.neo4j.database import rows_of
from remit_graph.neo4j.lock import lock_head
from remit_graph.neo4j.materialise import end_edges, materialise
from remit_graph.neo4j.place import last_place, revision_of
from remit_graph.neo4j.plan import Step, plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neo4j import AsyncManagedTransaction

    from remit_graph.neo4j.database import Database
    from remit_graph.neo4j.plan import Wave

CHUNK: Final = 500
"""Elements that one transaction changes; appends wait that long, a tenth of a second."""

ROWS: Final = 1_000
"""Rows that one transaction reads, of which it takes as many as make a chunk."""

RETRY_SECONDS: Final = 1.0
"""Pause after a failure; the backlog stays until the database is well again."""

Found = dict[str, Any]


class Backlog:
    """Keeps the graph of one ledger at its head, in the background."""

    def __init__(self, database: Database, realm: str) -> None:
        self._database = database
        self._realm = realm
        self._running: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Begin to work it off, unless that is under way."""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._work_off())

    async def done(self) -> None:
        """Return when the graph is where the ledger was when this was called, or later."""
        while await advance(self._database, self._realm):
            pass

    async def aclose(self) -> None:
        """Stop after the chunk that is under way."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _work_off(self) -> None:
        while True:
            try:
                if not await advance(self._database, self._realm):
                    return
            except LedgerError:
                await asyncio.sleep(RETRY_SECONDS)


async def advance(database: Database, realm: str) -> bool:
    """Bring the graph on by one chunk and tell whether there is more.

    Raises:
        LedgerUnavailable, ForeignStore.
    """

    async def work(transaction: AsyncManagedTransaction) -> bool:
        head = await lock_head(transaction, database, realm)
        if head["materialised_revision"] == head["revision"]:
            return False
        span = {"first_place": head["materialised_place"] + 1, "last_place": last_place(head["revision"])}
        rows = await rows_of(transaction, "page_of_rows", **span, limit=ROWS)
        if not rows:
            # The last page was full to the row, so it could not be seen that its last revision was whole.
            place, revision = head["materialised_place"], int(head["revision"])
        else:
            place, revision = await _apply(transaction, rows, head["revision"])
        if place:
            await rows_of(transaction, "note_materialised", realm=realm, place=place, revision=revision)
        return revision < int(head["revision"])

    return await database.write(work)


async def _apply(transaction: AsyncManagedTransaction, rows: Sequence[Found], head: int) -> tuple[int, int]:
    """Apply as many of `rows` as make a chunk; return the place reached (0 for none) and the last whole revision."""
    taken, waves = _chunk(rows)
    if len(waves) == 1 and waves[0].size > CHUNK:
        # One row may end more edges than a chunk. Those that ended are not found again, so it is simply repeated.
        if await end_edges(transaction, waves[0].edge_ends, limit=CHUNK) == CHUNK:
            return 0, rows[0]["revision"] - 1
    else:
        await materialise(transaction, waves)
    if taken < len(rows):
        return rows[taken - 1]["place"], rows[taken]["revision"] - 1
    reached = rows[-1]["place"]
    return reached, head if len(rows) < ROWS else revision_of(reached) - 1


def _chunk(rows: Sequence[Found]) -> tuple[int, list[Wave]]:
    """Return how many rows make a chunk, at least one, and their plan."""
    steps: list[Step] = []
    size = 0
    for index, row in enumerate(rows):
        step = _step(row)
        added = _size(step.change)
        if size and size + added > CHUNK:
            return index, plan(steps)
        steps.append(step)
        size += added
    return len(rows), plan(steps)


def _size(change: Change) -> int:
    if change.kind == "edges.end":
        return change.edges_ended
    return 0 if change.kind == "command" else 1


def _step(row: Found) -> Step:
    document = json.loads(row["body"])
    return Step(row["revision"], document["at"], Change(document["kind"], document.get("body", {})))
