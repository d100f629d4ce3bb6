"""`remit store backup|restore|reopen|migrate`: documents, exit codes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from remit_graph.model.change import SCHEMA
from remit_service.cli.app import app

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store of the content platform, and a backup of it."""
    monkeypatch.chdir(tmp_path)
    assert remit("a.db", "store", "init", "--world", str(SEO))[0] == 0
    assert remit("a.db", "store", "backup", "acme.backup")[0] == 0
    return tmp_path


def remit(store: str, *words: str) -> tuple[int, Any]:
    """Run a command on a store here; returns its exit code and document."""
    result = CliRunner().invoke(app, ["--json", "--store", f"sqlite:///{store}", *words])
    return result.exit_code, json.loads(result.stdout)


def failed(store: str, *words: str) -> tuple[int, str]:
    """Run a command that fails; returns its exit code and what it says."""
    code, document = remit(store, *words)
    return code, "\n".join(document["error"]["messages"])


def test_a_backup_says_what_it_is_of(folder: Path) -> None:
    """Head, counts and digests, for whoever keeps them where the file is not; a file that is there is left alone."""
    code, made = remit("a.db", "store", "backup", "acme.backup", "--overwrite")
    verified = remit("b.db", "store", "restore", "acme.backup", "--verify-only")
    again = failed("a.db", "store", "backup", "acme.backup")
    nowhere = failed("a.db", "store", "backup", "nowhere/acme.backup")
    nothing = failed("none.db", "store", "backup", "none.backup")

    assert (code, made["of"]["realm"], made["of"]["incarnation"]) == (0, "acme", 1)
    assert made["holds"]["revisions"] == made["of"]["revision"]
    assert made["size"] == (folder / "acme.backup").stat().st_size
    assert verified == (0, {"file": "acme.backup", "of": made["of"], "holds": made["holds"]})
    assert again == (1, "`acme.backup` is there already\n→ name another file, or add --overwrite")
    assert nowhere[0] == 3
    assert nothing[0] == 3
    assert sorted(each.name for each in folder.iterdir() if "db" not in each.name) == ["acme.backup"]


@pytest.mark.usefixtures("folder")
def test_a_backup_becomes_a_store_once() -> None:
    """It is another incarnation; over a store nothing is restored, and of a file with a fault neither."""
    Path("cut.backup").write_bytes(Path("acme.backup").read_bytes()[:2000])

    code, made = remit("b.db", "store", "restore", "acme.backup", "--after", "4")
    over = failed("b.db", "store", "restore", "acme.backup")
    cut = failed("c.db", "store", "restore", "cut.backup")

    assert (code, made["head"]["incarnation"], made["head"]["state"]) == (0, 5, "ready")
    assert remit("b.db", "graph", "show")[0] == 0
    assert remit("b.db", "store", "check") == (
        0, {"problems": [], "revision": made["head"]["revision"], "hash": made["head"]["hash"], "history_after": 0},
    )  # fmt: skip
    assert over[0] == 3
    assert "holds something already" in over[1]
    assert cut[0] == 2
    assert "is cut short" in cut[1]
    assert not Path("c.db").exists()


@pytest.mark.usefixtures("folder")
def test_a_store_moves_and_is_reopened() -> None:
    """The old one says where it went; reopened it is another incarnation, and the new one keeps the old one's."""
    code, moved = remit("a.db", "store", "migrate", "--to", "sqlite:///b.db")
    closed = failed("a.db", "graph", "show")
    elsewhere = failed("a.db", "store", "migrate", "--to", "sqlite:///c.db")
    itself = failed("b.db", "store", "migrate", "--to", "sqlite:///b.db")
    astray = failed("b.db", "store", "migrate", "--from", "sqlite:///a.db")
    passwords = [
        failed("b.db", "store", "migrate", *words)[1]
        for words in (
            ("--to-password-file", "p"),
            ("--from-password-file", "p"),
            ("--to", "sqlite:///c.db", "--to-password-file", "p"),
        )
    ]
    reopened = remit("a.db", "store", "reopen")
    twice = failed("a.db", "store", "reopen")

    assert (code, moved["incarnation"], moved["answers"] > 0) == (0, 1, True)
    assert remit("b.db", "store", "check")[1]["hash"] == moved["hash"]
    assert closed[0] == 3
    assert "went on at `sqlite:///b.db`" in closed[1]
    assert (elsewhere[0], Path("c.db").exists()) == (3, False)
    assert itself[0] == 3
    assert (astray[0], "--from needs --to" in astray[1]) == (2, True)
    assert [each.partition("\n")[0].partition(":")[0] for each in passwords] == [
        "--to-password-file needs --to", "--from-password-file needs --from", "`p` holds no password",
    ]  # fmt: skip
    assert (reopened[0], reopened[1]["incarnation"]) == (0, 2)
    assert (twice[0], "was not moved away" in twice[1]) == (3, True)


@pytest.mark.usefixtures("folder")
def test_there_is_nothing_to_migrate_in_a_new_store() -> None:
    """Neither its layout nor the schema of its rows."""
    assert remit("a.db", "store", "migrate") == (0, {"done": []})
    code, enabled = remit("a.db", "store", "migrate", "--enable")
    assert (code, enabled["done"], enabled["schema"], enabled["seen"]) == (0, True, SCHEMA, [])
