"""`remit search` on the store itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from remit_service.cli.app import app

if TYPE_CHECKING:
    from typer.testing import Result

WORLD = """\
realm: small
root: ["organization:root"]
resource_types:
  doc: {key: "doc:{id}", concurrency: APPEND_ONLY}
actions:
  READ: {class: read}
principals:
  - {id: "organization:root"}
  - {id: "instance:a"}
  - {id: "instance:b"}
resources: [{key: "doc:1"}, {key: "doc:2"}, {key: "doc:3"}]
grants:
  - {edge_id: all, edge: MAY_READ, from: "instance:a", to: "doc:*", scope: {actions: [READ]}}
  - {edge_id: one, edge: MAY_READ, from: "instance:b", to: "doc:2", scope: {actions: [READ]}}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store of a small world."""
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(WORLD)
    assert remit("store", "init", "--world", "small.yaml").exit_code == 0
    return tmp_path


def remit(*arguments: str) -> Result:
    """Run the command line."""
    return CliRunner().invoke(app, list(arguments))


def found(*arguments: str) -> dict[str, Any]:
    """Run a search and return its document."""
    result = remit("--json", "search", *arguments)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_each_direction_is_a_verb(here: Path) -> None:
    """Subjects, resources and actions are found, each with what a decision comes to."""
    subjects = found("subject", "READ", "doc:2")
    resources = found("resource", "instance:b", "READ", "--type", "doc")
    actions = found("action", "instance:b", "doc:2")

    assert [each["id"] for each in subjects["results"]] == ["a", "b"]
    assert resources["results"] == [{"type": "doc", "id": "2", "outcome": "execute"}]
    assert actions["results"] == [{"name": "READ", "outcome": "execute"}]
    assert (subjects["enforceable"], subjects["context"]["complete"]) == (False, True)
    assert here.exists()


@pytest.mark.usefixtures("here")
def test_pages_and_outcomes_can_be_asked_for() -> None:
    """A cut page says how to go on, and other outcomes are listed where they are asked for."""
    first = found("resource", "instance:a", "READ", "--type", "doc", "--limit", "2")
    token = first["page"]["next_token"]
    second = found("resource", "instance:a", "READ", "--type", "doc", "--token", token)
    shown = remit("search", "resource", "instance:a", "READ", "--limit", "1")

    assert [each["id"] for each in first["results"] + second["results"]] == ["1", "2", "3"]
    assert "not all: cut by limit" in shown.output
    assert found("action", "instance:b", "doc:2", "--outcome", "acquire")["results"] == []


@pytest.mark.usefixtures("here")
def test_a_bad_search_is_usage() -> None:
    """What is no search is told in a sentence, with the exit code of usage."""
    result = remit("search", "subject", "READ", "doc:1", "--outcome", "maybe")

    assert (result.exit_code, "an outcome is one of" in result.stderr) == (2, True)
