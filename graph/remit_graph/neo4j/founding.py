"""Lets an unfinished ledger begin at the base of another one: the graph is made of the image instead of rows.

The rows that made it are gone, so what they would have said is kept as `(:Kept)`, as a cut leaves it behind. What the
image does not hold is not in the graph either: versions of edges that ended long ago, things that ended.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice, zip_longest
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import Change, canonical
from remit_graph.neo4j import checkpoints
from remit_graph.neo4j.database import rows_of
from remit_graph.neo4j.materialise import materialise
from remit_graph.neo4j.past import ref_of
from remit_graph.neo4j.place import first_place, last_place
from remit_graph.neo4j.plan import Step, plan
from remit_graph.neo4j.remnants import require_head
from remit_graph.view.image import edges_of, puts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neo4j import AsyncManagedTransaction

    from remit_graph.head import Head
    from remit_graph.history import Base
    from remit_graph.model.edge import Edge
    from remit_graph.neo4j.database import Database
    from remit_graph.stored import Checkpoint

SOME: Final = 500
"""Things or edges that one transaction makes."""

Row = dict[str, Any]


async def begin_at(database: Database, expected: Head, base: Base, checkpoint: Checkpoint) -> None:
    """Let an empty ledger begin at a base.

    Raises:
        HeadMoved, ForeignStore: it is not empty.
        ModelError: the image cannot be read.
    """
    # (1) The graph, and what says how it must be.
    puts = puts_of(checkpoint.blob)
    while some := list(islice(puts, SOME)):
        steps = [Step(base.revision, base.at, each) for each in some]
        named = ((each, ref_of(each.kind, each.body)) for each in some)
        await _make(
            database, expected, steps, [_row(each, base, base.revision, ref) for each, ref in named if ref is not None]
        )
    for edges in _rounds(checkpoint.blob):
        for start in range(0, len(edges), SOME):
            part = edges[start : start + SOME]
            kept = [_row(Change("edge.begin", each.record()), base, each.revision_from, "edge") for each in part]
            await _make(database, expected, list(_steps_of(part)), kept)
    # (2) The image, and the head.
    parts = await checkpoints.save_parts(database, checkpoint)

    async def work(transaction: AsyncManagedTransaction) -> None:
        await require_head(transaction, database, expected)
        await checkpoints.put(transaction, checkpoint, parts, base=base)
        values = {"revision": base.revision, "hash": base.hash, "at": base.at, "digest": base.digest}
        values |= {"anchored_at": base.anchored_at, "first": base.first, "place": last_place(base.revision)}
        await rows_of(transaction, "begin_at", realm=expected.realm, **values)

    await database.write(work)


def _rounds(blob: bytes) -> list[list[Edge]]:
    """Return versions of edges so that no two of one edge are together: those that ended oldest first, then current."""
    current: list[Edge] = []
    ended: defaultdict[str, list[Edge]] = defaultdict(list)
    for some in edges_of(blob):
        for each in some:
            (current if each.revision_to is None else ended[each.edge_id]).append(each)
    rounds = zip_longest(*(sorted(each, key=attrgetter("version")) for each in ended.values()))
    return [*([each for each in some if each is not None] for some in rounds), current]


async def _make(database: Database, expected: Head, steps: list[Step], kept: list[Row]) -> None:
    async def work(transaction: AsyncManagedTransaction) -> None:
        await require_head(transaction, database, expected)
        await materialise(transaction, plan(steps))
        await rows_of(transaction, "put_kept", rows=kept)

    await database.write(work)


def _steps_of(edges: list[Edge]) -> Iterator[Step]:
    """Yield what begins these versions of edges, and ends those that ended."""
    for each in edges:
        yield Step(each.revision_from, 0, Change("edge.begin", each.record()))
    for each in edges:
        if each.revision_to is not None:
            body = {"edges": [[each.edge_id, each.version]], "cause": each.ended_by}
            yield Step(each.revision_to, each.ended_at or 0, Change("edges.end", body))


def _row(change: Change, base: Base, revision: int, ref: str) -> Row:
    body = canonical({"kind": change.kind, "body": change.body, "at": base.at, "revision": revision})
    return {"place": first_place(base.revision), "revision": revision, "kind": change.kind, "body": body, "ref": ref}
