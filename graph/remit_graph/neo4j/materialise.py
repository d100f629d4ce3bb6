"""Runs the waves of a plan inside a transaction of the caller's: the graph changes with the ledger or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.neo4j.database import rows_of
from remit_graph.neo4j.plan import mentions_of
from remit_graph.neo4j.properties import MODULUS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neo4j import AsyncManagedTransaction

    from remit_graph.neo4j.plan import Row, Wave

ALL: Final = 1 << 31
"""More than any list holds: no limit."""


async def materialise(transaction: AsyncManagedTransaction, waves: Iterable[Wave]) -> None:
    """Bring the graph to what `waves` say."""
    for wave in waves:
        # (1) Edges end.
        await end_edges(transaction, wave.edge_ends, limit=ALL)
        # (2) Things end.
        await _run(transaction, "entities_end", wave.entity_ends, modulus=MODULUS)
        # (3) Things are put.
        changed = await _put(transaction, list(wave.entity_puts.values()))
        # (4) Edges begin.
        await _begin(transaction, wave)
        # (5) What refers to what.
        await _refer(transaction, [wave.entity_puts[ref] for ref in changed])


async def end_edges(transaction: AsyncManagedTransaction, rows: list[Row], *, limit: int) -> int:
    """Move at most `limit` of the edges of `rows` into history and return how many were moved."""
    moved = await _run(transaction, "edges_end", rows, modulus=MODULUS, limit=limit)
    return int(moved[0]["ended"]) if moved else 0


async def _put(transaction: AsyncManagedTransaction, rows: list[Row]) -> list[str]:
    answers = await _run(transaction, "entities_put", rows)
    return [ref for answer in answers for ref in answer["changed"]]


async def _begin(transaction: AsyncManagedTransaction, wave: Wave) -> None:
    await _run(transaction, "edges_begin", wave.edge_begins)
    await _run(transaction, "edges_begin_unjoined", wave.unjoined)
    under = [{"position": row["position"], "under": row["under"]} for row in wave.edge_begins if row["under"]]
    await _run(transaction, "edges_under", under)


async def _refer(transaction: AsyncManagedTransaction, rows: list[Row]) -> None:
    await _run(transaction, "entities_mention", mentions_of(rows))
    await _run(transaction, "entities_refer", rows)
    await _run(transaction, "entities_rest", [row for row in rows if row["rests_on"]])


async def _run(transaction: AsyncManagedTransaction, name: str, rows: list[Row], **more: Any) -> list[dict[str, Any]]:
    if not rows:
        return []
    return await rows_of(transaction, name, rows=rows, **more)
