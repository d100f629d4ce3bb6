"""`remit policy impact`: what a service recorded, decided again under another policy, beside its store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from remit_service.bootstrap import running_point
from remit_service.cli.app import app
from remit_service.decision.caller import Caller
from remit_service.decision.request import parse_evaluation
from remit_service.evidence.decision_log.compose import make_log
from remit_service.settings import Settings
from tests.support.site_policy import policy_that_refuses

if TYPE_CHECKING:
    from typer.testing import Result

    from remit_service.decision.request import Evaluation

CALLER = Caller(point=None, trusts_all=True)
SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
SAID = {"risk": "LOW", "expected_version": "rev_1", "resource_version": "rev_1"}
ASKED = ["UPDATE_CANONICAL", "UPDATE_SEO_METADATA", "UPDATE_CANONICAL", "DELETE_EVERYTHING"]


def remit(*words: str) -> Result:
    """Run a command."""
    return CliRunner().invoke(app, ["--json", *words])


async def record(settings: Settings) -> list[str]:
    """Answer and record what is asked, as a service does; returns the effects."""
    log = make_log(settings)
    await log.start()
    try:
        async with running_point(settings, log) as point:
            return [(await point.evaluate(question(action), CALLER)).effect for action in ASKED]
    finally:
        await log.aclose()


def question(action: str) -> Evaluation:
    """Return the question whether an agent may do something with a post."""
    return parse_evaluation(
        {
            "subject": {"type": "instance", "id": "seo-agent-7"},
            "action": {"name": action},
            "resource": {"type": "wp:post", "id": "1024"},
            "context": SAID,
        }
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The store of a decision point that has answered and stopped, and the folder of its decision log."""
    folder = tmp_path_factory.mktemp("impact")
    store = f"sqlite:///{folder / 'remit.db'}"
    settings = Settings(store=store, world=SEO, decision_log=f"file:{folder / 'log'}")
    assert asyncio.run(record(settings)) == ["permit", "permit", "permit", "deny"]
    return store, folder / "log"


def test_policy_impact_lists_the_verdicts_that_would_change(recorded: tuple[str, Path], tmp_path: Path) -> None:
    """Each question that was asked is decided once more under both policies; those that differ are told by name."""
    store, log = recorded
    other = policy_that_refuses("UPDATE_CANONICAL", tmp_path / "policy")

    result = remit("--store", store, "policy", "impact", str(other), "--decisions", str(log))
    found: dict[str, Any] = json.loads(result.stdout)["impact"]

    assert result.exit_code == 1
    assert (found["decisions"], found["skipped"], found["changed"]) == (3, 0, 1)
    (changed,) = found["would_change"]
    assert (changed["subject"]["id"], changed["action"]["name"]) == ("seo-agent-7", "UPDATE_CANONICAL")
    assert (changed["before"]["effect"], changed["after"]) == (
        "permit",
        {"effect": "deny", "outcome": "deny", "reasons": ["policy_denied"]},
    )


def test_the_policy_in_force_changes_nothing(recorded: tuple[str, Path]) -> None:
    """Under the policy that is in force already every verdict stays, and the text says so."""
    store, log = recorded

    result = remit("--store", store, "policy", "impact", "--decisions", str(log))
    told = CliRunner().invoke(app, ["--store", store, "policy", "impact", "--decisions", str(log)])

    assert (result.exit_code, json.loads(result.stdout)["impact"]["would_change"]) == (0, [])
    assert "0 of 3 recent verdicts would change" in told.stdout


def test_what_is_no_decision_log_is_refused(recorded: tuple[str, Path], tmp_path: Path) -> None:
    """The file and the line are named, and nothing is decided."""
    store, _ = recorded
    file = tmp_path / "notes.jsonl"
    file.write_text('{"note": 1}\n')

    result = remit("--store", store, "policy", "impact", "--decisions", str(file))

    assert result.exit_code != 0
    assert "notes.jsonl:1" in f"{result.exception} {result.output}"


def test_a_folder_without_a_decision_log_is_refused(recorded: tuple[str, Path], tmp_path: Path) -> None:
    """Nothing was looked at, which is not the same as that no verdict would change."""
    store, log = recorded

    empty = remit("--store", store, "policy", "impact", "--decisions", str(log), "--decisions", str(tmp_path))
    missing = remit("--store", store, "policy", "impact", "--decisions", str(tmp_path / "nowhere"))

    assert (empty.exit_code, missing.exit_code) == (2, 2)
    assert json.loads(empty.stdout)["error"]["messages"][0] == (
        f"`{tmp_path}` holds no decision log: no file of it ends in .jsonl"
    )


def test_verdicts_are_compared_with_the_policy_that_the_store_has_in_force(tmp_path: Path) -> None:
    """Another one than that of the settings: what it refuses would be permitted by the shipped one."""
    store = f"sqlite:///{tmp_path / 'remit.db'}"
    settings = Settings(store=store, world=SEO, decision_log=f"file:{tmp_path / 'log'}")
    assert asyncio.run(record(settings)) == ["permit", "permit", "permit", "deny"]
    other = policy_that_refuses("UPDATE_CANONICAL", tmp_path / "policy")
    revision = json.loads(remit("--store", store, "policy", "activate", str(other)).stdout)["policy_revision"]

    result = remit("--store", store, "policy", "impact", "--decisions", str(tmp_path / "log"))
    document = json.loads(result.stdout)

    assert (result.exit_code, document["policy_revision"]) == (1, revision)
    (changed,) = document["impact"]["would_change"]
    assert (changed["before"]["effect"], changed["after"]["effect"]) == ("deny", "permit")
