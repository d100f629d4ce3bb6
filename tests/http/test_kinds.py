"""The catalogue of nodes: each kind is expressed, stored, read back by another process, and found in Cypher."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from remit_graph.model.principal import KINDS
from remit_graph.world.load import load_world
from remit_graph.world.source import WorldRefused
from remit_service.replica.loading import load_view
from remit_service.signing import make_key
from tests.contract.backups import opened, place_of
from tests.http.serving import serve
from tests.http.test_passes import WORLD
from tests.http.test_restore import held

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.neo4j_server import Neo4jServer

MORE = "\n".join(f'  - {{id: "{kind}:of-this-kind", display_name: "A {kind}", trust: 1}}' for kind in KINDS)
WHOLE = (
    WORLD.replace("principals:\n", f"principals:\n{MORE}\n")
    .replace("WRITE_OPTIMISTIC}", "WRITE_OPTIMISTIC, fields: {body: {domain: CONTENT_BODY, merge: exclusive}}}")
    .replace("  page: {", '  environment: {key: "environment:{id}", concurrency: WRITE_EXCLUSIVE}\n  page: {')
    .replace("resources:\n", 'resources:\n  - {key: "environment:production"}\n  - {key: "page:p0"}\n')
    .replace('{key: "page:p", ', '{key: "page:p", part_of: ["environment:production"], ')
)
"""Principals of every kind, a resource type with a field, an environment, and what a lease and a capability take."""


@pytest.mark.feature("S18")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("neo4j", marks=pytest.mark.neo4j)])
async def test_every_kind_of_node_is_stored_and_read_back(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The twelve kinds and every level of principals, by a ledger opened anew; agents are types and workloads."""
    (tmp_path / "world.yaml").write_text(WHOLE)
    make_key(tmp_path / "signing.json")
    place = await place_of(kind, "kinds", request)
    served = await asyncio.to_thread(
        serve, tmp_path, tmp_path / "world.yaml", keys=("gateway",), store=place.store,
        store_password=place.store_password, base_url="https://remit.example.com",
        signing_key_file=tmp_path / "signing.json",
    )  # fmt: skip
    has = await asyncio.to_thread(held, served.client("gateway"), "p0")
    capability = next(iter(served.point.view.records["capability"]))
    await asyncio.to_thread(served.stop)

    ledger = await opened(place)
    view = (await load_view(ledger, await ledger.head())).view
    assert await ledger.check() == []
    await ledger.aclose()

    there = {each: view.principals[f"{each}:of-this-kind"] for each in KINDS}
    assert {each.display_name for each in there.values()} == {f"A {each}" for each in KINDS}
    assert {"environment:production", "page:p"} <= view.resources.keys()
    assert list(view.types["page"].fields) == ["body"]
    assert (view.policy_epoch, view.policy_revision) == (1, served.point.policy.revision)
    assert view.records["lease"][has.lease["lease_id"]]["holder"] == "instance:a"
    assert capability in view.records["capability"]
    if kind == "neo4j":
        server: Neo4jServer = request.getfixturevalue("neo4j_of_this_run")
        labels = await asyncio.to_thread(
            server.query,
            """
            MATCH (node:Entity)
            WHERE node.id IN $ids OR node.key IN $keys OR node.name = 'page' OR node:Policy
            RETURN labels(node) AS labels, coalesce(node.id, node.name, node.key, 'policy') AS name
            """,
            ids=[*(each.id for each in there.values()), has.lease["lease_id"], capability],
            keys=["environment:production", "page:p"],
        )
        found = {row["name"]: label for row in labels for label in row["labels"] if label != "Entity"}
        assert found == {
            **{each.id: "Principal" for each in there.values()},
            "environment:production": "Resource", "page:p": "Resource", "page": "ResourceType", "policy": "Policy",
            has.lease["lease_id"]: "Lease", capability: "Capability",
        }  # fmt: skip


@pytest.mark.feature("S18")
def test_a_kind_outside_the_catalogue_is_refused() -> None:
    """By name, with the kinds there are: nothing is stored as a principal of some other kind."""
    with pytest.raises(WorldRefused) as refused:
        load_world(WHOLE.replace("team:of-this-kind", "squad:of-this-kind"), file="world.yaml")

    assert "`squad` is no kind of principal; known are organization, team, role" in str(refused.value)
