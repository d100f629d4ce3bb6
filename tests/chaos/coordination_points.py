"""Decision points and their clients as processes of their own, for the chaos of coordination."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from tests.support.process import Process, free_port

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
SEO = ROOT / "fixtures" / "worlds" / "seo.yaml"


class DecisionPoint:
    """`remit serve` on a store, which outlives it; `order` is a file that tells it when to die."""

    def __init__(
        self, folder: Path, *, store: str | None = None, name: str = "service", secrets: Mapping[str, str] | None = None
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.order = folder / f"{name}.order"
        self.secrets = secrets or {}
        self.store = store or f"sqlite:///{folder / 'remit.db'}"
        command = [
            sys.executable, "-m", "tests.chaos.dying_point", str(self.order),
            "--store", self.store, "serve",
            "--listen", f"127.0.0.1:{self.port}", "--world", str(SEO), "--anonymous-loopback",
        ]  # fmt: skip
        environment = {"REMIT_DECISION_LOG": "none", "REMIT_REPLICA": name, "PYTHONPATH": str(ROOT), **self.secrets}
        self.process = Process(command, folder / name, environment)

    def start(self) -> None:
        """Start, and return when it is ready."""
        self.process.start(self._is_ready, within_seconds=120)

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health/ready", timeout=5).is_success
        except httpx.TransportError:
            return False


class Worker:
    """One client process: `begin` prints what it got; told `write`, it tries to, and prints what came of it."""

    def __init__(self, point: DecisionPoint, page: Path, body: dict[str, Any]) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.coordination_worker", point.url, str(page)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.tell(body)

    def tell(self, order: dict[str, Any]) -> None:
        """Give an order without waiting for what comes of it."""
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(order) + "\n")
        self._child.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """Return the next answer."""
        assert self._child.stdout is not None
        answer: dict[str, Any] = json.loads(self._child.stdout.readline())
        return answer

    def signal(self, number: int) -> None:
        """Stop the process, or let it go on."""
        self._child.send_signal(number)

    def close(self) -> None:
        """End the process."""
        self._child.kill()
        self._child.communicate()


def begin(subject: str, action: str, key: str, **more: Any) -> dict[str, Any]:
    """Return the order to begin an operation."""
    kind, _, name = subject.partition(":")
    return {
        "subject": {"type": kind, "id": name},
        "action": {"name": action},
        "resource": {"type": "key", "id": key},
        "context": {"risk": "LOW", "expected_version": "rev_1"},
        **more,
    }


WRITE = {"order": "write"}
