"""The parts of the demo: what fills a call in, what is read of an answer, and what counts as a difference."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from rich.console import Console
from typer.testing import CliRunner

from remit_service.cli.app import app
from remit_service.demo.act import Act, Beat, Chapter, at_path, filled
from remit_service.demo.player import Player, differences
from remit_service.demo.story import STORY

if TYPE_CHECKING:
    from pathlib import Path


def test_what_was_kept_stands_where_it_is_named() -> None:
    """A whole placeholder keeps the type of its value; inside a text it is part of the text."""
    kept = {"op": "coord_1", "token": 7}

    found = filled({"path": "/v1/operations/{op}", "lease_epoch": "{token}", "list": ["{token}"]}, kept)

    assert found == {"path": "/v1/operations/coord_1", "lease_epoch": 7, "list": [7]}


def test_a_name_that_was_not_kept_is_told() -> None:
    """The story would be told in the wrong order."""
    with pytest.raises(KeyError):
        filled("{op}", {})


@pytest.mark.parametrize(
    ("path", "value"), [("a.b", 1), ("list.1.c", 2), ("list.9.c", None), ("a.none", None), ("a.b.c", None)]
)
def test_a_member_is_read_by_its_path(path: str, value: Any) -> None:
    """Where there is none, it is None."""
    assert at_path({"a": {"b": 1}, "list": [{}, {"c": 2}]}, path) == value


def test_every_difference_is_named() -> None:
    """Status, code, outcome and members, each on its own."""
    act = Act(says="x", call="POST /", status=409, code="resource_busy", outcome="wait", holds={"position": 1})

    assert list(differences(act, 409, {"code": "resource_busy", "outcome": "wait", "position": 1})) == []
    assert list(differences(act, 201, {"outcome": "execute"})) == [
        "expected 409, got 201",
        "expected code resource_busy, got None",
        "expected outcome wait, got execute",
        "expected position 1, got None",
    ]


def test_the_code_of_a_record_is_not_the_code_of_a_problem() -> None:
    """A receipt that names why it ended is an answer, and no refusal."""
    act = Act(says="x", call="GET /v1/receipts/1", holds={"status": "EXPIRED"})

    assert list(differences(act, 200, {"code": "lease_expired", "status": "EXPIRED"})) == []


async def test_a_verdict_that_differs_counts() -> None:
    """What is printed is what was answered; the score says how many were not as promised."""
    answer = {"decision": False, "context": {"outcome": "deny", "reasons": [{"code": "no_authority", "message": "x"}]}}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=answer))
    right = Beat(says="a", subject="human:a", action="A", resource="x", outcome="deny", reasons=("no_authority",))
    wrong = Beat(says="b", subject="human:a", action="A", resource="x", outcome="execute")
    chapter = Chapter(title="t", teaches="t", beats=(right, wrong, Act(says="c", call="GET /", status=204)))
    async with httpx.AsyncClient(transport=transport, base_url="http://point") as client:
        score = await Player(client, Console(quiet=True)).play((chapter,))

    assert (score.asked, score.differing) == (3, 2)


def test_every_chapter_says_what_it_teaches() -> None:
    """And has something to show for it."""
    assert all(each.title and each.teaches and each.beats for each in STORY)
    assert len({each.title for each in STORY}) == len(STORY)


def test_a_story_that_breaks_off_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The fault is told at once, the server no longer listens, and the store of the demo is gone."""
    seen: list[httpx.URL] = []

    async def break_off(player: Player) -> None:
        seen.append(player._client.base_url)
        raise RuntimeError("the story breaks off")

    monkeypatch.setattr(Player, "play", break_off)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = CliRunner().invoke(app, ["demo"])

    assert (result.exit_code, "the story breaks off" in result.stderr) == (3, True)
    with pytest.raises(httpx.ConnectError):
        httpx.get(seen[0])
    assert list(tmp_path.iterdir()) == []
