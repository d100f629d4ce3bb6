"""A decision point with OPA beside it, configured as in `docker-compose.yml`, started as processes of this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
import yaml

from tests.support.process import Process, answers, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.services import StartOpa

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
REMIT = str(Path(sys.executable).with_name("remit"))


class Deployed:
    """One decision point of compose: its settings, with the embedded store and with ports that are free here."""

    def __init__(self, folder: Path) -> None:
        """Prepare it; nothing runs yet."""
        folder.mkdir()
        self.folder, self.port, self.opa_port = folder, free_port(), free_port()
        self.environment = COMPOSE["services"]["decision-1"]["environment"] | {
            "REMIT_ENGINE": f"http://127.0.0.1:{self.opa_port}",
            "REMIT_LISTEN": f"0.0.0.0:{self.port}",
            "REMIT_STORE": "sqlite:///remit.db",
            "REMIT_WORLD": str(ROOT / "fixtures" / "worlds" / "seo.yaml"),
        }
        self.process = Process([REMIT, *COMPOSE["services"]["decision-1"]["command"]], folder, self.environment)
        self.url = f"http://127.0.0.1:{self.port}"

    def remit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the surroundings of the decision point, as `docker compose run` does."""
        environment = {**os.environ, **self.environment}
        return subprocess.run(
            [REMIT, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )


@pytest.fixture
def deployed(tmp_path: Path) -> Iterator[Deployed]:
    """A decision point that was not started; ended with the test."""
    with ExitStack() as ends:
        deployed = Deployed(tmp_path / "decision-1")
        ends.callback(deployed.process.kill)
        yield deployed


def test_a_decision_point_that_nobody_could_authenticate_to_does_not_start(deployed: Deployed) -> None:
    """Without the step of `key create` the service refuses to be reached from outside, and says what to do."""
    done = deployed.remit("serve")

    assert done.returncode == 2
    assert "remit key create" in done.stderr


def test_opa_takes_its_policy_from_the_decision_point_beside_it(deployed: Deployed, start_opa: StartOpa) -> None:
    """OPA is healthy once it holds the bundle, which is the one in force; callers show the key that was made."""
    configuration = yaml.safe_load((ROOT / "deploy" / "opa.yaml").read_text())
    configuration["services"]["remit"]["url"] = deployed.url
    key = json.loads(deployed.remit("--json", "key", "create", "gateway").stdout)["key"]

    deployed.process.start(lambda: answers(deployed.port))
    opa = start_opa(configuration=configuration, port=deployed.opa_port)

    ready = httpx.get(f"{deployed.url}/health/ready").json()
    revision = httpx.get(f"{opa.url}/v1/data/remit/revision").json()["result"]
    assert revision == {"policy_revision": ready["policy_revision"]}
    question = {
        "subject": {"type": "human", "id": "nobody"},
        "action": {"name": "UPDATE_CANONICAL"},
        "resource": {"type": "wp:post", "id": "1024"},
    }
    path = f"{deployed.url}/access/v1/evaluation"
    assert httpx.post(path, json=question).status_code == 401
    answer = httpx.post(path, json=question, headers={"Authorization": f"Bearer {key}"}).json()
    assert (answer["decision"], answer["context"]["reasons"][0]["code"]) == (False, "unknown_subject")
