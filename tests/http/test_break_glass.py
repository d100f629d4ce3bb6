"""Break-glass as people use it: opened, used, told, reported, reviewed; on the command line and over time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from remit_service.cli.app import app
from remit_service.governance.governor import Governor, Order
from tests.http.serving import finish, serve, stopped_later
from tests.support.desk import codes, desk_on, sqlite_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
POST = "wp:post:1024"
WRITE = ("UPDATE_CANONICAL", POST, "-c", "risk=LOW", "-c", "expected_version=v1", "-c", "resource_version=v1")
OPEN = (
    "break-glass", "open", "human:editor-1", POST, "--id", "bg-1", "--action", "UPDATE_CANONICAL",
    "--field", "canonical", "--minutes", "15", "--reason", "SEV1: redirect loop", "--actor", "human:security",
)  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, for callers of this machine."""
    yield from stopped_later(serve(tmp_path_factory.mktemp("glass"), SEO, demo=True))


def remit(served: Served, *words: str) -> tuple[int, dict[str, Any]]:
    """Run a command with `--json`; returns its exit code and document."""
    result = CliRunner().invoke(app, ["--url", served.url, "--json", *words])
    return result.exit_code, json.loads(result.stdout)


def test_an_emergency_from_its_opening_to_its_review(served: Served) -> None:
    """Denied before, permitted with a duty after; every root is told; it is used, reported, and looked at by another.

    An operation under it leaves its receipt in the report. Neither who opened nor who used it may review, and what was
    reviewed is open no more.
    """
    assert remit(served, "decide", "human:editor-1", *WRITE)[0] == 1
    assert remit(served, *OPEN[:-1], "human:analyst")[1]["problem"]["status"] == 403

    code, opened = remit(served, *OPEN)
    assert (code, opened["break_glass_id"], opened["edge"], opened["max_depth"]) == (0, "bg-1@1", "MAY_WRITE", 0)

    # The alarm: every root is told, who opened it for whom and why.
    (told,) = remit(served, "notices", "organization:acme")[1]["notices"]
    assert (told["code"], told["by"], told["principal"], told["reason"]) == (
        "break_glass", "human:security", "human:editor-1", "SEV1: redirect loop",
    )  # fmt: skip

    # Its use carries the duty, and both decision and receipt are in the report.
    code, used = remit(served, "decide", "human:editor-1", *WRITE)
    assert code == 0
    assert {"id": "review", "type": "review", "properties": {"edge_ids": ["bg-1"]}} in used["context"]["obligations"]
    coordination_id = _write(served)
    code, report = remit(served, "break-glass", "report", "bg-1@1")
    assert (code, report["break_glass"]["state"]) == (0, "OPEN")
    assert used["context"]["decision_id"] in {each["decision_id"] for each in report["decisions"]}
    assert [(each["principal"], each["status"], each["final_version"]) for each in report["receipts"]] == [
        ("human:editor-1", "COMPLETED", "v2")
    ]
    assert report["receipts"][0]["receipt_id"] == coordination_id

    # The obligation: it stays open in every review until somebody else has looked.
    (finding,) = remit(served, "review")[1]["break_glass"]
    assert (finding["break_glass_id"], finding["overdue"]) == ("bg-1@1", False)
    for own in ("human:security", "human:editor-1"):
        code, refused = remit(served, "break-glass", "review", "bg-1@1", "--finding", "fine", "--actor", own)
        assert (code, refused["problem"]["code"]) == (1, "self_approval")
    code, refused = remit(served, "break-glass", "review", "bg-1@1", "--finding", "fine", "--actor", "human:analyst")
    assert (code, refused["problem"]["status"]) == (1, 403)
    code, done = remit(served, "break-glass", "review", "bg-1@1", "--finding", "justified", "--actor", "human:chief")
    assert (code, done["state"], done["reviewed_by"], done["finding"]) == (0, "REVIEWED", "human:chief", "justified")
    assert remit(served, "break-glass", "list")[1] == {"open": []}
    assert remit(served, "break-glass", "report", "bg-1@1")[1]["break_glass"]["finding"] == "justified"
    assert remit(served, "break-glass", "report", "bg-9@1")[1]["problem"]["code"] == "not_found"


def _write(served: Served) -> str:
    """Write the canonical link under it, from begin to receipt; returns the coordination id."""
    client = served.client()
    question = {
        "subject": {"type": "human", "id": "editor-1"}, "action": {"name": "UPDATE_CANONICAL"},
        "resource": {"type": "wp:post", "id": "1024"},
        "context": {"risk": "LOW", "expected_version": "v1", "resource_version": "v1"},
    }  # fmt: skip
    begun = client.post("/v1/operations", json=question).json()
    finish(client, begun, "v1", "v2")
    return str(begun["coordination_id"])


async def test_an_emergency_is_over_at_its_instant(tmp_path: Path) -> None:
    """Permitted until then and not at it; it cannot be handed on; the duty to look at it outlives it and grows late."""
    async with desk_on(sqlite_in(tmp_path)) as desk:
        governor, root = Governor(desk.point), Order(actor="organization:desk")
        await governor.carry_out("declare", {"id": "human:op", "trust": 2}, root)
        body = {
            "grant_id": "bg", "principal": "human:op", "actions": ["WORK"], "resource": "log:1", "minutes": 1,
            "reason": "SEV1",
        }  # fmt: skip
        made = await governor.carry_out("break_glass", body, root)
        assert made.refused is None
        handed = {"delegation_id": "on", "delegator": "human:op", "delegate": "instance:a", "under": "bg"}
        on = await governor.carry_out("delegate", handed, Order(actor="human:op"))
        assert on.refused is not None

        assert (await desk.ask("human:op", "WORK", "log:1")).not_after == desk.instant(60)
        await desk.to(59.999999)
        assert (await desk.ask("human:op", "WORK", "log:1")).effect == "permit"
        await desk.to(60)
        over = await desk.ask("human:op", "WORK", "log:1")
        assert (over.effect, codes(over)) == ("deny", ["delegation_expired"])

        await desk.to(72 * 3_600 - 0.000001)
        assert [each["overdue"] for each in governor.review(14)["break_glass"]] == [False]
        await desk.to(72 * 3_600)
        assert [each["overdue"] for each in governor.review(14)["break_glass"]] == [True]
