"""The slow check of edges: which relationships are not what the ledger made, one by one and by name.

A relationship is the ledger's if it has a node of the same position and digest (`edges.py`), joins the ends that the
node says, and its digest is that of its properties. Foreign
edges give no authority whatever they say: decisions are made on the view, which is built from the log alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.drift import Finding, Slip
from remit_graph.model.edge import EdgeType
from remit_graph.neo4j.properties import OF_EDGES, full_digest
from remit_graph.neo4j.proposal import proposed

if TYPE_CHECKING:
    from collections.abc import Collection

    from remit_graph.neo4j.database import Database

Found = dict[str, Any]

PAST: Final = "WAS_"
TYPES: Final = tuple(str(each) for each in EdgeType)


async def edge_findings(database: Database, types: Collection[str], *, everything: bool) -> list[Finding]:
    """Return what is wrong with relationships of `types`, current and past.

    Args:
        database: Where.
        types: Types of current edges; history of the same types is looked at too.
        everything: Compute every digest anew; otherwise only elements that differ at sight are named.
    """
    wanted = [each for each in TYPES if each in types]
    found: list[Finding] = []
    for query in ("edges_to_judge", "past_edges_to_judge"):
        async for row in database.stream(query, types=wanted, all=everything):
            finding = judge_edge(row)
            if finding is not None:
                found.append(finding)
    # One that was pointed elsewhere is not where it was, which has been said already.
    changed = {(each.kind, each.name) for each in found if each.slip is Slip.CHANGED}
    gone = [_gone(row) async for row in database.stream("edges_gone", types=wanted)]
    found += [each for each in gone if (each.kind, each.name) not in changed]
    return sorted(found, key=lambda each: (each.kind, each.name, each.slip))


def judge_edge(row: Found) -> Finding | None:
    """Return what is wrong with one relationship, or None."""
    properties, node = row["properties"], row["node"]
    joins = f"{row['type']} `{properties.get('edge_id')}` from `{row['from']}` to `{row['to']}`"
    if node is None:
        return Finding(
            slip=Slip.ADDED,
            kind=row["type"],
            name=str(properties.get("edge_id") or ""),
            sentence=f"{joins} was put into the graph past the ledger: it gives no authority",
            joins=(row["from"], row["to"]),
            record=None if row["type"].startswith(PAST) else proposed(row),
            properties=properties,
            handle=row["handle"],
        )
    wrong = list(_wrong(row, properties, node))
    if not wrong:
        return None
    return Finding(
        slip=Slip.CHANGED,
        kind=row["type"],
        name=str(node["position"]),
        sentence=f"{joins} was changed past the ledger ({', '.join(wrong)}): what the ledger says holds",
        joins=(row["from"], row["to"]),
        record=None if row["type"].startswith(PAST) else proposed(row),
        properties=properties,
        handle=row["handle"],
    )


def _wrong(row: Found, properties: Found, node: Found) -> Collection[str]:
    wrong = {name for name in ("from", "to") if row[name] != node.get(name)}
    if row["type"].removeprefix(PAST) != node.get("edge"):
        wrong.add("edge")
    ignored = {"live", "row_digest"}
    wrong |= {name for name, value in node.items() if name not in ignored and properties.get(name) != value}
    if not wrong and full_digest(properties, OF_EDGES) != node.get("row_digest"):
        wrong.add("scope or another property")
    if not wrong and properties.get("row_digest") != node.get("row_digest"):
        wrong.add("row_digest")
    return sorted(wrong)


def _gone(row: Found) -> Finding:
    node = row["node"]
    return Finding(
        slip=Slip.REMOVED,
        kind=row["type"],
        name=str(node["position"]),
        sentence=(
            f"{row['type']} `{node.get('edge_id')}` from `{row['from']}` to `{row['to']}` was deleted past the ledger: "
            f"what the ledger says holds"
        ),
        joins=(row["from"], row["to"]),
    )
