"""Relationships of types that the model does not have, between nodes that the ledger made.

A misspelt type, `MAY_WRIT`, covers nothing and is part of no check of its type; somebody meant something by it. What
engineers draw to nodes under labels of their own is none of the ledger's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.drift import Finding, Slip
from remit_graph.model.edge import EdgeType
from remit_graph.neo4j.references import NOUNS, PRINCIPALS, RESOURCES, type_of

if TYPE_CHECKING:
    from remit_graph.neo4j.database import Database

KNOWN: Final = sorted(
    {str(each) for each in EdgeType}
    | {f"WAS_{each}" for each in EdgeType}
    | {type_of(each) for each in (*PRINCIPALS, *RESOURCES, *NOUNS)}
    | {"FROM", "TO", "UNDER", "PASSES_TO", "RESTS_ON"}
)
"""Types of the relationships that the ledger makes."""


async def unknown_edges(database: Database) -> list[dict[str, Any]]:
    """Return the relationships of other types; usually one question of the database's catalogue answers that."""
    types = [row["type"] for row in await database.read("unknown_types", known=KNOWN)]
    return await database.read("unknown_edges", types=types) if types else []


async def unknown_findings(database: Database) -> list[Finding]:
    """Return them by name."""
    found = [_finding(row) for row in await unknown_edges(database)]
    return sorted(found, key=lambda each: (each.kind, each.name))


def _finding(row: dict[str, Any]) -> Finding:
    name = str(row["properties"].get("edge_id") or "")
    return Finding(
        slip=Slip.ADDED,
        kind=row["type"],
        name=name,
        sentence=(
            f"{row['type']} `{name}` from `{row['from']}` to `{row['to']}` was put into the graph past the ledger, and "
            "the model has no edge of that type: it gives no authority"
        ),
        joins=(row["from"], row["to"]),
        properties=row["properties"],
        handle=row["handle"],
    )
