"""Looking for what is wrong with the graph, by name: all of it, the kinds whose counts differ, or part after part.

A look takes no lock, and a commit becomes visible bit by bit; so what is found counts only if it is found twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.neo4j.drift import BESIDE, LOG, UNKNOWN, quick
from remit_graph.neo4j.entity_findings import LABELS, entity_findings, nodes_beside
from remit_graph.neo4j.findings import PAST, TYPES, edge_findings
from remit_graph.neo4j.nouns import was_label
from remit_graph.neo4j.pass_findings import PASSES_TO, pass_findings
from remit_graph.neo4j.unknown import unknown_findings

if TYPE_CHECKING:
    from collections.abc import Collection

    from remit_graph.drift import Finding
    from remit_graph.neo4j.database import Database

PARTS: Final = (*TYPES, PASSES_TO, UNKNOWN, BESIDE, *LABELS, *(was_label(each) for each in LABELS))
"""Names of the parts, in the order in which a slow check goes through them."""


async def findings(database: Database, *, everything: bool, part: str | None = None) -> list[Finding]:
    """Return what is wrong with the graph, by name.

    Args:
        database: Where.
        everything: Compute every digest anew, which takes as long as reading the graph; otherwise only kinds whose
            count or sum differs are looked into.
        part: Look at this part alone, and compute every digest of it anew.
    """
    found = await _look(database, everything=everything, part=part)
    if not found:
        return found
    again = {_same(each) for each in await _look(database, everything=everything, part=part)}
    return [each for each in found if _same(each) in again]


def _same(finding: Finding) -> tuple[str, str, str, str]:
    return finding.slip, finding.kind, finding.name, finding.sentence


async def _look(database: Database, *, everything: bool, part: str | None) -> list[Finding]:
    if part is not None:
        return await _of({part}, database, everything=False, anew=True)
    # What is missing shows in the counts alone, so they are compared in either case.
    names = {each.name for each in await quick(database)}
    return await _of(names, database, everything=everything, anew=everything)


async def _of(names: Collection[str], database: Database, *, everything: bool, anew: bool) -> list[Finding]:
    """Return what is wrong with the kinds of `names`, or with `everything`.

    Args:
        names: Of parts, whose missing elements are looked for.
        database: Where.
        everything: Look at the other kinds too.
        anew: Compute the digests of edges; those of nodes always are.
    """
    types = [each for each in TYPES if everything or each in names or f"{PAST}{each}" in names]
    found = await edge_findings(database, types, everything=anew) if types else []
    if everything or PASSES_TO in names:
        found += await pass_findings(database)
    if everything or UNKNOWN in names:
        found += await unknown_findings(database)
    labels = set(names) - {BESIDE, LOG, UNKNOWN, PASSES_TO, *TYPES, *_PAST}
    if everything or labels:
        found += await entity_findings(database, labels, everything=everything)
    if everything or BESIDE in names:
        found += await nodes_beside(database)
    return found


_PAST: Final = frozenset(f"{PAST}{each}" for each in TYPES)
