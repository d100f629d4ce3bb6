"""The slow check of PASSES_TO: the relationships that make chains searchable, and repeat what edges say.

Nothing is decided by them and nothing is adopted from them: they are compared with the edges and put right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.drift import Finding, Slip

if TYPE_CHECKING:
    from remit_graph.neo4j.database import Database

PASSES_TO: Final = "PASSES_TO"


async def pass_findings(database: Database) -> list[Finding]:
    """Return what is wrong with PASSES_TO, by the positions of the edges that they repeat."""
    found = [_judged(row) async for row in database.stream("passes_to_judge")]
    changed = {each.name for each in found if each.slip is Slip.CHANGED}
    gone = [row async for row in database.stream("passes_gone")]
    found += [
        _finding(Slip.REMOVED, row, row["position"], "was deleted") for row in gone if row["position"] not in changed
    ]
    return sorted(found, key=lambda each: (each.name, each.slip))


def _judged(row: dict[str, Any]) -> Finding:
    if row["position"] is None:
        return _finding(Slip.ADDED, row, str(row["properties"].get("position") or ""), "was put into the graph")
    return _finding(Slip.CHANGED, row, row["position"], "was changed")


def _finding(slip: Slip, row: dict[str, Any], name: str, what: str) -> Finding:
    return Finding(
        slip=slip,
        kind=PASSES_TO,
        name=name,
        sentence=f"{PASSES_TO} `{name}` from `{row['from']}` to `{row['to']}` {what} past the ledger: it gives nothing",
        joins=(row["from"], row["to"]),
        properties=row.get("properties", {}),
        handle=row.get("handle", ""),
    )
