"""Two versions of Remit on one ledger: a later one asks before it strands the older, which stops and never skips."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from remit_graph.model.change import SCHEMA
from remit_service.bootstrap import running_point
from remit_service.cli.target import Unrecorded
from tests.chaos.later_version import VERSION
from tests.contract.backups import place_of
from tests.support.process import Process, free_port, wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from remit_service.settings import Settings

ROOT = Path(__file__).parents[2]
SEO = ROOT / "fixtures" / "worlds" / "seo.yaml"
ASKED = {
    "subject": {"type": "instance", "id": "seo-agent-7"},
    "action": {"name": "READ_POST"},
    "resource": {"type": "wp:post", "id": "1024"},
}

pytestmark = [pytest.mark.chaos]


@dataclass
class Older:
    """A decision point of this version, as a process of its own, and the store it is on."""

    process: Process
    client: httpx.Client
    environment: dict[str, str]

    def ready(self) -> tuple[int, Any]:
        """Ask whether it is ready; returns the status and the document."""
        try:
            reply = self.client.get("/health/ready")
        except httpx.TransportError:
            return 0, {}
        return reply.status_code, reply.json()

    def remit(self, module: str, *words: str) -> tuple[int, Any]:
        """Run a command on the store, of this version or the later one; returns exit code and document."""
        done = subprocess.run(
            [sys.executable, "-m", module, "--json", *words],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            check=False,
        )
        return done.returncode, json.loads(done.stdout)


@pytest.fixture(params=["sqlite", pytest.param("neo4j", marks=pytest.mark.neo4j)])
async def older(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Older]:
    """A decision point that answers, on each kind of store."""
    place: Settings = await place_of(request.param, "shared", request)
    async with running_point(replace(place, world=SEO), Unrecorded()):
        pass
    environment = {**os.environ, "REMIT_STORE": place.store, "REMIT_MAX_STALENESS_SECONDS": "1"}
    if place.store_password is not None:
        environment["REMIT_STORE_PASSWORD"] = place.store_password.reveal()
    port = free_port()
    command = [
        sys.executable, "-m", "remit_service", "serve", "--listen", f"127.0.0.1:{port}",
        "--anonymous-loopback",
    ]  # fmt: skip
    process = Process(command, tmp_path, environment)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        made = Older(process, client, environment)
        process.start(lambda: made.ready()[0] == 200, within_seconds=90)
        yield made
        process.stop()


LATER = "tests.chaos.later_version"


@pytest.mark.timeout(300)
async def test_the_older_stops_at_a_row_it_does_not_know(older: Older) -> None:
    """It says which version it needs, denies, and stays where it is; started again, it refuses to start."""
    revision = older.ready()[1]["revision"]

    # (1) The later version on a store of the older schema writes what the older one understands.
    code, declared = older.remit(LATER, "principal", "declare", "instance:before")
    assert code == 0, declared
    wait_until(lambda: older.ready()[1]["revision"] > revision)

    # (2) Switching to its own schema would strand the older one: it is named, and nothing is changed.
    code, refused = older.remit(LATER, "store", "migrate", "--enable")
    assert (code, refused["done"], refused["schema"]) == (1, False, SCHEMA)
    assert [(each["schema"], each["name"].split(" on ")[0]) for each in refused["seen"]] == [(SCHEMA, "remit")]
    assert older.ready()[0] == 200

    # (3) Asked to do it anyway, it does, and writes the first row of its schema.
    code, enabled = older.remit(LATER, "store", "migrate", "--enable", "--anyway")
    assert (code, enabled["before"], enabled["schema"]) == (0, SCHEMA, SCHEMA + 1)
    before = older.ready()[1]["revision"]
    code, declared = older.remit(LATER, "principal", "declare", "instance:after")
    assert code == 0, declared
    wait_until(lambda: older.ready()[0] == 503, within_seconds=30)

    # (4) The older one stays before that row, whatever else is appended, and says what it needs.
    assert older.remit(LATER, "principal", "declare", "instance:later-still")[0] == 0
    status, document = older.ready()
    told = " ".join(document["problems"])
    assert (status, document["revision"]) == (503, before)
    assert f"revision {before + 1} is of schema {SCHEMA + 1}, and this program knows schemas up to {SCHEMA}" in told
    assert f"install Remit {VERSION} or later" in told
    wait_until(lambda: _codes(older) == ["authority_stale"], within_seconds=30)
    write = older.client.post("/v1/principals", json={"id": "instance:never", "actor": "organization:acme"})
    assert (write.status_code, write.json()["retryable"]) == (503, True)

    # (5) Of this version, none starts any more; of the later one, everything is there.
    older.process.stop()
    code, failed = older.remit("remit_service", "graph", "show")
    assert code == 3
    assert f"install Remit {VERSION} or later" in " ".join(failed["error"]["messages"])
    code, shown = older.remit(LATER, "graph", "show", "instance:later-still")
    assert (code, shown["principal"]["id"]) == (0, "instance:later-still")
    assert older.remit(LATER, "store", "check")[1]["problems"] == []


def _codes(older: Older) -> list[str]:
    answer = older.client.post("/access/v1/evaluation", json=ASKED).json()
    assert "decision" in answer, answer
    return [each["code"] for each in answer["context"].get("reasons", ())] if not answer["decision"] else []
