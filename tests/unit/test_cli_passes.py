"""`remit capability` and `remit approval` on the store itself."""

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
  doc: {key: "doc:{id}", concurrency: WRITE_OPTIMISTIC}
actions:
  WRITE: {class: write, domain: CONTENT_BODY, risk: LOW, reversible: true}
principals:
  - {id: "organization:root"}
  - {id: "instance:a"}
  - {id: "human:editor"}
resources: [{key: "doc:1"}]
grants:
  - {edge_id: write, edge: MAY_WRITE, from: "instance:a", to: "doc:*", scope: {actions: [WRITE]}}
  - {edge_id: approve, edge: MAY_APPROVE, from: "human:editor", to: "doc:*"}
"""
TERMS = {
    "action": {"name": "WRITE"}, "resource": {"type": "doc", "id": "1"}, "for": "instance:a", "expected_version": "v1",
    "expires_at": "2099-01-01T00:00:00Z",
    "shown": {"resources": ["doc:1"], "operation": "WRITE", "target": "1", "expected_effect": "text", "conflicts": []},
}  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a store of a small world."""
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(WORLD)
    Path("terms.json").write_text(json.dumps(TERMS))
    assert remit("store", "init", "--world", "small.yaml").exit_code == 0


def remit(*arguments: str) -> Result:
    """Run the command line."""
    return CliRunner().invoke(app, list(arguments))


def told(*arguments: str) -> Any:
    """Run a command that is carried out, and return its document."""
    result = remit("--json", *arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.feature("S17", "S23")
def test_a_capability_is_minted_shown_and_verified_offline() -> None:
    """What one command gives the others know, and the published keys alone verify it."""
    given = told("capability", "mint", "instance:a", "WRITE", "doc:1", "--ttl", "60")
    Path("keys.json").write_text(json.dumps(told("capability", "keys")))

    assert told("capability", "show", given["capability_id"])["active"] is True
    assert told("capability", "introspect", given["token"])["active"] is True
    assert told("capability", "verify", given["token"], "--jwks", "keys.json")["sub"] == "instance:a"
    words = ["--json", "capability", "verify", "-", "--jwks", "keys.json"]
    assert json.loads(CliRunner().invoke(app, words, input=f"{given['token']}\n").stdout)["sub"] == "instance:a"
    assert remit("capability", "verify", given["token"][:-5] + "AAAAA", "--jwks", "keys.json").exit_code == 2
    assert remit("capability", "mint", "human:editor", "WRITE", "doc:1").exit_code == 1


@pytest.mark.feature("S121")
def test_an_approval_is_asked_for_voted_on_and_withdrawn() -> None:
    """Asked for by one, agreed to by another, taken back: each is a verb."""
    asked = told("approval", "ask", "terms.json")
    voted = told("approval", "vote", asked["approval_id"], "--approver", "human:editor")

    assert (asked["complete"], voted["approvers"]) == (False, ["human:editor"])
    assert [each["approval_id"] for each in told("approval", "list")["approvals"]] == [asked["approval_id"]]
    assert told("approval", "show", asked["approval_id"])["requester"] == "instance:a"
    assert "doc:1" in remit("approval", "list").output
    assert told("approval", "withdraw", asked["approval_id"], "--actor", "human:editor")["state"] == "WITHDRAWN"
    assert remit("approval", "give", "terms.json", "--approver", "instance:a").exit_code == 1
    assert told("approval", "give", "terms.json", "--approver", "human:editor")["complete"] is True
