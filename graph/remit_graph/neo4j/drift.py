"""The quick check: does the graph still have as many elements of each kind as the ledger made, with these digests?

The ledger keeps, for each type of relationship and each label, a count and the sum of the digests (`:Part`), changed
in the transaction that changes the elements. Here the same is counted in the graph. Whatever was added or deleted by
other means shows as a difference; what was only edited keeps the digest it carries, and is for `findings` to find,
which computes every digest anew.

No lock is taken. Appends go on meanwhile, so a kind whose count moved while it was counted is looked at again, and a
difference counts only if it is there twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.drift import PartDrift
from remit_graph.neo4j.properties import MODULUS
from remit_graph.neo4j.unknown import unknown_edges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.neo4j.database import Database

ROUNDS: Final = 4
"""Counts that are made at most; two are enough where nothing is appended."""

LOG: Final = "Change"
"""The label of the rows of the log; which of them are wrong, the hash chain tells."""

BESIDE: Final = "nodes beside the ledger"
"""The name under which nodes that no part counts are reported."""

UNKNOWN: Final = "relationships of unknown types"
"""The name under which relationships between the ledger's nodes are reported that no type of the model has."""

Total = tuple[int, int]


async def quick(database: Database) -> Sequence[PartDrift]:
    """Return the kinds of elements that differ, without looking at single ones."""
    suspected: dict[str, PartDrift] = {}
    for _ in range(ROUNDS):
        again = {each.name: each for each in await _count(database)}
        certain = [each for name, each in sorted(again.items()) if suspected.get(name) == each]
        if certain or not again:
            return certain
        suspected = again
    return []


async def _count(database: Database) -> list[PartDrift]:
    before = await _kept(database)
    found = await _totals(database)
    after = await _kept(database)
    beside = (await database.read("count_nodes_beside"))[0]["nodes"]
    names = before.keys() | found.keys()
    differing = [name for name in names if _differs(name, before, found, after)]
    drifts = [
        PartDrift(name=each, expected=before.get(each, (0, 0))[0], found=found.get(each, (0, 0))[0])
        for each in differing
    ]
    unknown = len(await unknown_edges(database))
    more = [(BESIDE, beside), (UNKNOWN, unknown)]
    return drifts + [PartDrift(name=name, expected=0, found=count) for name, count in more if count]


def _differs(name: str, before: dict[str, Total], found: dict[str, Total], after: dict[str, Total]) -> bool:
    kept = before.get(name, (0, 0))
    return kept == after.get(name, (0, 0)) and kept != found.get(name, (0, 0))


async def _kept(database: Database) -> dict[str, Total]:
    return _by_name(await database.read("totals_kept"))


async def _totals(database: Database) -> dict[str, Total]:
    edges = await database.read("totals_of_edges", modulus=MODULUS)
    entities = await database.read("totals_of_entities", modulus=MODULUS)
    return _by_name([*edges, *entities, *await database.read("totals_of_log")])


def _by_name(rows: Sequence[dict[str, Any]]) -> dict[str, Total]:
    return {str(row["name"]): (row["count"], row["digest"]) for row in rows}
