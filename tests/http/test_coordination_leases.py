"""Leases alone over HTTP: tags, conditions, ends; and beside them signals, the feed, transfers and the whole story."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from rich.console import Console

from remit_service.demo.player import Player
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
READ = {"risk": "LOW", "expected_version": "rev_331"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, for callers of this machine."""
    yield from stopped_later(serve(tmp_path_factory.mktemp("leases"), SEO, demo=True))


@pytest.fixture
def client(served: Served) -> httpx.Client:
    """A local caller, which sees the graph and speaks for anyone."""
    return served.client()


def leased(client: httpx.Client, post: int, **more: Any) -> httpx.Response:
    """Take a lease on the canonical of a post."""
    body: dict[str, Any] = {
        "subject": {"type": "instance", "id": "seo-agent-7"},
        "action": {"name": "UPDATE_CANONICAL"},
        "resource": {"type": "wp:post", "id": str(post)},
        "context": READ,
    }
    return client.post("/v1/leases", json={**body, **more})


@pytest.mark.feature("S60", "S62")
def test_a_renewal_needs_the_version_that_was_seen(client: httpx.Client) -> None:
    """428 without If-Match, 412 with a stale or weak tag and the current one, 200 with it; the token stays."""
    reply = leased(client, 1024)
    lease = reply.json()["lease"]
    path, body = f"/v1/leases/{lease['lease_id']}", {"lease_epoch": lease["lease_epoch"], "ttl_seconds": 60}

    missing = client.put(path, json=body)
    stale = client.put(path, json=body, headers={"If-Match": '"7"'})
    weak = client.put(path, json=body, headers={"If-Match": 'W/"1"'})
    renewed = client.put(path, json=body, headers={"If-Match": reply.headers["etag"]})
    other = client.put(
        path, json={**body, "subject": {"type": "instance", "id": "seo-agent-8"}}, headers={"If-Match": "*"}
    )
    behind = client.put(path, json={**body, "lease_epoch": 1}, headers={"If-Match": "*"})

    assert reply.headers["etag"] == '"1"'
    assert (missing.status_code, missing.json()["header"]) == (428, "If-Match")
    assert (stale.status_code, stale.headers["etag"], weak.status_code) == (412, '"1"', 412)
    assert (renewed.status_code, renewed.headers["etag"]) == (200, '"2"')
    assert renewed.json()["lease_epoch"] == lease["lease_epoch"]
    assert renewed.json()["expires_at"] > lease["expires_at"]
    assert (other.status_code, other.json()["code"]) == (403, "lease_not_held")
    assert (behind.status_code, behind.json()["code"]) == (409, "stale_fencing_token")


@pytest.mark.feature("S62")
def test_a_release_is_idempotent_and_a_stale_one_is_told(client: httpx.Client) -> None:
    """204 twice; another token is refused; what has been released is listed no more."""
    lease = leased(client, 1025).json()["lease"]
    path = f"/v1/leases/{lease['lease_id']}"
    listed = [each["lease_id"] for each in client.get("/v1/leases?under=wp:post:1025").json()["leases"]]

    stale = client.delete(path, params={"lease_epoch": lease["lease_epoch"] - 1})
    released = [client.delete(path, params={"lease_epoch": lease["lease_epoch"]}).status_code for _ in range(2)]

    assert listed == [lease["lease_id"]]
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_fencing_token")
    assert released == [204, 204]
    assert client.get("/v1/leases?under=wp:post:1025").json()["leases"] == []
    assert client.get(path).json()["state"] == "RELEASED"


@pytest.mark.feature("S64", "S65", "S111")
def test_a_lease_that_is_over_is_410(client: httpx.Client) -> None:
    """The next one waits for its end; the old holder can neither renew nor release it, and its write is denied."""
    old = leased(client, 1026, ttl_seconds=1).json()["lease"]
    waiter = leased(client, 1026, subject={"type": "instance", "id": "seo-agent-8"}, wait_seconds=10).json()
    new = client.get(waiter["poll"]).json()["lease"]
    path, token = f"/v1/leases/{old['lease_id']}", old["lease_epoch"]

    renewal = client.put(path, json={"lease_epoch": token}, headers={"If-Match": "*"})
    release = client.delete(path, params={"lease_epoch": token})
    shown = {"lease": {"lease_id": old["lease_id"], "fencing_token": token}}
    question = {"subject": {"type": "instance", "id": "seo-agent-7"}, "action": {"name": "UPDATE_CANONICAL"}}
    resource = {"resource": {"type": "wp:post", "id": "1026"}}
    write = client.post("/access/v1/evaluation", json={**question, **resource, "context": READ | shown}).json()

    assert new["lease_epoch"] > token
    assert (renewal.status_code, renewal.json()["code"]) == (410, "lease_expired")
    assert (release.status_code, release.json()["state"]) == (410, "EXPIRED")
    assert write["decision"] is False
    assert [each["code"] for each in write["context"]["reasons"]][:2] == ["lease_expired", "stale_fencing_token"]
    assert client.get(f"/v1/receipts/{old['coordination_id']}").json()["status"] == "EXPIRED"


@pytest.mark.feature("S76")
def test_taking_over_needs_an_edge(client: httpx.Client) -> None:
    """Without a live MAY_PREEMPT edge it is 403, named for that and not for what is in the way."""
    lease = leased(client, 1027).json()["lease"]
    taker = {"subject": {"type": "instance", "id": "seo-agent-8"}, "action": {"name": "UPDATE_CANONICAL"}}

    reply = client.post(f"/v1/leases/{lease['lease_id']}/preempt", json={**taker, "context": READ})

    assert (reply.status_code, reply.json()["code"]) == (403, "preemption_not_authorized")
    assert client.get(f"/v1/leases/{lease['lease_id']}").json()["state"] == "HELD"


@pytest.mark.feature("S42", "S45")
def test_declared_runs_that_would_meet_are_told_before_they_start(client: httpx.Client) -> None:
    """The second declaration names the first, and so does the map."""
    runs = [
        client.post(
            "/v1/work-sets",
            json={
                "run_id": f"run-{number}",
                "actor": "instance:orchestrator-1",
                "writes": ["wp:post:1028"],
                "expires_at": "2098-01-01T00:00:00Z",
            },
        )
        for number in (1, 2)
    ]
    pairs = client.get("/v1/conflicts/map").json()["pairs"]

    assert [each.status_code for each in runs] == [200, 200]
    assert [each["run_id"] for each in runs[1].json()["conflicts"]] == ["run-1"]
    assert [(each["key"], each["conflict_type"]) for each in pairs] == [("wp:post:1028", "WRITE_WRITE")]
    assert [client.delete(f"/v1/work-sets/run-{number}").status_code for number in (1, 2)] == [204, 204]


@pytest.mark.feature("S95")
def test_a_write_past_the_protocol_is_found(client: httpx.Client) -> None:
    """A version that no operation explains, on an owned field by nobody known, violates the ownership."""
    seen = {"resource": {"type": "wp:post", "id": "1028"}, "fields": ["canonical"], "observed_version": "rev_900"}

    reply = client.post("/v1/observations", json={**seen, "reporter": "human:operator"})

    assert reply.status_code == 200, reply.text
    assert (reply.json()["explained"], reply.json()["finding"]) == (False, "ownership_violation")


def test_the_feed_is_whole_revisions_and_resumes(client: httpx.Client) -> None:
    """Filtered lines carry revision and token; either resumes after itself, and a long poll waits for the next."""
    leased(client, 9101, action={"name": "UPDATE_TITLE"}, subject={"type": "human", "id": "editor-1"})
    reply = client.get("/v1/changes", params={"kinds": "lease.put"})
    lines = [json.loads(line) for line in reply.text.splitlines()]
    last = lines[-1]

    assert reply.headers["content-type"] == "application/x-ndjson"
    assert {change["kind"] for line in lines for change in line["changes"]} == {"lease.put"}
    assert [each["revision"] for each in lines] == sorted({each["revision"] for each in lines})
    for after in (last["revision"], last["token"]):
        assert client.get("/v1/changes", params={"after": after, "kinds": "lease.put"}).text == ""
    assert client.get("/v1/changes", params={"after": "bm90IG91cnM"}).json()["code"] == "revision_foreign"
    with client.stream("GET", "/v1/changes", headers={"Accept": "text/event-stream", "Last-Event-ID": "1"}) as stream:
        first = next(line for line in stream.iter_lines() if line.startswith("id: "))
    assert first == "id: 2"


@pytest.mark.feature("S40", "S113")
def test_only_who_owns_may_hand_over(client: httpx.Client) -> None:
    """Another owner's proposal is refused; a step out of turn is 409; an abort restores what was before."""
    body = {
        "from": "controller:seo-control-plane",
        "to": "controller:content-control-plane",
        "resource": {"type": "wp:post", "id": "2001"},
        "fields": ["canonical"],
        "reason": "ticket 4711",
    }
    actor = {"actor": "controller:seo-control-plane"}
    foreign = client.post("/v1/transfers", json={**body, "actor": "controller:content-control-plane"})
    proposed = client.post("/v1/transfers", json={**body, **actor})
    path = f"/v1/transfers/{proposed.json()['transfer_id']}"
    early = client.post(f"{path}/transfer", json=actor)
    states = [client.post(f"{path}/{step}", json=actor).json()["state"] for step in ("validate", "freeze", "abort")]

    assert foreign.status_code == 403
    assert (proposed.status_code, proposed.json()["state"]) == (201, "PROPOSED")
    assert (early.status_code, early.json()["code"]) == (409, "invalid_transition")
    assert states == ["VALIDATED", "FROZEN", "ABORTED"]
    steps = client.get(path).json()["steps"]
    assert [each["step"] for each in steps] == ["propose", "validate", "freeze", "abort"]
    assert all(each["revision"] > 0 and each["actor"] == actor["actor"] for each in steps)


@pytest.mark.feature("S36", "S59", "S93", "S94", "S110")
async def test_the_whole_story_is_as_it_is_told(tmp_path: Path) -> None:
    """Every call of the demo gets the answer it is promised."""
    served = serve(tmp_path, SEO, demo=True)
    try:
        async with httpx.AsyncClient(base_url=served.url, timeout=20) as calls:
            out = io.StringIO()
            score = await Player(calls, Console(file=out, width=200)).play()
    finally:
        served.stop()

    assert score.differing == 0, out.getvalue()
    assert score.asked >= 70
