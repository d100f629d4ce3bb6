"""Edits in raw Cypher, as an engineer and an operator meet them: found, without authority, adopted or taken back."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from typer.testing import CliRunner

import remit_graph.neo4j
from remit_graph.errors import LedgerUnavailable
from remit_graph.neo4j import Neo4jLedger
from remit_graph.world.changes import iter_changes
from remit_graph.world.load import load_world
from remit_service.cli.app import app
from remit_service.secret import Secret
from tests.contract.ledger_commands import append
from tests.contract.ledgers import patient
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import LiteralString

    from tests.http.serving import Served
    from tests.support.neo4j_server import Neo4jServer

pytestmark = [pytest.mark.neo4j, pytest.mark.timeout(400)]

WORLD: Final = """
realm: acme
root: ["organization:acme"]
dimensions: [environment]
max_delegation_depth: 5
resource_types:
  environment: {key: "environment:{id}", concurrency: WRITE_EXCLUSIVE, lock_rank: 5}
  wp:post:
    key: "wp:post:{id}"
    concurrency: WRITE_OPTIMISTIC
    lock_rank: 30
    fields:
      canonical: {domain: CANONICAL, merge: exclusive, managed: true, independent: true}
      meta_description: {domain: SEO_METADATA, merge: field_versioned, managed: true, independent: true}
      tags: {domain: SEO_METADATA, merge: set_merge, managed: true, independent: true}
  git:repository: {key: "git:repository:{id}", concurrency: APPEND_ONLY, lock_rank: 40}
  ga4:report: {key: "ga4:report:{id}", concurrency: READ_SHARED, lock_rank: 60}
actions:
  READ_POST: {class: read}
  READ_REPORT: {class: read}
  COMMIT_CODE: {class: write, domain: INFRASTRUCTURE, risk: LOW, reversible: true}
  DELETE_POST: {class: write, domain: CONTENT_BODY, risk: HIGH, reversible: false}
  UPDATE_CANONICAL: {class: write, fields: [canonical], risk: MEDIUM, reversible: true}
  UPDATE_SEO_METADATA: {class: write, fields: [meta_description], risk: LOW, reversible: true}
  UPDATE_TAGS: {class: write, fields: [tags], risk: LOW, reversible: true}
principals:
  - {id: "organization:acme"}
  - {id: "controller:content-control-plane", trust: 4}
  - {id: "controller:seo-control-plane", trust: 4}
  - {id: "role:seo-agent", trust: 2}
  - {id: "role:auditor", trust: 3}
  - {id: "instance:seo-agent-7", trust: 2, acts_as: ["role:seo-agent"], identities: ["key:agent"]}
  - {id: "instance:new-agent-1"}
resources:
  - {key: "environment:production", attributes: {environment: production}}
  - {key: "wp:post:1024", part_of: ["environment:production"]}
  - {key: "wp:post:1025", part_of: ["environment:production"]}
owns:
  - {edge_id: own-seo, from: "controller:seo-control-plane", to: "wp:post:*",
     fields: [canonical, meta_description, tags]}
grants:
  - {edge_id: g-commit, edge: MAY_WRITE, from: "role:seo-agent", to: "git:repository:*"}
  - {edge_id: g-read-ga4, edge: MAY_READ, from: "role:auditor", to: "ga4:report:*", scope: {actions: [READ_REPORT]}}
  - {edge_id: g-govern, edge: MAY_WRITE, from: "controller:seo-control-plane", to: "remit:graph",
     scope: {actions: [DELEGATE]}}
may_delegate:
  - {edge_id: d-seo, from: "controller:seo-control-plane", to: "role:seo-agent", max_depth: 3,
     scope: {actions: [UPDATE_CANONICAL, UPDATE_SEO_METADATA], where: {environment: [production]}}}
delegations:
  - {delegation_id: del_882, from: "controller:seo-control-plane", to: "role:seo-agent", under: d-seo, max_depth: 2,
     scope: {actions: [UPDATE_CANONICAL], resources: ["wp:post:*"], fields: [canonical]}}
enforcement_points:
  - {id: "service:loopback", speaks_for: ["*:*"], trusted: [environment, fields, resource_version, risk],
     visibility: full, loopback: true}
"""
"""A small part of the demo world: what the guide's statements name is there."""

GUIDE: Final = Path(remit_graph.neo4j.__file__).parent / "AUTHORING.md"
POST: Final = "wp:post:1024"
READ: Final = ("-c", "risk=LOW", "-c", "expected_version=rev_1", "-c", "resource_version=rev_1")

FORBIDDEN: Final[dict[str, tuple[LiteralString, str]]] = {
    "OWNS own-thief": (
        """
        MATCH (who:Principal {id: 'controller:content-control-plane'})
        MATCH (what:Selector {key: 'wp:post:*'})
        CREATE (who)-[:OWNS {edge_id: 'own-thief', scope_fields: ['canonical']}]->(what)
        """,
        "ownership_conflict",
    ),
    "MAY_WRIT g-typo": (
        """
        MATCH (who:Principal {id: 'instance:seo-agent-7'})
        MATCH (what:Selector {key: 'wp:post:*'})
        CREATE (who)-[:MAY_WRIT {edge_id: 'g-typo'}]->(what)
        """,
        "malformed_request",
    ),
    "MAY_WRITE ": (
        """
        MATCH (who:Principal {id: 'instance:seo-agent-7'})
        MATCH (what:Selector {key: 'wp:post:*'})
        CREATE (who)-[:MAY_WRITE {scope_actions: ['DELETE_POST']}]->(what)
        """,
        "malformed_request",
    ),
    "DELEGATES del_882@1": (
        "MATCH ()-[edge:DELEGATES {edge_id: 'del_882'}]->() SET edge.scope_actions = ['DELETE_POST']",
        "attenuation_violated",
    ),
    "PASSES_TO del_882@1": (
        "MATCH ()-[edge:PASSES_TO {position: 'del_882@1'}]->() DELETE edge",
        "invalid_transition",
    ),
}
"""Edits that no command could have made, by kind and name, with the code of the refusal."""

CHOICES: Final[tuple[LiteralString, ...]] = (
    """
    MATCH (role:Principal {id: 'role:seo-agent'})
    MERGE (what:Selector {key: 'wp:post:1024'})
    CREATE (role)-[:MAY_WRITE {edge_id: 'g-tags', issuer: 'controller:seo-control-plane', scope_fields: ['tags'],
                               scope_actions: ['UPDATE_TAGS']}]->(what)
    """,
    """
    MATCH (who:Principal {id: 'instance:seo-agent-7'})
    MATCH (what:Selector {key: 'wp:post:*'})
    CREATE (who)-[:MAY_WRIT {edge_id: 'g-typo'}]->(what)
    """,
    "MATCH ()-[edge:MAY_READ {edge_id: 'g-read-ga4'}]->() DELETE edge",
)
"""Edits of which single ones are chosen."""


async def bring_in(server: Neo4jServer) -> None:
    """Put the world into the store with bounds that no busy machine reaches: a server that is new compiles queries."""
    ledger = await Neo4jLedger.init(patient(url=server.url, user=server.user, password=server.password), "acme")
    world = load_world(WORLD, file="world.yaml")
    await append(ledger, *iter_changes(world))
    await ledger.aclose()


@pytest.fixture
def served(neo4j_server: Neo4jServer, tmp_path: Path) -> Iterator[Served]:
    """The content platform on Neo4j, for callers of this machine."""
    address = neo4j_server.url.replace("://", f"://{neo4j_server.user}@")
    password = Secret(neo4j_server.password)
    asyncio.run(bring_in(neo4j_server))
    # A database that was just started is slow to answer for the first time; how fresh a view is, is no question here.
    yield from stopped_later(serve(tmp_path, None, store=address, store_password=password, demo=False,
                                   anonymous_loopback=True, max_staleness_seconds=60.0, keys=("agent",)))  # fmt: skip


def remit(served: Served, *words: str, on_store: bool = False) -> tuple[int, dict[str, Any]]:
    """Run a command with `--json`, against the service or on its store; returns its exit code and document."""
    place = ("--store", served.settings.store) if on_store else ("--url", served.url)
    password = served.settings.store_password
    environment = {"REMIT_STORE_PASSWORD": password.reveal()} if on_store and password is not None else {}
    result = CliRunner().invoke(app, [*place, "--json", *words], env=environment)
    return result.exit_code, json.loads(result.stdout)


def named(edits: list[dict[str, Any]]) -> set[str]:
    """Return the edits of an answer by kind and name."""
    return {f"{each['kind']} {each['name']}" for each in edits}


def decide(served: Served, who: str, action: str, resource: str = POST) -> int:
    """Return the exit code of `remit decide`: 0 where it is permitted."""
    return remit(served, "decide", who, action, resource, *READ)[0]


def test_what_the_guide_says_an_engineer_can_do(served: Served, neo4j_server: Neo4jServer) -> None:
    """Each statement of AUTHORING.md is found by name and gives nothing; adopted, it is a change and counts."""
    statements = re.findall(r"```cypher\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    before = served.point.view.revision
    for statement in statements:
        neo4j_server.query(statement)

    code, checked = remit(served, "graph", "check")
    expected = {
        "Principal instance:seo-agent-9", "ACTS_AS ", "MAY_WRITE g-tags", "Selector wp:post:1024", "DELEGATES d-meta",
        "MAY_WRITE g-commit@1", "MAY_READ g-read-ga4@1", "Principal principal/instance:new-agent-1",
    }  # fmt: skip
    assert (code, named(checked["edits"])) == (1, expected)
    assert decide(served, "instance:seo-agent-9", "UPDATE_TAGS") == 1
    health = served.client().get("/health/ready")
    assert health.status_code == 200
    assert "past the ledger was added: MAY_WRITE `g-tags`" in health.json()["warnings"]
    assert f"remit_graph_drift {len(expected)}.0" in served.client().get("/metrics").text

    code, tried = remit(served, "graph", "adopt", "--dry-run")
    assert "refused" in tried, tried
    assert [(each["name"], each["code"], each["message"]) for each in tried["refused"]] == []
    assert (code, served.point.view.revision) == (0, before)

    code, adopted = remit(served, "graph", "adopt", "--reason", "a new agent")
    assert (code, adopted.get("refused")) == (0, []), adopted
    assert named(adopted["adopted"]) == expected - {"Selector wp:post:1024"}
    assert sorted(each["revision_number"] for each in adopted["adopted"]) == list(range(before + 1, before + 8))
    assert remit(served, "graph", "check") == (0, {**checked, "problems": [], "edits": [],
                                                   "revision": adopted["revision"]})  # fmt: skip
    assert decide(served, "instance:seo-agent-9", "UPDATE_TAGS") == 0
    assert served.point.view.principals["instance:new-agent-1"].trust == 1
    assert "g-read-ga4" not in served.point.view.edges
    assert served.point.view.edges["g-commit"].valid_until == 4102444800000000
    assert served.client().get("/health/ready").json()["warnings"] == []


def test_what_no_command_could_have_made_is_refused_and_taken_back(served: Served, neo4j_server: Neo4jServer) -> None:
    """F010, F036: found, worth nothing, refused with the reason; quarantined, kept, and gone from what Cypher reads."""
    before = served.point.view.revision
    for statement, _ in FORBIDDEN.values():
        neo4j_server.query(statement)

    code, told = remit(served, "graph", "adopt", on_store=True)

    assert (code, told["adopted"]) == (1, [])
    assert {f"{each['kind']} {each['name']}": each["code"] for each in told["refused"]} == {
        name: code for name, (_, code) in FORBIDDEN.items()
    }
    assert served.point.view.revision == before
    assert decide(served, "instance:seo-agent-7", "DELETE_POST") == 1

    # Whoever may not govern may not take anything back either.
    outsider = served.client("agent")
    answers = [outsider.post(f"/v1/graph/{verb}", json={}).status_code for verb in ("quarantine", "adopt")]
    assert answers == [403, 403]

    code, aside = remit(served, "graph", "quarantine")
    assert (code, named(aside["set_aside"])) == (0, set(FORBIDDEN))
    assert remit(served, "graph", "check", "--quick")[0] == 0
    assert neo4j_server.query("MATCH ()-[e {edge_id: 'own-thief'}]->() RETURN e") == []
    kept = {f"{each['kind']} {each['name']}" for each in remit(served, "graph", "quarantine", "--list")[1]["kept"]}
    assert kept == set(FORBIDDEN) - {"PASSES_TO del_882@1"}


def test_single_edits_are_chosen_and_the_rest_stays_foreign(
    served: Served, neo4j_server: Neo4jServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By id or by kind, to adopt or to set aside; an id is of the edit that was looked at, and of no later one."""
    for statement in CHOICES:
        neo4j_server.query(statement)
    # The route has looked at the whole graph by itself: the ledger's own check does not do it again.
    monkeypatch.setattr("remit_graph.neo4j.check.findings", None)
    code, checked = remit(served, "graph", "check")
    ids = {each["name"]: each["edit_id"] for each in checked["edits"]}
    assert (code, set(ids), checked["problems"]) == (
        1, {"g-tags", "g-read-ga4@1", "wp:post:1024", "g-typo"}, [each["sentence"] for each in checked["edits"]],
    )  # fmt: skip

    assert remit(served, "graph", "adopt", "edit-000000000000")[0] == 2
    assert remit(served, "graph", "adopt", "--only", "MAY_WRIET")[0] == 2
    assert remit(served, "graph", "check")[1]["edits"] == checked["edits"]

    chosen = ("graph", "adopt", ids["g-tags"], ids["g-typo"])
    # An approval is put to the policy, which knows none of that name.
    code, adopted = remit(served, *chosen, "--approval", "apr_1", "--dry-run", "--impact")
    assert (code, {each["name"]: each["code"] for each in adopted["refused"]}, adopted["impact"]["changed"]) == (
        1, {"g-tags": "approval_stale", "g-typo": "malformed_request"}, 0,
    )  # fmt: skip
    code, adopted = remit(served, *chosen, "--reason", "a tagger")
    assert (code, [each["name"] for each in adopted["adopted"]]) == (1, ["g-tags"])
    assert [each["name"] for each in adopted["brought_along"]] == ["wp:post:1024"]
    assert ([each["name"] for each in adopted["refused"]], adopted["left"]) == (["g-typo"], 1)

    neo4j_server.query("MATCH ()-[edge:MAY_WRIT]->() SET edge.scope_actions = ['DELETE_POST']")
    assert remit(served, "graph", "quarantine", ids["g-typo"])[0] == 2
    code, aside = remit(served, "graph", "quarantine", "--only", "MAY_WRIT", "--reason", "nobody meant it")
    assert (code, [each["name"] for each in aside["set_aside"]], aside["left"]) == (0, ["g-typo"], 1)
    kept = [each for each in remit(served, "graph", "quarantine", "--list")[1]["kept"] if each["name"] == "g-typo"]
    assert [(each["reason"], each["set_aside_by"]) for each in kept] == [("nobody meant it", "organization:acme")]
    assert kept[0]["edit_id"] == aside["set_aside"][0]["edit_id"] != ids["g-typo"]
    assert served.client().get("/health/ready").json()["drift"] == 1
    assert "g-read-ga4" in served.point.view.edges

    # A store that is gone in the middle: the edit is out of the graph, and its author is told where it is.
    async def gone(*_: object) -> None:
        raise LedgerUnavailable("the ledger is gone")

    monkeypatch.setattr(type(served.point), "submit", gone)
    code, told = remit(served, "graph", "adopt")
    assert (code, [each["name"] for each in told["refused"]], told["adopted"]) == (1, ["g-read-ga4@1"], [])
    assert "the ledger is gone; the edit was set aside" in told["refused"][0]["message"]


def test_the_watch_finds_an_edit_by_itself(served: Served, neo4j_server: Neo4jServer) -> None:
    """A command that meets an edit is refused with 409 and wakes the watch; the alarm ends with the edit."""
    neo4j_server.query("CREATE (:Selector {key: 'wp:post:77'})")
    grant = {"edge_id": "g-77", "edge": "MAY_READ", "from": "role:auditor", "to": "wp:post:77",
             "scope": {"actions": ["READ_POST"]}}  # fmt: skip
    looks = served.point.drift.looks

    refused = served.client().post("/v1/grants", json=grant)

    assert (refused.status_code, "past the ledger" in refused.json()["detail"]) == (409, True)
    while served.point.drift.looks == looks:
        served.client().get("/health/live")
    assert served.client().get("/health/ready").json()["drift"] == 1
    assert remit(served, "graph", "quarantine")[0] == 0
    assert served.client().get("/health/ready").json()["drift"] == 0
    assert served.client().post("/v1/grants", json=grant).status_code == 201
