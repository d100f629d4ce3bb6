"""Decisions over HTTP: one worker, and an OPA server beside it with the same bundle and input."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import urlopen

from bench.load import Request, latencies, post, throughput
from bench.report import Row, percentiles, tell
from remit_service.bundle.archive import pack
from remit_service.bundle.build import build_bundle
from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.bundle.opa_cli import OpaProgram

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTIONS = 16
QUESTION = {
    "subject": {"type": "instance", "id": "seo-agent-7"},
    "action": {"name": "UPDATE_CANONICAL"},
    "resource": {"type": "wp:post", "id": "1024"},
    "context": {"risk": "LOW", "expected_version": "rev_331"},
}


def free_port() -> int:
    """Return a port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: list[str], ready: str, environment: dict[str, str] | None = None) -> Iterator[float]:
    """Run a server for as long as the block runs; yields the seconds until it was ready."""
    started = perf_counter()
    server = subprocess.Popen(command, env={**os.environ, **(environment or {})}, stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                with urlopen(ready, timeout=1):
                    break
            except (URLError, OSError):
                if server.poll() is not None or perf_counter() - started > 60:
                    raise RuntimeError(f"{command[0]} did not start") from None
                sleep(0.02)
        yield perf_counter() - started
    finally:
        server.terminate()
        server.wait(15)


def remit(seconds: float) -> list[Row]:
    """One worker with the demo world, 16 connections, no cache; a batch of 50; the start."""
    rows: list[Row] = []
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        environment = {"REMIT_DECISION_LOG": "none", "REMIT_LOG_LEVEL": "error"}
        command = [sys.executable, "-m", "remit_service", "serve", "--demo", "--listen", f"127.0.0.1:{port}"]
        tell("over HTTP, one worker")
        with running(command, f"http://127.0.0.1:{port}/health/ready", environment) as start:
            single = [post("/access/v1/evaluation", json.dumps(QUESTION).encode(), b'"decision":true')]
            rows.append(_row("one worker over HTTP, no cache", ">= 4,500/s, p99 <= 8 ms", port, single, seconds))
            batch = {**QUESTION, "evaluations": [{} for _ in range(50)]}
            many = [post("/access/v1/evaluations", json.dumps(batch).encode(), b'"decision":true')]
            rate = asyncio.run(throughput(port, many, connections=4, seconds=seconds)) * 50
            rows.append(Row("batch of 50", ">= 5,500 decisions/s", rate, {}))
            rows.append(Row("start with the demo world to first answer", "<= 1.5 s", None, {"p50": start * 1e6}))
        environment["REMIT_DECISION_LOG"] = f"file:{folder}"
        with running(command, f"http://127.0.0.1:{port}/health/ready", environment):
            asyncio.run(throughput(port, single, connections=CONNECTIONS, seconds=seconds / 4))
            rate = asyncio.run(throughput(port, single, connections=CONNECTIONS, seconds=seconds))
            cost = 1 - rate / (rows[0].per_second or 1)
            facts = {"cost of the log": f"{cost:.0%}"}
            rows.append(Row("one worker over HTTP, decision log on", "costs <= 15 %", rate, {}, facts))
    return rows


def _row(case: str, target: str, port: int, requests: list[Request], seconds: float) -> Row:
    asyncio.run(throughput(port, requests, connections=CONNECTIONS, seconds=seconds / 4))
    rate = asyncio.run(throughput(port, requests, connections=CONNECTIONS, seconds=seconds))
    samples = asyncio.run(latencies(port, requests, connections=CONNECTIONS, seconds=seconds, per_second=rate * 0.8))
    return Row(
        case, target, rate, percentiles(samples), {"connections": CONNECTIONS, "open loop at": f"{rate * 0.8:,.0f}/s"}
    )


def opa(seconds: float, document: bytes) -> list[Row]:
    """An OPA server answering the same bundle and input, where OPA is installed."""
    program = OpaProgram.find()
    if program is None:
        tell("OPA is not installed: the comparison is left out")
        return []
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "remit.tar.gz"
        archive.write_bytes(pack(build_bundle(read_folder(shipped_policy()))))
        command = [
            program.path,
            "run",
            "--server",
            f"--addr=127.0.0.1:{port}",
            "--log-level=error",
            "--skip-version-check",
            "-b",
            str(archive),
        ]
        tell("OPA beside it")
        with running(command, f"http://127.0.0.1:{port}/health"):
            body = b'{"input":' + document + b"}"
            requests = [post("/v1/data/remit/decision/decision", body, b'"permit"')]
            return [_row("OPA server, same bundle and input", "Remit at least 1.5 x", port, requests, seconds)]
