"""What `docker-compose.yml` starts: its parts fit together, and those that are real programs here run as it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import yaml

from remit_service.settings_sources import load_settings
from tests.support.process import free_port
from tests.support.programs import OPA_VERSION, neo4j_version, opa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.opa_server import OpaServer
    from tests.support.services import StartGateway

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]


def test_the_standard_form_is_complete() -> None:
    """Neo4j, two decision points with OPA beside each in one network, and nginx."""
    pairs = [f"{kind}-{number}" for kind in ("decision", "network", "opa") for number in (1, 2)]

    assert sorted(SERVICES) == sorted(["balancer", "neo4j", *pairs])


@pytest.mark.parametrize("number", [1, 2])
def test_a_decision_point_that_crashes_does_not_lose_its_opa(number: int) -> None:
    """Their network belongs to neither, and nginx finds it under the decision point's name."""
    network, shared = SERVICES[f"network-{number}"], f"service:network-{number}"

    assert {SERVICES[f"{kind}-{number}"]["network_mode"] for kind in ("decision", "opa")} == {shared}
    assert network["networks"]["default"]["aliases"] == [f"decision-{number}"]
    assert network["entrypoint"] == ["tail", "-f", "/dev/null"]
    assert network["image"] == SERVICES["balancer"]["image"]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_every_service_has_a_health_check(name: str) -> None:
    """`docker compose up --wait` returns when all is well, not when all was started."""
    check = SERVICES[name]["healthcheck"]

    assert check["test"][0] in {"CMD", "CMD-SHELL"}
    assert check["retries"] > 0


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_services_wait_for_services_that_exist(name: str) -> None:
    """Dependencies name services, and every mounted file is in the repository."""
    service = SERVICES[name]
    files = [volume.partition(":")[0] for volume in service.get("volumes", ()) if volume.startswith("./")]

    assert set(service.get("depends_on", {})) <= set(SERVICES)
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_only_the_balancer_is_reachable_and_only_from_this_machine() -> None:
    """Neo4j, OPA and the decision points publish no port."""
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}

    assert published == {"balancer": ["127.0.0.1:8180:8080"]}


@pytest.mark.parametrize("name", ["decision-1", "decision-2"])
def test_a_decision_point_understands_its_environment(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each variable is a setting, and together they are a configuration that other machines may reach."""
    monkeypatch.chdir(tmp_path)
    environment = SERVICES[name]["environment"]

    settings = load_settings(environment=environment)

    assert sorted(settings.origins) == sorted(variable.removeprefix("REMIT_").lower() for variable in environment)
    assert (settings.replica, settings.is_loopback) == (name, False)
    assert settings.store_password is not None


def test_no_password_is_written_down() -> None:
    """Every value that holds a secret is asked for, without a default."""
    secrets = [
        value
        for service in SERVICES.values()
        for variable, value in service.get("environment", {}).items()
        if re.search("AUTH|PASSWORD|SECRET", variable)
    ]

    assert len(secrets) == 3
    assert all("${NEO4J_PASSWORD:?" in value for value in secrets)


def test_the_images_are_what_the_tests_run() -> None:
    """The versions of Neo4j and OPA are those of the tests."""
    assert SERVICES["neo4j"]["image"] == f"neo4j:{neo4j_version()}-community"
    assert SERVICES["opa-1"]["image"] == f"openpolicyagent/opa:{OPA_VERSION}"


def test_the_image_is_built_from_files_that_exist_and_are_sent() -> None:
    """What the Dockerfile copies is in the repository, and `.dockerignore` lets it through."""
    copied = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    sources = [source for line in copied for source in line.split()]
    sent = {line[2:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!/")}

    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert set(sources) == sent


def test_opa_health_check_tells_a_healthy_opa_from_none(opa_server: OpaServer) -> None:
    """The command of the health check is OPA itself, which the image has."""
    command = SERVICES["opa-1"]["healthcheck"]["test"]
    assert command[:2] == ["CMD", "/opa"]

    def checked(port: int) -> int:
        arguments = [argument.replace(":8181", f":{port}") for argument in command[2:]]
        return subprocess.run([opa(), *arguments], capture_output=True, check=False).returncode

    assert checked(opa_server.port) == 0
    assert checked(free_port()) != 0


@pytest.fixture
def decision_points() -> Iterator[dict[str, int]]:
    """Two upstreams that answer with their names: name to port."""
    servers = {name: ThreadingHTTPServer(("127.0.0.1", 0), _named(name)) for name in ("decision-1", "decision-2")}
    threads = [Thread(target=server.serve_forever, args=(0.01,)) for server in servers.values()]
    for thread in threads:
        thread.start()
    yield {name: server.server_port for name, server in servers.items()}
    for server in servers.values():
        server.shutdown()
        server.server_close()
    for thread in threads:
        thread.join()


def _named(name: str) -> type[BaseHTTPRequestHandler]:
    class Named(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(name)))
            self.end_headers()
            self.wfile.write(name.encode())

        def log_message(self, *_: object) -> None:
            pass

    return Named


def _balancer(port: int, upstreams: dict[str, int]) -> str:
    """Return the configuration of the balancer with the names of compose replaced by addresses here."""
    text = (ROOT / "deploy" / "nginx.conf").read_text().replace("listen 8080", f"listen 127.0.0.1:{port}")
    for name, upstream in upstreams.items():
        text = text.replace(f"{name}:8180", f"127.0.0.1:{upstream}")
    return text


def test_the_balancer_uses_both_decision_points(start_gateway: StartGateway, decision_points: dict[str, int]) -> None:
    """Callers are spread over both."""
    port = free_port()
    start_gateway("nginx", _balancer(port, decision_points), port=port)

    answers = {httpx.post(f"http://127.0.0.1:{port}/access/v1/evaluation", json={}).text for _ in range(4)}

    assert answers == {"decision-1", "decision-2"}


def test_the_balancer_passes_over_a_decision_point_that_is_gone(
    start_gateway: StartGateway, decision_points: dict[str, int]
) -> None:
    """Each call is answered while one of the two is left."""
    port, upstreams = free_port(), {**decision_points, "decision-1": free_port()}
    start_gateway("nginx", _balancer(port, upstreams), port=port)

    answers = [httpx.post(f"http://127.0.0.1:{port}/access/v1/evaluation", json={}) for _ in range(4)]

    assert [(answer.status_code, answer.text) for answer in answers] == [(200, "decision-2")] * 4


def test_the_balancer_answers_nothing_by_itself(start_gateway: StartGateway) -> None:
    """Without a decision point there is no answer that could be taken for a permit."""
    port = free_port()
    start_gateway("nginx", _balancer(port, {"decision-1": free_port(), "decision-2": free_port()}), port=port)

    assert httpx.post(f"http://127.0.0.1:{port}/access/v1/evaluation", json={}).status_code == 502


@pytest.mark.slow
def test_what_the_image_holds_is_a_whole_decision_point(tmp_path: Path) -> None:
    """The Dockerfile's steps, done in a folder with no more than it copies; its entry point then finds all it needs."""
    made, installed = tmp_path / "made", tmp_path / "installed"
    steps = (ROOT / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (.+)$", steps, flags=re.MULTILINE):
        *sources, place = line.split()
        for source in sources:
            target = made / source if place == "./" else made / place
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
            copy(ROOT / source, target)
    words = re.search(r"^RUN (pip install --no-cache-dir --no-deps.*?) &&", steps, flags=re.MULTILINE)
    assert words is not None
    # `--target` stands in for the image's own Python.
    install = [sys.executable, "-m", *words[1].split(), "--target", str(installed), "--disable-pip-version-check"]
    subprocess.run(install, cwd=made, check=True, capture_output=True)

    entry = json.loads(re.findall(r"^ENTRYPOINT (.+)$", steps, flags=re.MULTILINE)[0])
    environment = {"PYTHONPATH": str(installed), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    def told(*words: str) -> str:
        call = [sys.executable, *words]
        return subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout

    where = told("-c", "import remit_service as module; print(module.__file__)")
    looked = told(str(installed / "bin" / entry[0]), *entry[1:], "--json", "doctor")

    assert where.strip() == str(installed / "remit_service" / "__init__.py")
    assert {each["what"]: each["good"] for each in json.loads(looked)["findings"]} == {
        "program": True, "policy": True, "store": True, "engine": True, "opa": True,
    }  # fmt: skip
    assert json.loads(re.findall(r"^CMD (.+)$", steps, flags=re.MULTILINE)[0]) == SERVICES["decision-1"]["command"]
