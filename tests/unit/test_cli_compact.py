"""`remit store compact`: plan, refusals, what is removed, and what the other verbs say of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from remit_graph.model.change import Change, Command
from remit_graph.sqlite import SqliteLedger
from remit_service.cli.app import app

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"


@pytest.fixture
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert remit("store", "init", "--world", str(SEO))[0] == 0
    assert remit("policy", "activate")[0] == 0


def remit(*words: str) -> tuple[int, Any]:
    """Run a command on the store here; returns its exit code and document."""
    result = CliRunner().invoke(app, ["--json", "--store", "sqlite:///a.db", *words])
    return result.exit_code, json.loads(result.stdout)


def said(*words: str) -> tuple[int, str]:
    """Run a command for people; returns its exit code and all that it says."""
    result = CliRunner().invoke(app, ["--store", "sqlite:///a.db", *words])
    return result.exit_code, result.output


@pytest.mark.usefixtures("_store")
def test_a_plan_says_what_would_go_and_changes_nothing() -> None:
    """Rows, bytes and where history would begin, by a revision, an instant or a number of days."""
    head = remit("store", "check")[1]["revision"]

    by_revision = remit("store", "compact", "--before", str(head), "--plan")[1]
    by_days = remit("store", "compact", "--keep-days", "0", "--plan")[1]
    by_instant = remit("store", "compact", "--before", "2026-01-01T00:00:00Z", "--plan")[1]

    plan = by_revision["plan"]
    assert (plan["before"], plan["base"], plan["head"], by_revision["done"]) == (0, head - 1, head, None)
    assert plan["rows"] > 300
    assert by_days["plan"]["base"] == head
    assert by_instant["plan"]["rows"] == 0
    assert "would remove" in said("store", "compact", "--before", str(head), "--plan")[1]
    assert "nothing to remove" in said("store", "compact", "--before", "1")[1]
    assert remit("store", "check")[1] == {**remit("store", "check")[1], "problems": [], "history_after": 0}


@pytest.mark.feature("S103")
@pytest.mark.usefixtures("_store")
def test_history_is_removed_once_it_was_agreed_to() -> None:
    """The store is sound, loads as before, says where history begins, and can be compacted again."""
    head = remit("store", "check")[1]["revision"]
    before = remit("graph", "show")[1]["counts"]

    code, done = remit("store", "compact", "--before", str(head), "--yes")
    check = remit("store", "check")
    feed = said("changes")
    again = remit("store", "compact", "--keep-days", "0", "--yes")[1]

    assert (code, done["done"]["rows"]) == (0, done["plan"]["rows"])
    assert (check[0], check[1]["problems"], check[1]["history_after"]) == (0, [], head - 1)
    assert f"{again['plan']['base']:,} older links: removed" in said("store", "check")[1]
    assert remit("graph", "show")[1]["counts"] == before
    assert feed[0] != 0
    assert f"history begins after revision {head - 1}" in feed[1]
    assert again["plan"]["before"] == head - 1
    assert again["done"]["anchored_at"] == again["plan"]["base"] + 1


async def _write_much() -> None:
    ledger = await SqliteLedger.open(Path("a.db"))
    for number in range(300):
        head = await ledger.head()
        put = Change("principal.put", {"id": "service:bulk", "attributes": {"note": "x" * 20_000, "number": number}})
        at = max(head.now, head.at)
        await ledger.append(head, [Command(action="TEST", actor="system", at=at, changes=(put,))])
    await ledger.aclose()


@pytest.mark.feature("S103")
@pytest.mark.usefixtures("_store")
def test_the_file_becomes_smaller_and_that_is_told() -> None:
    """What is said is what the file has."""
    asyncio.run(_write_much())
    before = Path("a.db").stat().st_size

    code, told = said("store", "compact", "--keep-days", "0", "--yes")

    after = Path("a.db").stat().st_size
    assert (code, after < before / 2) == (0, True)
    assert f"its file went from {before / 2**20:,.1f} MiB to {after / 2**20:,.1f} MiB" in told


@pytest.mark.usefixtures("_store")
def test_the_policy_in_force_at_the_cut_is_found_by_its_digest() -> None:
    """What was replaced before it is not, and whoever asks for it is told how far back history goes."""
    revision = remit("policy", "activate")[1]["policy_revision"]
    remit("store", "compact", "--keep-days", "0", "--yes")

    again = remit("policy", "activate", "--revision", revision)
    unknown = said("policy", "activate", "--revision", "sha256:" + "0" * 64)

    assert (again[0], again[1]["policy_revision"]) == (0, revision)
    assert "as far back as its history goes" in unknown[1]


@pytest.mark.usefixtures("_store")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--before", "2"], "add --yes"),
        ([], "give --before or --keep-days"),
        (["--before", "2", "--keep-days", "1"], "give --before or --keep-days"),
        (["--before", "soon", "--yes"], "neither a revision nor an instant"),
        (["--before", "99999", "--yes"], "there is no revision 99999 that something could be before: the newest is "),
    ],
)
def test_what_is_not_said_clearly_removes_nothing(words: list[str], says: str) -> None:
    """Exit 2, a sentence that says what to do, and a store that is as it was."""
    code, document = remit("store", "compact", *words)

    assert code == 2
    assert says in "\n".join(document["error"]["messages"])
    assert remit("store", "check")[1]["history_after"] == 0


@pytest.mark.usefixtures("_store")
@pytest.mark.parametrize(
    "words",
    [
        ("store", "compact", "--keep-days", "0", "--yes"),
        ("store", "checkpoint"),
        ("store", "backup", "a.backup"),
        ("store", "migrate"),
        ("store", "reopen"),
    ],
    ids=" ".join,
)
def test_a_service_in_force_is_not_passed_over(words: tuple[str, ...], tmp_path: Path) -> None:
    """Whoever set `url` means the store of that service: another one, here, is not touched in its place."""
    head = remit("store", "check")[1]["revision"]

    result = CliRunner().invoke(app, words, env={"REMIT_URL": "http://127.0.0.1:1", "REMIT_STORE": "sqlite:///a.db"})

    assert result.exit_code == 2
    assert "this works on the store itself" in result.stderr
    assert "unset `url`, and name the store with --store" in result.stderr
    assert (remit("store", "check")[1]["revision"], (tmp_path / "a.backup").exists()) == (head, False)


@pytest.mark.usefixtures("_store")
def test_all_history_may_go_before_the_revision_that_comes_next() -> None:
    """The state alone stays; a revision later nothing could be before."""
    head = remit("store", "check")[1]["revision"]

    code, document = remit("store", "compact", "--before", str(head + 1), "--plan")

    assert (code, document["plan"]["base"]) == (0, head)
    assert remit("store", "compact", "--before", str(head + 2), "--plan")[0] == 2
