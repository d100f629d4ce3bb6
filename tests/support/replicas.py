"""Decision points as processes of their own, several on one store, as they are in production."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx

from tests.support.process import Process, free_port

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.support.neo4j_server import Neo4jServer

ROOT: Final = Path(__file__).parents[2]
SEO: Final = ROOT / "fixtures" / "worlds" / "seo.yaml"
AGENT: Final = "instance:seo-agent-8"
TRIES: Final = 10
"""Each of them waits for some seconds itself."""

SKEWED: Final = """
import sys, time
offset, real = int(sys.argv.pop(1)), time.time_ns
time.time_ns = lambda: real() + offset
from remit_service.cli.app import main
main()
"""
"""The program, on a machine whose clock is so many nanoseconds off."""


class ServedReplica:
    """`remit serve` on a store that others share.

    Attributes:
        name: Its name as a replica.
        url: Where it answers.
    """

    def __init__(
        self,
        name: str,
        store: Mapping[str, str],
        folder: Path,
        *,
        options: Sequence[str] = (),
        clock_off_seconds: float = 0.0,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare it; nothing runs yet.

        Args:
            name: Its name as a replica.
            store: The settings that name the store, as variables.
            folder: Where its output goes.
            options: Further options of `serve`.
            clock_off_seconds: How far its clock is ahead of the machine's.
            settings: Further settings, by name in lower case.
        """
        self.name, self.port = name, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        program = ["-m", "remit_service"]
        if clock_off_seconds:
            program = ["-c", SKEWED, str(round(clock_off_seconds * 1e9))]
        command = [sys.executable, *program, "serve", "--listen", f"127.0.0.1:{self.port}", "--anonymous-loopback"]
        environment = {
            "REMIT_DECISION_LOG": "none",
            "REMIT_REPLICA": name,
            "REMIT_WORLD": str(SEO),
            **store,
            **{f"REMIT_{key.upper()}": value for key, value in (settings or {}).items()},
        }
        self.process = Process([*command, *options], folder / name, environment)
        self.client = httpx.Client(base_url=self.url, timeout=30)

    def start(self) -> ServedReplica:
        """Start, and return when it is ready."""
        self.process.start(self.is_ready, within_seconds=150)
        return self

    def stop(self) -> None:
        """End it and its client."""
        self.client.close()
        self.process.stop()

    def is_ready(self) -> bool:
        """Whether it says that it should be asked."""
        return self.health().get("ready") is True

    def is_up(self) -> bool:
        """Whether it answers at all."""
        return bool(self.health())

    def problems(self) -> list[str]:
        """Return why it should not be asked."""
        found: list[str] = self.health().get("problems", [])
        return found

    def health(self) -> dict[str, Any]:
        """Return what it says of itself; nothing where it does not answer."""
        try:
            found: dict[str, Any] = self.client.get("/health/ready").json()
        except httpx.TransportError:
            return {}
        return found

    def codes(self, *, consistency: Any = None) -> list[str]:
        """Return the reasons of a question that the world permits; none for a permit."""
        kind, _, name = AGENT.partition(":")
        context: dict[str, Any] = {"environment": "production", "risk": "LOW", "expected_version": "rev_1"}
        if consistency is not None:
            context["consistency"] = consistency
        body = {
            "subject": {"type": kind, "id": name},
            "action": {"name": "UPDATE_CANONICAL"},
            "resource": {"type": "wp:post", "id": "1024"},
            "context": context,
        }
        answer = self.client.post("/access/v1/evaluation", json=body).json()
        codes = [str(each["code"]) for each in answer["context"]["reasons"]]
        assert answer["decision"] is not bool(codes), answer
        return codes

    def disable(self, *, disabled: bool) -> str:
        """Disable the agent, or enable it, and return the token of the revision in which that was done.

        A decision point that is cut off in the middle of a write keeps the head locked until the database ends it, ten
        seconds later; others are told 503 meanwhile, that nothing was appended, and to come again.
        """
        body = {"disabled": disabled, "actor": "human:chief"}
        path = f"/v1/principals/{AGENT}"
        reply = self.client.patch(path, json=body)
        for _ in range(TRIES):
            if reply.status_code == httpx.codes.SERVICE_UNAVAILABLE:
                reply = self.client.patch(path, json=body)
        assert reply.status_code == httpx.codes.OK, reply.text
        return str(reply.json()["revision"])


def sqlite_settings(folder: Path) -> dict[str, str]:
    """Return the settings of an embedded store in `folder`."""
    return {"REMIT_STORE": f"sqlite:///{folder / 'remit.db'}"}


def neo4j_settings(server: Neo4jServer, *, port: int | None = None) -> dict[str, str]:
    """Return the settings of a store in a Neo4j, by the port of a proxy before it if one is given.

    With `bolt` the driver stays with the address it has, where `neo4j` takes the one that the server names.
    """
    return {
        "REMIT_STORE": f"bolt://{server.user}@127.0.0.1:{port or server.port}",
        "REMIT_STORE_PASSWORD": server.password,
    }
