"""What engineers do to the graph with raw Cypher is found by name, gives nothing, and can be adopted or taken back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.errors import ConstraintBroken
from remit_graph.model.change import Change
from remit_graph.neo4j import Neo4jLedger, Slip
from tests.contract.ledger_commands import append, edge_begin, edges_end
from tests.contract.ledgers import Neo4jStore, neo4j_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from typing import LiteralString

pytestmark = pytest.mark.neo4j

OWNER = Change(
    "edge.begin",
    {
        "edge_id": "own-1", "version": 1, "edge": "OWNS", "from": "controller:seo", "to": "wp:post:*", "epoch": 1,
        "issuer": "organization:acme", "ownership_epoch": 1, "scope": {"fields": ["canonical"]},
    },
)  # fmt: skip
GRANT = Change(
    "edge.begin",
    {
        "edge_id": "g-1", "version": 1, "edge": "MAY_WRITE", "from": "instance:seo-7", "to": "wp:post:1", "epoch": 1,
        "issuer": "controller:seo", "scope": {"actions": ["UPDATE_CANONICAL"], "fields": ["canonical"]},
    },
)  # fmt: skip

MADE = Change(
    "edge.begin",
    {
        "edge_id": "d-1", "version": 1, "edge": "DELEGATES", "from": "controller:seo", "to": "role:seo", "epoch": 1,
        "issuer": "controller:seo",
    },
)  # fmt: skip
MEMBER = Change(
    "edge.begin",
    {
        "edge_id": "m-1", "version": 1, "edge": "ACTS_AS", "from": "instance:seo-7", "to": "role:seo", "epoch": 1,
        "issuer": "organization:acme", "valid_until": 10**16,
    },
)  # fmt: skip

ADDED: LiteralString = """
MATCH (who:Principal {id: 'instance:seo-7'})
MERGE (what:Selector {key: 'wp:post:9'})
CREATE (who)-[edge:MAY_WRITE {edge_id: 'g-200'}]->(what)
SET edge.scope_actions = ['UPDATE_CANONICAL'], edge.where_environment = ['production']
"""
WIDENED: LiteralString = "MATCH ()-[edge:MAY_WRITE {edge_id: 'g-1'}]->() SET edge.scope_actions = ['DELETE_POST']"
WIDENED_IN_FULL: LiteralString = "MATCH ()-[edge:MAY_WRITE {edge_id: 'g-1'}]->() SET edge.scope = '{}'"
DELETED: LiteralString = "MATCH ()-[edge:MAY_WRITE {edge_id: 'g-1'}]->() DELETE edge"
SECOND_OWNER: LiteralString = """
MATCH (who:Principal {id: 'instance:seo-7'})
MATCH (what:Selector {key: 'wp:post:*'})
CREATE (who)-[:OWNS {edge_id: 'own-2', scope_fields: ['canonical']}]->(what)
"""
REVIVED: LiteralString = """
MATCH (who)-[old:WAS_MAY_WRITE {position: 'g-0@1'}]->(what)
CREATE (who)-[again:MAY_WRITE]->(what)
SET again = properties(old)
DELETE old
"""
REPOINTED: LiteralString = """
MATCH (who:Principal {id: 'instance:seo-7'})-[old:MAY_WRITE {edge_id: 'g-1'}]->()
MATCH (what:Selector {key: 'wp:post:*'})
WITH who, what, old, properties(old) AS facts
DELETE old
CREATE (who)-[again:MAY_WRITE]->(what)
SET again = facts
"""
UNNAMED: LiteralString = """
MATCH (who:Principal {id: 'instance:seo-7'})
MATCH (what:Selector {key: 'wp:post:*'})
CREATE (who)-[:MAY_READ]->(what)
"""
PROLONGED: LiteralString = "MATCH ()-[pass:PASSES_TO {position: 'm-1@1'}]->() REMOVE pass.valid_until"
SHORTENED: LiteralString = """
MATCH (upper:Principal {id: 'controller:seo'})
MATCH (lower:Principal {id: 'instance:seo-7'})
CREATE (upper)-[:PASSES_TO {position: 'x', edge: 'DELEGATES'}]->(lower)
"""
PROMOTED: LiteralString = "MATCH (p:Principal {id: 'instance:seo-7'}) SET p.trust = 9"


@pytest.fixture
async def graph(request: pytest.FixtureRequest) -> AsyncIterator[Neo4jStore]:
    """A database with an owner, a grant, and a grant that ended."""
    made = await neo4j_store(request)
    ledger = await _open(made)
    await append(ledger, Change("principal.put", {"id": "instance:seo-7"}), OWNER, GRANT, edge_begin("g-0"))
    await append(ledger, MEMBER, MADE)
    await append(ledger, edges_end(("g-0", 1)), Change("lease.put", {"id": "l-1", "holder": "instance:seo-7"}))
    yield made
    await made.aclose()


async def _open(graph: Neo4jStore) -> Neo4jLedger:
    """Open another ledger, closed with the store."""
    ledger = await graph.open()
    assert isinstance(ledger, Neo4jLedger)
    return ledger


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (ADDED, [("added", "MAY_WRITE", "g-200"), ("added", "Selector", "wp:post:9")]),
        (WIDENED, [("changed", "MAY_WRITE", "g-1@1")]),
        (WIDENED_IN_FULL, [("changed", "MAY_WRITE", "g-1@1")]),
        (DELETED, [("removed", "MAY_WRITE", "g-1@1")]),
        (SECOND_OWNER, [("added", "OWNS", "own-2")]),
        (REVIVED, [("added", "MAY_WRITE", "g-0"), ("removed", "WAS_MAY_WRITE", "g-0@1")]),
        (REPOINTED, [("changed", "MAY_WRITE", "g-1@1")]),
        (UNNAMED, [("added", "MAY_READ", "")]),
        ("CREATE (:Principal {id: 'instance:eve'})", [("added", "Principal", "instance:eve")]),
        (PROMOTED, [("changed", "Principal", "principal/instance:seo-7")]),
        ("MATCH (l:Lease) DETACH DELETE l", [("removed", "Lease", "lease/l-1")]),
        ("MATCH (e:Edge {position: 'g-1@1'}) SET e.scope = '{}'", [("changed", "MAY_WRITE", "g-1@1")]),
        ("MATCH ()-[pass:PASSES_TO {position: 'd-1@1'}]->() DELETE pass", [("removed", "PASSES_TO", "d-1@1")]),
        (PROLONGED, [("changed", "PASSES_TO", "m-1@1")]),
        (SHORTENED, [("added", "PASSES_TO", "x")]),
    ],
    ids=[
        "edge added", "filters widened", "scope widened", "edge deleted", "second owner", "ended edge revived",
        "edge pointed elsewhere", "edge without id", "principal added", "principal changed", "lease deleted",
        "evidence changed", "passage deleted", "passage prolonged", "passage added",
    ],
)  # fmt: skip
async def test_an_edit_is_found_and_named(graph: Neo4jStore, edit: LiteralString, named: list[Any]) -> None:
    """F010, F036: each edit is one finding with the name of what it was done to, and one sentence of `check`."""
    ledger = await _open(graph)
    assert await ledger.check() == []

    graph.server.query(edit)

    found = await ledger.findings()
    assert sorted((str(each.slip), each.kind, each.name) for each in found) == sorted(named)
    assert list(await ledger.check()) == [each.sentence for each in found]


@pytest.mark.parametrize(
    ("edit", "kinds"),
    [
        (ADDED, {"MAY_WRITE", "nodes beside the ledger"}),
        (DELETED, {"MAY_WRITE"}),
        (SECOND_OWNER, {"OWNS"}),
        (REVIVED, {"MAY_WRITE", "WAS_MAY_WRITE"}),
        ("MATCH (l:Lease) DETACH DELETE l", {"Lease"}),
        ("MATCH (c:Change {revision: 3, seq: 1}) DELETE c", {"Change"}),
    ],
    ids=["edge added", "edge deleted", "second owner", "ended edge revived", "lease deleted", "row deleted"],
)
async def test_what_was_added_or_deleted_shows_at_once(graph: Neo4jStore, edit: LiteralString, kinds: set[str]) -> None:
    """F010: the quick check counts, and the findings of just those kinds name the edge."""
    ledger = await _open(graph)
    assert await ledger.drift() == []

    graph.server.query(edit)

    assert {each.name for each in await ledger.drift()} == kinds
    assert await ledger.findings(everything=False) == await ledger.findings()


async def test_the_quick_check_is_not_alarmed_by_appends(graph: Neo4jStore) -> None:
    """While others append without pause, a graph that nobody edited has no drift."""
    ledger, writer = await _open(graph), await _open(graph)
    stop = asyncio.Event()
    writing = asyncio.create_task(_keep_appending(writer, stop))

    alarms = [each.sentence for _ in range(15) for each in await ledger.drift()]

    stop.set()
    await writing
    assert alarms == []


async def _keep_appending(ledger: Neo4jLedger, stop: asyncio.Event) -> None:
    number = 0
    while not stop.is_set():
        number += 1
        await append(ledger, edge_begin(f"b-{number}"), Change("lease.put", {"id": f"b-{number % 7}"}))


async def _proposed(ledger: Neo4jLedger) -> list[Mapping[str, Any]]:
    """Return the edges that were added or changed past the ledger, as the records that adoption would begin."""
    return [each.record for each in await ledger.findings() if each.record is not None]


async def test_a_foreign_edge_is_proposed_as_a_record(graph: Neo4jStore) -> None:
    """An engineer writes filters and no JSON; the proposal has the scope that they mean and the ends they join."""
    ledger = await _open(graph)
    graph.server.query(ADDED)
    graph.server.query(WIDENED)

    scope = {"actions": ["UPDATE_CANONICAL"], "where": {"environment": ["production"]}}
    added = {"edge_id": "g-200", "edge": "MAY_WRITE", "from": "instance:seo-7", "to": "wp:post:9", "scope": scope}
    widened = {**GRANT.body, "scope": {"actions": ["DELETE_POST"], "fields": ["canonical"]}}
    assert await _proposed(ledger) == [widened, added]


async def test_a_foreign_edge_stands_in_the_way_and_says_so(graph: Neo4jStore) -> None:
    """F072: an append that meets an edge from outside appends nothing, names it, and points at the check."""
    ledger = await _open(graph)
    graph.server.query(ADDED)

    with pytest.raises(ConstraintBroken) as by_edge:
        await append(ledger, edge_begin("g-200"))
    with pytest.raises(ConstraintBroken) as by_selector:
        await append(ledger, edge_begin("g-300", to="wp:post:9"))

    assert [each.value.facts["name"] for each in (by_edge, by_selector)] == ["g-200", "wp:post:9"]
    assert "graph check" in by_edge.value.advice
    assert (await ledger.head()).revision == 3


@pytest.mark.parametrize(
    "edit",
    [ADDED, WIDENED, DELETED, SECOND_OWNER, REVIVED, REPOINTED, UNNAMED,
     "CREATE (:Principal {id: 'instance:eve', trust: 9})", "CREATE (:Lease {note: 'mine'})",
     PROMOTED, "MATCH (l:Lease) DETACH DELETE l", PROLONGED, SHORTENED,
     "MATCH ()-[pass:PASSES_TO]->() DELETE pass"],
    ids=["edge added", "filters widened", "edge deleted", "second owner", "ended edge revived",
         "edge pointed elsewhere", "edge without id", "principal added", "lease added", "principal changed",
         "lease deleted", "passage prolonged", "passage added", "passages deleted"],
)  # fmt: skip
async def test_what_is_set_aside_leaves_the_ledgers_graph(graph: Neo4jStore, edit: LiteralString) -> None:
    """Afterwards nothing differs, and what an engineer wrote is kept with its properties."""
    ledger = await _open(graph)
    graph.server.query(edit)
    found = await ledger.findings()

    await ledger.set_aside(found)

    assert await ledger.check() == []
    kept = {(each.slip, each.kind, each.name) for each in (aside.finding for aside in await ledger.was_set_aside())}
    assert kept == {(each.slip, each.kind, each.name) for each in found if each.properties}


async def test_a_foreign_edge_is_adopted(graph: Neo4jStore) -> None:
    """F010: set aside and appended as a change, an edit of an engineer is an edge of the ledger with its revision."""
    ledger = await _open(graph)
    graph.server.query(ADDED)
    proposal = (await _proposed(ledger))[0]
    await ledger.set_aside(await ledger.findings())

    entry = await append(ledger, Change("edge.begin", {**proposal, "version": 1, "epoch": 1, "issuer": "human:ada"}))

    rows = graph.server.query("MATCH ()-[edge:MAY_WRITE {edge_id: 'g-200'}]->() RETURN edge.revision_from AS revision")
    assert rows == [{"revision": entry.revision}]
    assert await ledger.check() == []
    assert [str(each.finding.slip) for each in await ledger.was_set_aside()] == [Slip.ADDED, Slip.ADDED]


async def test_an_answer_without_its_command_is_found(graph: Neo4jStore) -> None:
    """A request that lost its answer would act again when repeated; one that never was asked is an invention."""
    ledger = await _open(graph)
    entry = await append(ledger, request_id="r-1")
    await append(ledger, request_id="r-2")

    graph.server.query("MATCH (op:Op {request_id: 'r-1'}) SET op.request_id = 'r-9'")

    assert list(await ledger.check()) == [
        f"request `r-1` of revision {entry.revision} has no such answer: a repeat would act again"
    ]
    graph.server.query(
        "MATCH (op:Op {request_id: 'r-9'}) CREATE (again:Op {request_id: 'r-1'}) SET again.revision = op.revision"
    )
    assert list(await ledger.check()) == [
        f"the answer to request `r-9` names revision {entry.revision}, where the log has no such command"
    ]


async def test_an_edit_of_other_labels_is_no_drift(graph: Neo4jStore) -> None:
    """What engineers note beside the graph under labels of their own is none of the ledger's business."""
    ledger = await _open(graph)

    graph.server.query("MATCH (p:Principal {id: 'instance:seo-7'}) CREATE (:Note {text: 'ask Bob'})-[:ABOUT]->(p)")

    assert await ledger.findings() == []
    assert await ledger.check() == []
