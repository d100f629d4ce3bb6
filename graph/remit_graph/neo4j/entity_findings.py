"""The slow check of nodes: which principals, resources, leases and other things are not what the ledger made.

What was edited carries a digest that is not that of its properties. What was deleted is named by the log: what it put
and did not end must be there. What was added has a label of the graph and no `ref`, which only the ledger gives.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from remit_graph.drift import Finding, Slip
from remit_graph.neo4j.nouns import IDENTITY, named_by, noun_of, was_label
from remit_graph.neo4j.properties import OF_ENTITIES, full_digest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from remit_graph.neo4j.database import Database

_KINDS_OF_NODES: Final = frozenset({"Entity", "Ended", "Mentioned"})
LABELS: Final = (
    "Action", "Alias", "ApiKey", "Approval", "Capability", "Conflict", "EnforcementPoint", "Incident", "Lease",
    "Operation", "Policy", "Presence", "Principal", "Realm", "Receipt", "Resource", "ResourceType", "Selector",
    "Transfer", "Waiter",
)  # fmt: skip
"""Labels that only the ledger gives."""


async def entity_findings(database: Database, labels: Collection[str], *, everything: bool) -> list[Finding]:
    """Return what is wrong with nodes of `labels`, or with all of them.

    Args:
        database: Where.
        labels: Labels whose count or sum differs: what is missing is looked for among these.
        everything: Compute the digests of all other nodes too.
    """
    found: list[Finding] = []
    seen: set[str] = set()
    async for row in database.stream("entities_to_judge", labels=list(labels), all=everything):
        label = _label(row["labels"])
        ref = str(row["properties"].get("ref") or row["properties"].get("was_ref") or "")
        seen.add(ref if "ref" in row["properties"] else "")
        if full_digest(row["properties"], OF_ENTITIES) != row["properties"].get("row_digest"):
            found.append(_finding(Slip.CHANGED, label, ref, row))
    for label in sorted(labels):
        found += [_finding(Slip.REMOVED, label, ref) for ref in await _expected(database, label) if ref not in seen]
    return sorted(found, key=lambda each: (each.kind, each.name))


async def nodes_beside(database: Database) -> list[Finding]:
    """Return the nodes that bear a label of the graph and were not made by the ledger."""
    rows = await database.read("nodes_beside", labels=list(LABELS))
    found = [_finding(Slip.ADDED, _label(row["labels"]), _shown_name(row["properties"]), row) for row in rows]
    return sorted(found, key=lambda each: (each.kind, each.name))


async def _expected(database: Database, label: str) -> Sequence[str]:
    """Return the refs of the current nodes of a label, by the log; history is counted but not named."""
    if label == was_label(label.removeprefix("Was")):
        return []
    noun = noun_of(label)
    current: dict[str, None] = {}
    kinds = [f"{noun}.{verb}" for verb in ("put", "set", "activate", "end")]
    async for row in database.stream("changes_of_kinds", kinds=kinds):
        document = json.loads(row["body"])
        thing = named_by(noun, document["body"])
        if thing is None:
            continue
        if document["kind"].endswith(".end"):
            current.pop(thing.ref, None)
        else:
            current[thing.ref] = None
    return list(current)


def _label(labels: Sequence[str]) -> str:
    return next((label for label in sorted(labels) if label not in _KINDS_OF_NODES), "")


def _shown_name(properties: dict[str, Any]) -> str:
    members = ("id", *sorted(set(IDENTITY.values())))
    return str(next((properties[each] for each in members if each in properties), ""))


_SENTENCES: Final = {
    Slip.ADDED: "was put into the graph past the ledger: it counts for nothing",
    Slip.CHANGED: "was changed past the ledger: what the ledger says holds",
    Slip.REMOVED: "was deleted past the ledger: what the ledger says holds",
}


def _finding(slip: Slip, label: str, name: str, row: dict[str, Any] | None = None) -> Finding:
    row = row or {"properties": {}, "handle": ""}
    return Finding(
        slip=slip,
        kind=label,
        name=name,
        sentence=f"{label} `{name.partition('/')[2] or name}` {_SENTENCES[slip]}",
        properties=row["properties"],
        handle=row["handle"],
    )
