"""The servers of the tests keep what their fixtures promise; the chaos suite stands on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
from neo4j import GraphDatabase
from neo4j.exceptions import AuthError

from tests.support.process import NotReadyError, free_port

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.neo4j_server import Neo4jServer
    from tests.support.opa_server import OpaServer
    from tests.support.services import StartGateway, StartOpa

RULE = "package trial\n\nanswer := 42\n"

# Each asks for its answer through a handler of its own, so a 418 shows that the configuration is in force.
TEAPOTS = {
    "nginx": "events {{}}\nhttp {{ access_log off; server {{ listen 127.0.0.1:{port}; return 418; }} }}\n",
    "caddy": "{{\n admin off\n auto_https off\n}}\nhttp://127.0.0.1:{port} {{\n respond 418\n}}\n",
    "haproxy": (
        "defaults\n mode http\n timeout client 5s\n timeout connect 5s\n timeout server 5s\n"
        "frontend trial\n bind 127.0.0.1:{port}\n http-request return status 418\n"
    ),
}


def test_neo4j_answers_a_query_over_bolt(neo4j_server: Neo4jServer) -> None:
    """The server is a Neo4j 5.26 that knows its user."""
    with GraphDatabase.driver(neo4j_server.url, auth=neo4j_server.auth) as driver:
        records, _, _ = driver.execute_query("CALL dbms.components() YIELD versions RETURN versions[0] AS version")

    assert records[0]["version"].startswith("5.26.")


def test_neo4j_refuses_a_wrong_password(neo4j_server: Neo4jServer) -> None:
    """Authentication is on."""
    with (
        GraphDatabase.driver(neo4j_server.url, auth=(neo4j_server.user, "wrong")) as driver,
        pytest.raises(AuthError),
    ):
        driver.execute_query("RETURN 1")


def test_neo4j_is_empty_after_clear(neo4j_server: Neo4jServer) -> None:
    """Neither data nor schema of one test reaches the next."""
    neo4j_server.query("CREATE CONSTRAINT trial_id IF NOT EXISTS FOR (n:Trial) REQUIRE n.id IS UNIQUE")
    neo4j_server.query("CREATE INDEX trial_at IF NOT EXISTS FOR (n:Trial) ON (n.at)")
    neo4j_server.query("UNWIND range(1, 10) AS id CREATE (:Trial {id: id})")

    neo4j_server.clear()

    assert neo4j_server.query("MATCH (n) RETURN count(n) AS nodes") == [{"nodes": 0}]
    assert neo4j_server.query("SHOW CONSTRAINTS YIELD name") == []
    assert neo4j_server.query("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name") == []


@pytest.mark.chaos
def test_neo4j_keeps_what_was_committed_before_a_kill(neo4j_server: Neo4jServer) -> None:
    """A crash loses nothing that was acknowledged, and the restarted server has the same address."""
    neo4j_server.query("CREATE (:Trial {id: $id})", id=7)

    neo4j_server.restart()

    assert neo4j_server.query("MATCH (n:Trial) RETURN n.id AS id") == [{"id": 7}]


def test_opa_evaluates_a_rule(opa_server: OpaServer) -> None:
    """A policy put over HTTP answers."""
    httpx.put(f"{opa_server.url}/v1/policies/trial", content=RULE).raise_for_status()

    assert httpx.get(f"{opa_server.url}/v1/data/trial/answer").json() == {"result": 42}


def test_opa_is_empty_after_clear(opa_server: OpaServer) -> None:
    """Neither policy nor data of one test reaches the next."""
    httpx.put(f"{opa_server.url}/v1/policies/trial", content=RULE).raise_for_status()
    httpx.put(f"{opa_server.url}/v1/data/facts", json={"a": 1}).raise_for_status()

    opa_server.clear()

    assert httpx.get(f"{opa_server.url}/v1/data").json() == {"result": {}}


@pytest.mark.chaos
def test_a_paused_opa_answers_after_it_goes_on(opa_server: OpaServer) -> None:
    """A frozen server lets a caller run into its timeout, and is well afterwards."""
    opa_server.pause()
    with pytest.raises(httpx.TimeoutException):
        httpx.get(f"{opa_server.url}/health", timeout=0.2)

    opa_server.resume()

    assert httpx.get(f"{opa_server.url}/health", timeout=5).status_code == 200


def test_opa_starts_with_a_folder_of_policy(start_opa: StartOpa, tmp_path: Path) -> None:
    """What is loaded at the start answers."""
    (tmp_path / "trial.rego").write_text(RULE)

    server = start_opa(tmp_path / "trial.rego")

    assert httpx.get(f"{server.url}/v1/data/trial/answer").json() == {"result": 42}


@pytest.mark.parametrize("name", sorted(TEAPOTS))
def test_a_gateway_serves_its_configuration(start_gateway: StartGateway, name: str) -> None:
    """The gateway accepts connections and does what its configuration says."""
    port = free_port()

    start_gateway(name, TEAPOTS[name].format(port=port), port=port)

    assert httpx.get(f"http://127.0.0.1:{port}/").status_code == 418


def test_a_gateway_that_refuses_its_configuration_says_why(start_gateway: StartGateway) -> None:
    """The error quotes the gateway."""
    with pytest.raises(NotReadyError, match="unknown directive"):
        start_gateway("nginx", "nonsense on;", port=free_port())
