"""Anything in the view can be found in Cypher: the two are compared after random histories."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.edge import Edge, EdgeType, parse_edge
from remit_graph.neo4j import Neo4jLedger
from remit_graph.neo4j.proposal import proposed
from remit_graph.view.apply import apply
from remit_graph.view.state import View
from tests.contract.ledger_commands import a_command, now
from tests.contract.ledgers import REALM, Neo4jStore, neo4j_store
from tests.contract.neo4j_histories import History

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from remit_graph.model.change import Change
    from tests.support.neo4j_server import Neo4jServer

pytestmark = pytest.mark.neo4j
TYPES = "|".join(EdgeType)
PAST_TYPES = "|".join(f"WAS_{each}" for each in EdgeType)


@pytest.fixture
async def graph(request: pytest.FixtureRequest) -> AsyncIterator[Neo4jStore]:
    """A database with an empty ledger."""
    made = await neo4j_store(request)
    yield made
    await made.aclose()


async def _append_all(ledger: Neo4jLedger, history: list[list[Change]], seed: int) -> View:
    """Append the commands in batches of random sizes, and return the view after them."""
    sizes = Random(seed)  # noqa: S311 - the same batches for the same seed
    view = View()
    left = list(history)
    while left:
        size = sizes.choice([1, 1, 2, 5, 13])
        batch, left = left[:size], left[size:]
        head = await ledger.head()
        for entry in await ledger.append(head, [_command(changes, now(head)) for changes in batch]):
            apply(view, entry)
    return view


def _command(changes: list[Change], at: int) -> Any:
    return replace(a_command(at=at), changes=tuple(changes))


@pytest.mark.feature("S19")
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_anything_in_the_view_can_be_found_in_cypher(graph: Neo4jStore, seed: int) -> None:
    """Edges current and past, their scopes, principals, resources, records and declarations are the same in both."""
    ledger = await Neo4jLedger.open(graph.options, REALM)
    view = await _append_all(ledger, list(History(seed).commands(120)), seed)

    server = graph.server
    assert _edges(server, TYPES) == {edge.position: edge for edge in view.edges.values()}
    assert _edges(server, PAST_TYPES) == {edge.position: edge for past in view.history.values() for edge in past}
    assert _under(server) == {(edge_id, under) for under, made in view.under.items() for edge_id in made}
    assert _principals(server) == {each.id: (each.trust, dict(each.attributes)) for each in view.principals.values()}
    assert _resources(server) == {each.key: dict(each.attributes) for each in view.resources.values()}
    assert _records(server) == {name: dict(body) for some in view.records.values() for name, body in some.items()}
    assert _names(server, "ResourceType", "name") == set(view.types) - set(View().types)
    assert _names(server, "Action", "name") == set(view.actions) - set(View().actions)
    assert _names(server, "Alias", "alias") == set(view.aliases)
    assert await ledger.check() == []
    await ledger.aclose()


def _edges(server: Neo4jServer, types: str) -> dict[str, Edge]:
    rows = server.query(
        f"""
        MATCH (a)-[edge:{types}]->(b)
        RETURN type(edge) AS type, coalesce(a.id, a.key) AS from, coalesce(b.id, b.key) AS to,
               properties(edge) AS properties
        """
    )
    return {row["properties"]["position"]: _edge(row) for row in rows}


def _edge(row: dict[str, Any]) -> Edge:
    properties = row["properties"]
    record = proposed({**row, "type": row["type"].removeprefix("WAS_")})
    edge = parse_edge(record, revision_from=properties["revision_from"])
    if "revision_to" not in properties:
        return edge
    return edge.ended(revision=properties["revision_to"], at=properties["ended_at"], cause=properties["ended_by"])


def _under(server: Neo4jServer) -> set[tuple[str, str]]:
    rows = server.query(
        """
        MATCH (edge:Edge)-[:UNDER]->(right:Edge)
        WHERE edge.live IS NOT NULL
        RETURN edge.live AS id, right.edge_id AS under
        """
    )
    return {(row["id"], row["under"]) for row in rows}


def _principals(server: Neo4jServer) -> dict[str, tuple[int, dict[str, Any]]]:
    rows = server.query(
        """
        MATCH (node:Principal)
        WHERE NOT node:Mentioned
        RETURN node.id AS id, node.trust AS trust, node.attributes AS attributes
        """
    )
    return {row["id"]: (row["trust"], json.loads(row["attributes"])) for row in rows}


def _resources(server: Neo4jServer) -> dict[str, dict[str, Any]]:
    rows = server.query(
        """
        MATCH (node:Resource)
        WHERE NOT node:Mentioned
        RETURN node.key AS key, node.attributes AS attributes
        """
    )
    return {row["key"]: json.loads(row["attributes"]) for row in rows}


def _records(server: Neo4jServer) -> dict[str, dict[str, Any]]:
    rows = server.query("MATCH (node:Approval|Capability|ApiKey|Sequence) RETURN properties(node) AS properties")
    kept = {"as_of", "ref", "references", "revision_from", "row_digest"}
    records = [{name: value for name, value in row["properties"].items() if name not in kept} for row in rows]
    return {each["id"]: {**each, "tokens": json.loads(each["tokens"])} for each in records}


def _names(server: Neo4jServer, label: str, member: str) -> set[str]:
    rows = server.query(
        "MATCH (node:Entity) WHERE $label IN labels(node) RETURN node[$member] AS name", label=label, member=member
    )
    return {row["name"] for row in rows}
