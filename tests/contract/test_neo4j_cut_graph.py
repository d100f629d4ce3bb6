"""The graph in Neo4j beside a log that was cut: what somebody changed by hand is still found, named and put right."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, LiteralString

import pytest

from remit_graph.drift import Slip
from remit_graph.errors import HistoryRemoved
from remit_graph.model.change import Change
from remit_graph.neo4j import Neo4jLedger, past
from remit_graph.neo4j.statements import STATEMENTS
from tests.contract.compactions import compacted, filled
from tests.contract.ledger_commands import append, edge_begin, edges_end
from tests.contract.ledgers import Neo4jStore, neo4j_store

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


@pytest.mark.feature("S103")
async def test_edits_from_before_the_cut_are_still_found_after_it(store: Neo4jStore) -> None:
    """A thing that was deleted, or says it is of another revision, keeps its row: it is named and put right."""
    ledger = await _opened(store)
    names = ("ada", "bob", "cy", "dan")
    await append(ledger, *(_principal(name) for name in names))
    await append(ledger, _principal("dan", trust=1))
    for edit in (
        "MATCH (node:Principal {id: 'human:ada'}) DETACH DELETE node",
        "MATCH (node:Principal {id: 'human:bob'}) SET node.as_of = 9, node.trust = 9",
        "MATCH (node:Principal {id: 'human:cy'}) REMOVE node.as_of",
        "MATCH (node:Principal {id: 'human:dan'}) SET node.as_of = 1",
    ):
        await asyncio.to_thread(store.server.query, edit)

    await compacted(ledger, 2)
    found = await ledger.findings()
    await ledger.set_aside(found)

    assert await _kept(store) == [f"principal/human:{name}" for name in names]
    assert {(each.slip, each.name) for each in found} == {
        (Slip.REMOVED, "principal/human:ada"),
        *((Slip.CHANGED, f"principal/human:{name}") for name in names[1:]),
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
    second = await _kept(store)
    head = await ledger.head()

    await compacted(ledger, head.revision)

    assert first == second == ["edge", "principal/human:ada", "principal/human:bob"]
    assert await _kept(store) == ["edge", "principal/human:ada"]
    assert await ledger.check() == []


@pytest.mark.feature("S103")
async def test_the_graph_forgets_coordination_and_keeps_authority(store: Neo4jStore) -> None:
    """Ended leases and receipts of before the cut go; edges that ended stay, and so does what is of after it."""
    ledger = await _opened(store)
    part = {"fence": "title", "fields": ["title"], "domains": ["SEO"]}
    lease = {
        "holder": "human:ada", "point": "service:gate", "proof": ["e-1@1"], "expires_at": 1,
        "resource_key": "wp:post:1",
        "keys": [{"key": "wp:post:1", "relation": "same", "parts": [part]}],
        "fencing_tokens": {"wp:post:1#title": 1}, "lease_epoch": 1,
    }  # fmt: skip
    receipt = {"principal": "human:ada", "status": "COMPLETED", "versions": [], "wrote": []}
    await append(ledger, _principal("ada"), edge_begin("e-1"), Change("lease.put", {"id": "l-1", **lease}))
    await append(
        ledger,
        Change("lease.end", {"id": "l-1", "at": 1, "state": "RELEASED", "raised": {}}),
        Change("receipt.put", {"id": "r-1", "lease_id": "l-1", **receipt}),
    )
    await append(ledger, Change("lease.put", {"id": "l-2", **lease}), edges_end(("e-1", 1)))
    await append(ledger, Change("receipt.put", {"id": "r-2", "lease_id": "l-2", **receipt}))

    await compacted(ledger, 3)

    nodes = "MATCH (node:Lease|WasLease|Receipt) RETURN coalesce(node.ref, node.was_ref) AS ref ORDER BY ref"
    edges = "MATCH ()-[edge:WAS_MAY_WRITE]->() RETURN edge.edge_id AS ref"
    assert [await _refs(store, each) for each in (nodes, edges)] == [["lease/l-2", "receipt/r-2"], ["e-1"]]
    with pytest.raises(HistoryRemoved):
        await ledger.receipt("r-1")
    assert await ledger.check() == []
    again = await append(ledger, Change("receipt.put", {"id": "r-1", **receipt}))
    assert await ledger.receipt("r-1") == again
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


def test_the_query_names_the_labels_of_the_nouns() -> None:
    """What is looked for is what is taken out."""
    labels = set(re.findall(r"[:|](\w+)", STATEMENTS["things_to_sweep"])) - {"Entity"}

    assert labels == set(past.LABELS)


async def _kept(store: Neo4jStore) -> list[str]:
    return await _refs(store, "MATCH (kept:Kept) RETURN kept.ref AS ref ORDER BY ref")


async def _refs(store: Neo4jStore, query: LiteralString) -> list[str]:
    return [row["ref"] for row in await asyncio.to_thread(store.server.query, query)]
