"""Two runs, one resource, one version: the expected conflict (S114), and the boring first test as a command (S115)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from remit_service.cli.app import app
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
POST = "wp:post:1024"
ONE, TWO = "instance:seo-agent-7", "instance:seo-agent-8"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """The content platform; each test changes something of its own."""
    yield from stopped_later(serve(tmp_path, SEO, demo=True))


def begin(client: httpx.Client, who: str, version: str, key: str) -> httpx.Response:
    """Begin without a lease: the runs meet at the version alone."""
    kind, _, name = who.partition(":")
    body = {"subject": {"type": kind, "id": name}, "action": {"name": "UPDATE_CANONICAL"}, "lease": False}
    context = {"risk": "LOW", "expected_version": version, "change_id": f"chg_{name}"}
    body |= {"resource": {"type": "key", "id": POST}, "context": context}
    return client.post("/v1/operations", json=body, headers={"Idempotency-Key": key})


def finish(client: httpx.Client, begun: httpx.Response, read: str, final: str) -> httpx.Response:
    """Walk the rest of the protocol, up to the first refusal."""
    path, token = f"/v1/operations/{begun.json()['coordination_id']}", begun.json()["lease_epoch"]
    reply = client.post(f"{path}/precondition", json={"current_version": read})
    steps: list[tuple[str, dict[str, Any]]] = [
        ("executed", {"lease_epoch": token, "result": "applied"}),
        ("verified", {"lease_epoch": token, "passed": True}),
        ("complete", {"lease_epoch": token, "final_version": final}),
    ]
    for name, body in steps:
        if reply.is_success:
            reply = client.post(f"{path}/{name}", json=body)
    return reply


@pytest.mark.feature("S114")
def test_the_expected_conflict(served: Served) -> None:
    """Run one pauses between read and write while run two changes the resource: one assertion for each result."""
    client = served.client()
    paused, other = begin(client, ONE, "rev_1", "one"), begin(client, TWO, "rev_1", "two")
    names = [each.json()["coordination_id"] for each in (other, paused)]
    finish(client, other, "rev_1", "rev_2").raise_for_status()
    resumed = finish(client, paused, "rev_2", "rev_3")
    resent = begin(client, ONE, "rev_1", "one-again")
    client.post(f"/v1/operations/{names[1]}/abort", json={"reason": "read again"}).raise_for_status()
    receipts = [client.get(f"/v1/receipts/{each}").json() for each in names]

    # (1) The first write fails and changes nothing.
    assert receipts[1]["status"] == "ABORTED"
    assert receipts[1]["final_version"] is None
    # (2) The answer says stale version, and which; it is no server error.
    told = resumed.json()
    assert (resumed.status_code, told["code"], told["retryable"]) == (412, "stale_resource_version", False)
    assert (told["expected_version"], told["current_version"]) == ("rev_1", "rev_2")
    # (3) Whoever sends the old body again is told to read again.
    assert (resent.json()["code"], resent.json()["outcome"]) == ("stale_resource_version", "rebase")
    # (4) Both attempts are tied to their run, and to the change that was approved.
    assert [(each["principal"], each["change_id"], each["status"]) for each in receipts] == [
        (TWO, "chg_seo-agent-8", "COMPLETED"),
        (ONE, "chg_seo-agent-7", "ABORTED"),
    ]


@pytest.mark.feature("S114")
def test_the_answer_that_was_lost(served: Served) -> None:
    """The other failure path: who heard no answer asks again and gets the same one; nothing is done twice."""
    client = served.client()
    first = begin(client, ONE, "rev_1", "one")
    again = begin(client, ONE, "rev_1", "one")
    operations = {each.json()["coordination_id"] for each in (first, again)}
    done = finish(client, first, "rev_1", "rev_2")
    after = begin(client, ONE, "rev_1", "one")

    # (1) The repeat is answered from what was stored, before and after the write.
    assert [each.headers.get("idempotent-replayed") for each in (first, again, after)] == [None, "true", "true"]
    # (2) There is one operation, and one write.
    assert operations == {after.json()["coordination_id"]}
    assert done.json()["receipt"]["final_version"] == "rev_2"


def rehearse(served: Served, *words: str) -> tuple[int, dict[str, Any]]:
    """Run the command; returns its exit code and document."""
    result = CliRunner().invoke(app, ["--url", served.url, "--json", "rehearse", *words])
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.feature("S115")
def test_the_boring_first_test_accepts_exactly_one(served: Served) -> None:
    """Two incompatible proposals from one version: one is accepted, and nothing of either is left."""
    code, found = rehearse(served, ONE, TWO, "UPDATE_CANONICAL", POST, "-c", "risk=LOW")
    refused = [each["code"] for each in found["proposals"] if not each["accepted"]]
    receipts = [
        served.client().get(f"/v1/receipts/{each['coordination_id']}").json()["status"]
        for each in found["proposals"]
        if each["accepted"]
    ]

    assert (code, found["exactly_one"], len(found["accepted"])) == (0, True, 1)
    assert refused == ["resource_busy"]
    assert receipts == ["ABORTED"]
    assert served.client().get("/v1/leases").json()["leases"] == []


@pytest.mark.feature("S115")
def test_the_boring_first_test_can_fail(served: Served) -> None:
    """Proposals that are not incompatible are both accepted, and a run without authority proves nothing."""
    both = rehearse(served, ONE, "instance:linking-agent-1", "UPDATE_CANONICAL", POST, "-c", "risk=LOW")
    nobody = rehearse(served, ONE, "human:editor-1", "UPDATE_CANONICAL", POST, "-c", "risk=LOW")
    itself = CliRunner().invoke(app, ["--url", served.url, "rehearse", ONE, ONE, "UPDATE_CANONICAL", POST])

    assert both[0] == 1
    assert (nobody[0], nobody[1]["problem"]["code"]) == (1, "scope_not_covered")
    assert itself.exit_code == 2
    assert "a run cannot meet itself" in itself.stderr
    assert served.client().get("/v1/leases").json()["leases"] == []
