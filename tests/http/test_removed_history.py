"""A service whose ledger was compacted: what it answers about what was removed, and what it still knows."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from remit_service.cli.app import app
from remit_service.keeping.compaction import compact, plan_compaction, retention_of
from tests.http.serving import serve, stopped_later
from tests.support.process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
QUESTION: dict[str, Any] = {
    "subject": {"type": "instance", "id": "seo-agent-8"},
    "action": {"name": "UPDATE_CANONICAL"},
    "resource": {"type": "wp:post", "id": "1024"},
    "context": {"environment": "production", "risk": "LOW", "expected_version": "rev_1", "change_id": "chg_1"},
}
KEY = {"Idempotency-Key": "begin-once"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, for callers of this machine."""
    yield from stopped_later(serve(tmp_path_factory.mktemp("removed"), SEO, history_days=400, anonymous_loopback=True))


@pytest.fixture(scope="module")
def begun(served: Served) -> httpx.Response:
    """An operation that was begun under a key, given up, and that history was cut after."""
    client = served.client()
    reply = client.post("/v1/operations", json={**QUESTION, "purpose": "SEO_UPDATE"}, headers=KEY)
    assert reply.status_code == 201, reply.text
    path = f"/v1/operations/{reply.json()['coordination_id']}"
    assert client.post(f"{path}/abort", json={"reason": "not now"}).status_code == 200
    point = served.point
    base = point.view.revision

    async def cut() -> None:
        plan = await plan_compaction(point.ledger, base)
        await compact(point.replica, point.submit, plan, retention_of(point.policy.tables))
        # What the view keeps at hand is not asked about here.
        point.view.coordination.kept_records["receipt"].items.clear()

    served.run(cut)
    return reply


def base_of(served: Served) -> int:
    """Return the revision that history begins after."""
    found: int = served.client().get("/v1/store/check").json()["history_after"]
    return found


@pytest.mark.feature("S103")
@pytest.mark.usefixtures("begun")
def test_what_was_removed_is_gone_and_says_since_when(served: Served, begun: httpx.Response) -> None:
    """410 `history_removed` with the revision that history begins after: feed, explanation, search, export, receipt."""
    client, base = served.client(), base_of(served)
    search = {
        "kind": "resource",
        "subject": QUESTION["subject"],
        "action": QUESTION["action"],
        "resource": {"type": "wp:post"},
    }
    receipt = f"/v1/receipts/{begun.json()['coordination_id']}"

    gone = [
        client.get("/v1/changes"),
        client.get("/v1/changes", params={"after": base - 1}),
        client.get("/v1/changes", params={"after": 1}, headers={"Accept": "text/event-stream"}),
        client.post("/v1/explain", json={**QUESTION, "at_revision": base - 1}),
        client.post("/v1/explain", json={**QUESTION, "as_of": "2026-01-01T00:00:00Z"}),
        client.post("/v1/search", json={**search, "at_revision": base - 1}),
        client.get("/v1/graph/export", params={"at_revision": base - 1}),
        client.get(receipt),
    ]

    assert [(each.status_code, each.json()["code"]) for each in gone] == [(410, "history_removed")] * len(gone)
    assert {each.json()["history_after"] for each in gone} == {base}
    assert f"history begins after revision {base}" in gone[0].json()["detail"]
    assert client.get("/problems/history_removed").json()["status"] == 410


@pytest.mark.usefixtures("begun")
def test_what_is_left_is_answered(served: Served) -> None:
    """The feed goes on from the base, the state there and now can be asked about, and the store is sound."""
    client, base = served.client(), base_of(served)

    lines = client.get("/v1/changes", params={"after": base}).text.splitlines()
    then = client.post("/v1/explain", json={**QUESTION, "at_revision": base})
    check = client.get("/v1/store/check").json()

    assert '"of":"base"' in lines[0]
    assert then.status_code == 200
    assert check["problems"] == []
    assert client.get("/v1/receipts/coord_never").status_code == 404


@pytest.mark.feature("S85")
def test_a_repeat_is_answered_although_its_row_was_removed(served: Served, begun: httpx.Response) -> None:
    """Within the published time the same key gives the same answer and begins nothing; another body is refused."""
    client = served.client()
    body = {**QUESTION, "purpose": "SEO_UPDATE"}
    before = served.point.view.revision

    again = client.post("/v1/operations", json=body, headers=KEY)
    other = client.post("/v1/operations", json={**body, "purpose": "OTHER"}, headers=KEY)

    assert (again.status_code, again.json()["coordination_id"]) == (201, begun.json()["coordination_id"])
    assert again.headers["Idempotent-Replayed"]
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert served.point.view.revision == before


@pytest.mark.usefixtures("begun")
def test_where_history_begins_is_published(served: Served) -> None:
    """Health, limits and metrics say so."""
    client, base = served.client(), base_of(served)

    assert client.get("/health/ready").json()["history_after"] == base
    assert client.get("/v1/limits").json()["retention"]["history_after"] == base
    assert f"remit_ledger_base_revision {float(base)}" in client.get("/metrics").text


@pytest.mark.feature("S103")
@pytest.mark.usefixtures("begun")
def test_a_store_is_compacted_by_command_while_it_is_served(served: Served) -> None:
    """A lease that is held keeps its last renewal and its token, here and for a process that starts from the base."""
    client = served.client()
    body = {**QUESTION, "resource": {"type": "wp:post", "id": "1025"}, "ttl_seconds": 30}
    lease = client.post("/v1/leases", json=body).json()["lease"]
    path, renewal = f"/v1/leases/{lease['lease_id']}", {"lease_epoch": lease["lease_epoch"], "ttl_seconds": 300}
    renewed = client.put(path, json=renewal, headers={"If-Match": "*"}).json()

    command = ["--json", "--store", served.settings.store, "store", "compact", "--keep-days", "0", "--yes"]
    done = CliRunner().invoke(app, command)

    assert done.exit_code == 0, done.output
    base = json.loads(done.stdout)["plan"]["base"]
    assert base_of(served) == base >= renewed_at(served, lease["lease_id"])
    # Another process cut it, without a revision that says so.
    wait_until(lambda: client.get("/health/ready").json()["history_after"] == base, within_seconds=60)
    shown = CliRunner().invoke(app, ["--json", "--store", served.settings.store, "lease", "show", lease["lease_id"]])
    assert json.loads(shown.stdout)["expires_at"] == renewed["expires_at"] > lease["expires_at"]
    assert client.put(path, json=renewal, headers={"If-Match": "*"}).json()["lease_epoch"] == lease["lease_epoch"]


def renewed_at(served: Served, lease_id: str) -> int:
    """Return the token of a lease: the revision at which it was given."""
    return int(served.client().get(f"/v1/leases/{lease_id}").json()["lease_epoch"]) & ((1 << 40) - 1)


@pytest.mark.usefixtures("begun")
def test_a_setting_keeps_history_to_a_number_of_days(served: Served) -> None:
    """The service compacts by itself, and publishes for how long history and receipts stay."""
    retention = served.client().get("/v1/limits").json()["retention"]

    async def running() -> set[str]:
        return {each.get_name() for each in asyncio.all_tasks()}

    assert "remit-compactor" in served.run(running)
    assert (retention["history_seconds"], retention["receipts_seconds"]) == (400 * 86_400, 400 * 86_400)
