"""Runs the waves of a plan inside a transaction of the caller's: the graph changes with the ledger or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.neo4j.database import rows_of
from remit_graph.neo4j.properties import MODULUS
from remit_graph.neo4j.references import DECLARED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neo4j import AsyncManagedTransaction

    from remit_graph.neo4j.edges import Begun, Ended
    from remit_graph.neo4j.plan import Put, Wave
    from remit_graph.neo4j.references import Reference

ALL: Final = 1 << 31
"""More than any list holds: no limit."""

BEGINS: Final = (
    "edges_begin_to_selectors",
    "edges_begin_between_principals",
    "edges_begin_between_resources",
    "edges_begin_unjoined",
)
"""A query for each shape of edge, which saves sending for each edge what is the same for all of them."""


async def materialise(transaction: AsyncManagedTransaction, waves: Iterable[Wave]) -> None:
    """Bring the graph to what `waves` say."""
    for wave in waves:
        # (1) Edges end.
        await end_edges(transaction, wave.edge_ends, limit=ALL)
        # (2) Things end.
        await _run(transaction, "entities_end", wave.entity_ends, modulus=MODULUS)
        # (3) Things are put.
        changed = await _put(transaction, wave.entity_puts)
        # (4) Edges begin.
        await _begin(transaction, wave.edge_begins)
        # (5) What refers to what.
        await _refer(transaction, changed)


async def end_edges(transaction: AsyncManagedTransaction, ends: Sequence[Ended], *, limit: int) -> int:
    """Move at most `limit` of the edges into history and return how many were moved."""
    rows = [[each.facts, each.digest, each.edges] for each in ends]
    moved = await _run(transaction, "edges_end", rows, modulus=MODULUS, limit=limit)
    return int(moved[0]["ended"]) if moved else 0


async def _put(transaction: AsyncManagedTransaction, puts: dict[str, Put]) -> list[Put]:
    """Put things and return those that refer to others than before."""
    rows = [[each.thing.label, each.properties] for each in puts.values()]
    answers = await _run(transaction, "entities_put", rows)
    return [puts[ref] for answer in answers for ref in answer["changed"]]


async def _begin(transaction: AsyncManagedTransaction, edges: Sequence[Begun]) -> None:
    for query in BEGINS:
        rows = [[each.label, each.properties] for each in edges if each.query == query]
        await _run(transaction, query, rows)
    under = [each.properties for each in edges if isinstance(each.properties.get("under"), str)]
    await _run(transaction, "edges_under", [[each["position"], each["under"]] for each in under])


async def _refer(transaction: AsyncManagedTransaction, puts: Sequence[Put]) -> None:
    rows = [
        [
            put.thing.ref,
            [_reference(each) for each in put.references],
            [[each["position"], each["ordinal"], each["member"]] for each in put.rests_on],
        ]
        for put in puts
    ]
    await _run(transaction, "entities_refer", rows)


def _reference(each: Reference) -> list[Any]:
    """Return how a reference is found, and how its node is made if it may be made by being named."""
    found = [each["type"], each["member"], each["ref"]]
    return [*found, each["label"], each["identity"]] if each["noun"] in DECLARED else found


async def _run(
    transaction: AsyncManagedTransaction, name: str, rows: Sequence[Any], **more: Any
) -> list[dict[str, Any]]:
    if not rows:
        return []
    return await rows_of(transaction, name, rows=rows, **more)
