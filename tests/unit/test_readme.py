"""Every command of README.md is run, in its order, as a reader would."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import time
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line]
OTHERS = [line for line in COMMANDS if line not in ("./run demo", "./run serve") and not line.startswith("curl ")]


def free_port() -> int:
    """Return a port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_readme_has_commands() -> None:
    """The two commands come first, and nothing below is empty."""
    assert COMMANDS[:2] == ["./run demo", "./run serve"]
    assert len(COMMANDS) == 30


def test_the_demo_command_ends_well() -> None:
    """`./run demo` exits 0 and says that nothing differed."""
    done = subprocess.run(["./run", "demo"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=110)

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert " 0 not as promised" in done.stdout


def test_the_serve_command_answers_the_curl_command() -> None:
    """`./run serve` starts, and the question below it is permitted."""
    port = free_port()
    environment = {**os.environ, "REMIT_LISTEN": f"127.0.0.1:{port}", "REMIT_DECISION_LOG": "none"}
    server = subprocess.Popen(["./run", "serve"], cwd=ROOT, env=environment, start_new_session=True)
    try:
        _wait_until_ready(port)
        curl = next(line for line in COMMANDS if line.startswith("curl ")).replace("8180", str(port))
        done = subprocess.run(shlex.split(curl), capture_output=True, text=True, check=False, timeout=30)
    finally:
        server.terminate()
        server.wait(30)

    assert '"decision":true' in done.stdout


def _wait_until_ready(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health/ready", timeout=2).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    pytest.fail("the service did not become ready")


@pytest.mark.timeout(300)
def test_the_other_commands_run_one_after_the_other(tmp_path: Path) -> None:
    """Store, graph and policy commands work from the root of a clone, on a store of their own."""
    environment = {**os.environ, "REMIT_STORE": f"sqlite:///{tmp_path / 'remit.db'}"}
    for line in OTHERS:
        words = [
            str(tmp_path / word) if word in ("world.yaml", "bundle.tar.gz", "acme.backup") else word
            for word in shlex.split(line)
        ]
        words[0] = str(ROOT / words[0])
        done = subprocess.run(
            words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=110
        )

        assert done.returncode == 0, f"{line}: {done.stdout[-1000:]}{done.stderr[-1000:]}"
