"""All that `docker-compose.yml` starts, started without Docker: Neo4j, two decision points, OPA beside each, nginx.

Every part is the real program with the settings of compose and the files of `deploy/`; only names and ports are
replaced by those that are free on this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest
import yaml

from tests.http.questions import PERMITTED
from tests.support.process import Process, free_port, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.neo4j_server import Neo4jServer
    from tests.support.services import StartGateway, StartOpa

ROOT: Final = Path(__file__).parents[2]
COMPOSE: Final[dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
NAMES: Final = ("decision-1", "decision-2")
PATIENCE: Final = 150
EVALUATION: Final = "/access/v1/evaluation"


class Part:
    """One decision point of compose with the OPA in its network."""

    def __init__(self, name: str, folder: Path, neo4j: Neo4jServer) -> None:
        """Prepare it; nothing runs yet."""
        self.name, self.port, self.opa_port = name, free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        replaced = {
            "http://127.0.0.1:8181": f"http://127.0.0.1:{self.opa_port}",
            "0.0.0.0:8180": f"0.0.0.0:{self.port}",
            "neo4j:7687": f"127.0.0.1:{neo4j.port}",
            "/etc/remit/world.yaml": str(ROOT / "fixtures" / "worlds" / "seo.yaml"),
        }
        self.environment: dict[str, str] = {}
        for variable, value in COMPOSE["services"][name]["environment"].items():
            text = neo4j.password if "NEO4J_PASSWORD" in value else value
            for of_compose, here in replaced.items():
                text = text.replace(of_compose, here)
            self.environment[variable] = text
        self.folder = folder / name
        self.folder.mkdir()
        self.command = COMPOSE["services"][name]["command"]
        self.process = Process([sys.executable, "-m", "remit_service", *self.command], self.folder, self.environment)

    def start(self, start_opa: StartOpa) -> None:
        """Start both, and return when the decision point is ready."""
        self.process.start(self.is_live, within_seconds=PATIENCE)
        configuration = yaml.safe_load((ROOT / "deploy" / "opa.yaml").read_text())
        configuration["services"]["remit"]["url"] = self.url
        self.opa = start_opa(configuration=configuration, port=self.opa_port)
        wait_until(self.is_ready, within_seconds=PATIENCE)

    def remit(self, *arguments: str) -> dict[str, Any]:
        """Run a command as `docker compose run` does, and return its document."""
        done = subprocess.run(
            [sys.executable, "-m", "remit_service", "--json", *arguments],
            cwd=self.folder, env={**os.environ, **self.environment}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def is_live(self) -> bool:
        """Do what the health check of compose does."""
        return self._answers("/health/live")

    def is_ready(self) -> bool:
        """Whether it says that it should be asked."""
        return self._answers("/health/ready")

    def revision_of_opa(self) -> str:
        """Return the policy that the OPA beside it holds."""
        found = httpx.get(f"{self.opa.url}/v1/data/remit/revision").json()["result"]["policy_revision"]
        return str(found)

    def _answers(self, path: str) -> bool:
        try:
            return httpx.get(f"{self.url}{path}", timeout=2).is_success
        except httpx.TransportError:
            return False


@pytest.fixture
def parts(tmp_path: Path, neo4j_server: Neo4jServer) -> Iterator[list[Part]]:
    """The two decision points, not started; ended with the test."""
    with ExitStack() as ends:
        made = [Part(name, tmp_path, neo4j_server) for name in NAMES]
        for each in made:
            ends.callback(each.process.kill)
        yield made


@pytest.mark.chaos
@pytest.mark.timeout(400)
def test_the_standard_form_works_and_outlives_a_decision_point(
    parts: list[Part], start_opa: StartOpa, start_gateway: StartGateway
) -> None:
    """A key is made first, as the file says; then both answer through nginx, agree, and one is enough."""
    key = parts[0].remit("key", "create", "gateway")["key"]
    for each in parts:
        each.start(start_opa)
    port = free_port()
    text = (ROOT / "deploy" / "nginx.conf").read_text().replace("listen 8080", f"listen 127.0.0.1:{port}")
    for each in parts:
        text = text.replace(f"{each.name}:8180", f"127.0.0.1:{each.port}")
    start_gateway("nginx", text, port=port)
    client = httpx.Client(
        base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {key}"}, timeout=30
    )  # fmt: skip

    with client:
        # (1) Callers show the key that was made, whichever they reach; nobody else is let in.
        assert httpx.post(f"http://127.0.0.1:{port}{EVALUATION}", json=PERMITTED).status_code == 401
        before = [_asked(each) for each in parts]
        answers = [client.post(EVALUATION, json=PERMITTED).json() for _ in range(8)]
        assert [each["decision"] for each in answers] == [True] * 8
        assert all(_asked(each) > asked for each, asked in zip(parts, before, strict=True))
        # (2) Both OPAs hold the bundle in force, and decided.
        revisions = {each.revision_of_opa() for each in parts}
        assert revisions == {answers[0]["context"]["policy_revision"]}
        # (3) What is changed through one is seen through the other with its token.
        body = {"disabled": True, "actor": "human:chief"}
        changed = client.patch("/v1/principals/instance:seo-agent-7", json=body)
        assert changed.status_code == 200, changed.text
        fresh = {"consistency": {"at_least_as_fresh": changed.json()["revision"]}}
        asked = {**PERMITTED, "context": {**PERMITTED["context"], **fresh}}
        told = [client.post(EVALUATION, json=asked).json() for _ in range(4)]
        assert {each["context"]["reasons"][0]["code"] for each in told} == {"subject_disabled"}
        # (4) One is killed, and no call is lost.
        parts[0].process.kill()
        told = [client.post(EVALUATION, json=asked).json() for _ in range(6)]
        assert {each["context"]["reasons"][0]["code"] for each in told} == {"subject_disabled"}
        assert client.patch("/v1/principals/instance:seo-agent-7", json={**body, "disabled": False}).status_code == 200
        # (5) It comes back by itself, as its host would bring it, and takes its share again.
        parts[0].process.start(parts[0].is_ready, within_seconds=PATIENCE)
        before = [_asked(each) for each in parts]
        wait_until(
            lambda: _answered(client) and all(_asked(part) > n for part, n in zip(parts, before, strict=True)),
            within_seconds=PATIENCE,
        )


def _asked(part: Part) -> float:
    """Return how many decisions a decision point has made, by its metrics."""
    lines = httpx.get(f"{part.url}/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("remit_decisions_total"))


def _answered(client: httpx.Client) -> bool:
    return bool(client.post(EVALUATION, json=PERMITTED).json()["decision"])
