"""The graph in Neo4j beside a log that was cut: what somebody changed by hand is still found, named and put right."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from remit_graph.drift import Slip
from remit_graph.model.change import Change
from remit_graph.neo4j import Neo4jLedger
from tests.contract.ledger_commands import append, edge_begin, edges_end
from tests.contract.ledgers import Neo4jStore, neo4j_store
from tests.contract.test_compaction import compacted, filled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.neo4j


@pytest.fixture
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Neo4jStore]:
    """The database of this run with an empty ledger."""
    made = await neo4j_store(request)
    yield made
    await made.aclose()


def _principal(name: str, **more: object) -> Change:
    return Change("principal.put", {"id": f"human:{name}", **more})


async def _opened(store: Neo4jStore) -> Neo4jLedger:
    ledger = await store.open()
    assert isinstance(ledger, Neo4jLedger)
    return ledger


async def test_edits_of_what_was_put_before_the_cut_are_put_right(store: Neo4jStore) -> None:
    """Things, edges and ended edges that were deleted or changed come back as the removed rows had them."""
    ledger = await _opened(store)
    await append(ledger, _principal("ada"), _principal("bob"), _principal("cy"), edge_begin("e-1"), edge_begin("e-2"))
    await append(ledger, _principal("bob", trust=3), edges_end(("e-2", 1)), Change("principal.end", {"id": "human:cy"}))
    await compacted(ledger, 2)
    await append(ledger, _principal("dan"))

    for edit in (
        "MATCH (node:Principal {id: 'human:ada'}) DETACH DELETE node",
        "MATCH (node:Principal {id: 'human:bob'}) SET node.trust = 9",
        "MATCH ()-[edge:MAY_WRITE {edge_id: 'e-1'}]->() DELETE edge",
        "MATCH ()-[edge:WAS_MAY_WRITE {edge_id: 'e-2'}]->() SET edge.revision_to = 7",
    ):
        await asyncio.to_thread(store.server.query, edit)
    found = await ledger.findings()
    await ledger.set_aside([each for each in found if each.slip is not Slip.ADDED])

    assert {(each.slip, each.name) for each in found} == {
        (Slip.REMOVED, "principal/human:ada"),
        (Slip.CHANGED, "principal/human:bob"),
        (Slip.REMOVED, "e-1@1"),
        (Slip.CHANGED, "e-2@1"),
    }
    assert await ledger.check() == []


async def test_what_a_row_said_is_kept_no_longer_than_it_holds(store: Neo4jStore) -> None:
    """Cut again and again, there is one kept row for each thing and each edge of the graph, and none for what ended."""
    ledger = await _opened(store)
    await append(ledger, _principal("ada"), _principal("bob"), edge_begin("e-1"))
    await compacted(ledger, 1)
    first = await _kept(store)
    await append(ledger, _principal("ada", trust=1), Change("principal.end", {"id": "human:bob"}))
    await append(ledger, _principal("ada", trust=2))
    head = await ledger.head()

    await compacted(ledger, head.revision)

    assert first == ["edge", "principal/human:ada", "principal/human:bob"]
    assert await _kept(store) == ["edge", "principal/human:ada"]
    assert await ledger.check() == []


async def test_a_database_from_before_cuts_is_migrated(store: Neo4jStore) -> None:
    """It lacks the indexes of kept rows, says so when it is opened, and can be cut once they are made."""
    ledger = await _opened(store)
    await filled(ledger, 1)
    await ledger.aclose()
    rows = await asyncio.to_thread(
        store.server.query, "SHOW INDEXES YIELD name, labelsOrTypes WHERE 'Kept' IN labelsOrTypes RETURN name"
    )
    for row in rows:
        await asyncio.to_thread(store.server.query, f"DROP INDEX `{row['name']}`")

    with pytest.raises(Exception, match=r"lacks the index on Kept\(kind\)"):
        await store.open()
    made = await Neo4jLedger.migrate(store.options)
    ledger = await _opened(store)
    await compacted(ledger, 20)

    assert len(rows) == len(made) == 3
    assert await ledger.check() == []


async def _kept(store: Neo4jStore) -> list[str]:
    rows = await asyncio.to_thread(store.server.query, "MATCH (kept:Kept) RETURN kept.ref AS ref ORDER BY ref")
    return [row["ref"] for row in rows]
