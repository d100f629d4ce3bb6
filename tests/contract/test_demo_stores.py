"""The demo on both stores, as the command a visitor types: every chapter, verdict, reason and proof the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.neo4j_server import Neo4jServer

REMIT = str(Path(sys.executable).with_name("remit"))
VARIES = re.compile(
    # How long something took or will take, when something ends, ids that are drawn, and the port.
    r"\d+(\.\d+)? m?s\b|\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{32}|127\.0\.0\.1:\d+"
)


def demo(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Play the demo in a folder of its own."""
    return subprocess.run(
        [REMIT, "demo", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def story(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what was printed, without what differs from one run to the next."""
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    return [VARIES.sub("…", line) for line in done.stdout.splitlines()]


@pytest.mark.neo4j
def test_the_demo_tells_the_same_story_on_both_stores(tmp_path: Path, neo4j_server: Neo4jServer) -> None:
    """On Neo4j, whose password comes from a file, nothing differs from the embedded store; nothing stays there."""
    password = tmp_path / "password"
    password.write_text(neo4j_server.password)
    store = neo4j_server.url.replace("://", f"://{neo4j_server.user}@")

    embedded = story(demo(tmp_path))
    shared = story(demo(tmp_path, "--store", store, REMIT_STORE_PASSWORD_FILE=str(password)))

    assert shared == embedded
    assert len([line for line in shared if re.match(r"\d+\. ", line)]) >= 10
    assert neo4j_server.query("MATCH (node) RETURN count(node) AS nodes") == [{"nodes": 0}]


@pytest.mark.neo4j
def test_the_demo_leaves_a_database_alone_that_holds_something(tmp_path: Path, neo4j_server: Neo4jServer) -> None:
    """It is told, and whatever was there still is."""
    neo4j_server.query("CREATE (:Mine {id: 1})")

    done = demo(tmp_path, "--store", neo4j_server.url, REMIT_STORE_PASSWORD=neo4j_server.password)

    assert done.returncode == 3
    assert "holds something already" in done.stderr
    assert neo4j_server.query("MATCH (node) RETURN node.id AS id") == [{"id": 1}]


def test_the_demo_says_where_the_password_belongs(tmp_path: Path) -> None:
    """Without one, or with one in the address, nothing is tried, and the message says what to do."""
    without = demo(tmp_path, "--store", "neo4j://neo4j@127.0.0.1:7687")
    inside = demo(tmp_path, "--store", "neo4j://neo4j:secret@127.0.0.1:7687")

    assert (without.returncode, inside.returncode) == (3, 2)
    assert "REMIT_STORE_PASSWORD_FILE" in without.stderr
    assert "holds no password: set REMIT_STORE_PASSWORD" in inside.stderr
    assert "secret@" not in inside.stderr
