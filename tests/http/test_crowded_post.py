"""The crowded resource and the worked write (S04, S05): all are authorized, only who fits writes at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
POST = "wp:post:1024"


class Page:
    """The post as its adapter keeps it: single fields, and a version that each write is compared with."""

    def __init__(self) -> None:
        self.version = 331
        self.fields: dict[str, str] = {}
        self.history = [331]

    def write(self, field: str, by: str, expected: str) -> str:
        """Write one field if the version is the expected one, and return the version it is at then."""
        assert expected == f"rev_{self.version}"
        self.version += 1
        self.fields[field] = by
        self.history.append(self.version)
        return f"rev_{self.version}"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    """A local caller, which sees the graph and speaks for anyone."""
    served: Served
    for served in stopped_later(serve(tmp_path, SEO, demo=True)):
        yield served.client()


def asking(who: str, action: str, version: str) -> dict[str, Any]:
    """Return what somebody asks of the post."""
    kind, _, name = who.partition(":")
    body = {"subject": {"type": kind, "id": name}, "action": {"name": action}}
    return {**body, "resource": {"type": "key", "id": POST}, "context": {"risk": "LOW", "expected_version": version}}


def write(client: httpx.Client, operation: dict[str, Any], page: Page, field: str, by: str) -> httpx.Response:
    """Read the version; where it is the planned one, write the field, verify and complete."""
    path, token = f"/v1/operations/{operation['coordination_id']}", {"lease_epoch": operation["lease_epoch"]}
    read = client.post(f"{path}/precondition", json={"current_version": f"rev_{page.version}"})
    if not read.is_success:
        client.post(f"{path}/abort", json={"reason": "read again"}).raise_for_status()
        return read
    final = page.write(field, by, read.json()["expected_version"])
    client.post(f"{path}/executed", json={**token, "result": "applied"}).raise_for_status()
    client.post(f"{path}/verified", json={**token, "passed": page.fields[field] == by}).raise_for_status()
    return client.post(f"{path}/complete", json={**token, "final_version": final})


@pytest.mark.feature("S04", "S05", "S92")
def test_the_crowded_post(client: httpx.Client) -> None:
    """Canonical and body are written side by side, others are told what to do; at the end both changes are there."""
    page = Page()
    crowd = {
        "instance:seo-agent-7": "UPDATE_CANONICAL",
        "instance:linking-agent-1": "UPDATE_LINKS",
        "human:editor-1": "UPDATE_POST_BODY",
        "human:senior-editor": "UPDATE_CANONICAL",
        "instance:content-agent-1": "UPDATE_POST_BODY",
        "instance:drift-reconciler-1": "RECONCILE_CANONICAL",
        "instance:publisher-agent-7": "PUBLISH_POST",
        "instance:publisher-agent-8": "PUBLISH_POST",
        "human:commander": "UPDATE_CANONICAL",
    }
    alone = {
        who: client.post("/access/v1/evaluation", json=asking(who, action, "rev_331")).json()["decision"]
        for who, action in crowd.items()
    }
    asked = {who: client.post("/v1/operations", json=asking(who, action, "rev_331")) for who, action in crowd.items()}
    human = client.post("/access/v1/evaluation", json=asking("human:senior-editor", "UPDATE_CANONICAL", "rev_331"))
    begun = {who: each.json() for who, each in asked.items() if each.status_code == 201}
    told = {who: (each.status_code, each.json()["outcome"]) for who, each in asked.items() if who not in begun}

    assert set(alone.values()) == {True}
    assert set(begun) == {"instance:seo-agent-7", "instance:linking-agent-1", "human:editor-1"}
    assert told == dict.fromkeys(set(crowd) - set(begun), (409, "serialize"))
    assert "resource_coordinated" in [each["code"] for each in human.json()["context"]["reasons"]]

    first = write(client, begun["instance:seo-agent-7"], page, "canonical", "instance:seo-agent-7")
    stale = write(client, begun["human:editor-1"], page, "body", "human:editor-1")
    again = client.post("/v1/operations", json=asking("human:editor-1", "UPDATE_POST_BODY", "rev_332")).json()
    second = write(client, again, page, "body", "human:editor-1")
    link = begun["instance:linking-agent-1"]["coordination_id"]
    client.post(f"/v1/operations/{link}/abort", json={"reason": "nothing to link"}).raise_for_status()

    assert (stale.status_code, stale.json()["code"]) == (412, "stale_resource_version")
    receipts = [each.json()["receipt"] for each in (first, second)]
    assert [(each["expected_version"], each["final_version"]) for each in receipts] == [
        ("rev_331", "rev_332"),
        ("rev_332", "rev_333"),
    ]
    assert page.fields == {"canonical": "instance:seo-agent-7", "body": "human:editor-1"}
    assert page.history == [331, 332, 333]
    assert client.get("/v1/leases").json()["leases"] == []
