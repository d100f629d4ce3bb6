"""Takes what was written past the ledger out of the graph, and puts back what the ledger says.

Adoption needs this first: a change that says what a foreign edge says cannot begin while that edge bears its id. What
is taken out is kept as a `(:Foreign)` node, so that nothing an engineer wrote is lost, also if adoption refuses it.

(1) Keep what was found.
(2) Take foreign and changed relationships out; nodes made by hand stay, as nodes that something merely names.
(3) Put back what was changed or deleted, as the log has it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from remit_graph.drift import Finding, SetAside, Slip
from remit_graph.neo4j.database import rows_of
from remit_graph.neo4j.findings import PAST, TYPES
from remit_graph.neo4j.lock import lock_head
from remit_graph.neo4j.nouns import named_by, noun_of
from remit_graph.neo4j.pass_findings import PASSES_TO
from remit_graph.neo4j.truth import edge_row, entity_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neo4j import AsyncManagedTransaction

    from remit_graph.neo4j.database import Database
    from remit_graph.neo4j.plan import Row

WITHIN: Final = timedelta(seconds=60)
"""It is asked for by hand, once in a while, of a database that may have to plan every query of it anew."""

_NAMED: Final = frozenset({"Principal", "Resource", "Selector"})
"""Labels of nodes that edges may join without their being declared."""


async def set_aside(
    database: Database, realm: str, findings: Sequence[Finding], *, by: str = "", reason: str | None = None
) -> None:
    """Bring the elements of `findings` to what the ledger says, and keep what they were, by whom and why."""
    edges = [each for each in findings if each.joins is not None]
    passes = [each for each in edges if each.kind == PASSES_TO]
    drawn = [each for each in edges if each.kind.removeprefix(PAST) in TYPES]
    nodes = [each for each in findings if each.joins is None]
    added = [each for each in nodes if each.slip is Slip.ADDED]

    async def work(transaction: AsyncManagedTransaction) -> None:
        # Nothing is appended meanwhile, so what the log says of an element is what is put back.
        await lock_head(transaction, database, realm)
        back = await _edges_back(database, {each.name for each in drawn if each.slip is not Slip.ADDED})
        entities = await _entities_back(database, [each for each in nodes if each.slip is not Slip.ADDED])
        # (1) Keep what was found.
        kept = [{**_kept(each), "by": by, "reason": reason} for each in findings if each.properties]
        await rows_of(transaction, "keep_foreign", rows=kept)
        # (2) Take it out.
        handles = [each.handle for each in edges if each.handle]
        await rows_of(transaction, "take_edges_out", handles=handles)
        claimed = [row for each in added if (row := _claimed(each)) is not None]
        await rows_of(transaction, "claim_nodes", rows=claimed)
        disowned = [{"handle": each.handle, "label": each.kind} for each in added if _claimed(each) is None]
        await rows_of(transaction, "disown_nodes", rows=disowned)
        # (3) Put back what the log says.
        await rows_of(transaction, "edges_restore", rows=back)
        positions = sorted({each.name for each in passes if each.slip is not Slip.ADDED})
        await rows_of(transaction, "passes_restore", positions=positions)
        await rows_of(transaction, "entities_restore", rows=entities)

    await database.write(work, hold_at_most=WITHIN)


async def kept(database: Database) -> list[SetAside]:
    """Return what was taken out of the graph so far, oldest first."""
    return [
        SetAside(
            finding=Finding(
                slip=Slip(row["slip"]),
                kind=row["kind"],
                name=row["name"],
                sentence=f"{row['kind']} `{row['name']}` was set aside",
                record=None if row["record"] is None else json.loads(row["record"]),
                properties=json.loads(row["properties"]),
            ),
            edit_id=row["edit_id"],
            by=row["set_aside_by"] or "",
            reason=row["reason"],
            at=row["set_aside_at"],
        )
        for row in await database.read("foreign_kept")
    ]


def _kept(finding: Finding) -> Row:
    return {
        "slip": str(finding.slip),
        "kind": finding.kind,
        "name": finding.name,
        "edit_id": finding.edit_id,
        "properties": _text(dict(finding.properties)),
        "record": None if finding.record is None else _text(dict(finding.record)),
    }


def _text(value: Any) -> str:
    # What somebody wrote by hand may hold floats, dates and points.
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _claimed(finding: Finding) -> Row | None:
    """Return the parameters that make a node by hand one that edges may join, or None if it is no such node."""
    thing = named_by(noun_of(finding.kind), finding.properties) if finding.kind in _NAMED else None
    if thing is None:
        return None
    labels = ["Selector"] if finding.kind == "Selector" else [finding.kind, "Mentioned"]
    return {"handle": finding.handle, "ref": thing.ref, "labels": labels, "properties": dict(thing.identity)}


async def _edges_back(database: Database, positions: set[str]) -> list[list[Any]]:
    found = await database.read("edges_to_restore", positions=sorted(positions))
    rows = [await edge_row(database, each["node"]) for each in found]
    return [row for row in rows if row is not None]


async def _entities_back(database: Database, findings: Sequence[Finding]) -> list[list[Any]]:
    by_noun: defaultdict[str, set[str]] = defaultdict(set)
    for each in findings:
        by_noun[noun_of(each.kind)].add(each.name)
    return [row for noun, refs in sorted(by_noun.items()) for row in await entity_rows(database, noun, refs)]
