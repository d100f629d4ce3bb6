"""Metrics of coordination and authority: each event is brought about over HTTP, and read at /metrics."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.serving import serve, stopped_later
from tests.support.process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
AGENT, OTHER = {"type": "instance", "id": "seo-agent-7"}, {"type": "instance", "id": "seo-agent-8"}
SAMPLE = re.compile(r"^(remit_\w+)(?:\{([^}]*)\})? (\S+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service of this module's own: what is counted is what its tests did."""
    yield from stopped_later(serve(tmp_path_factory.mktemp("metrics"), SEO, keys=("gateway",)))


@pytest.fixture
def client(served: Served) -> httpx.Client:
    """The gateway."""
    return served.client("gateway")


def counts(client: httpx.Client) -> dict[str, float]:
    """Return every sample by name and labels."""
    text = client.get("/metrics").text
    return {f"{name}{{{labels}}}" if labels else name: float(value) for name, labels, value in SAMPLE.findall(text)}


def grown(before: dict[str, float], after: dict[str, float], *names: str) -> list[float]:
    """Return by how much samples grew."""
    return [after.get(name, 0.0) - before.get(name, 0.0) for name in names]


def asked(subject: dict[str, str], post: str, **more: Any) -> dict[str, Any]:
    """Return a request of control over the canonical address of a post, or a question about it."""
    context = {"risk": "LOW", "expected_version": "rev_1"} | more.pop("context", {})
    return {
        "subject": subject, "action": {"name": "UPDATE_CANONICAL"}, "resource": {"type": "wp:post", "id": post},
        "context": context, **more,
    }  # fmt: skip


def take(client: httpx.Client, subject: dict[str, str], post: str, **more: Any) -> dict[str, Any]:
    """Take a lease."""
    reply = client.post("/v1/leases", json=asked(subject, post, **more))
    assert reply.status_code == 201, reply.text
    lease: dict[str, Any] = reply.json()["lease"]
    return lease


def test_leases_are_counted_from_grant_to_end(client: httpx.Client) -> None:
    """Granted, renewed, met by another, released; and how many are held meanwhile."""
    before = counts(client)
    lease = take(client, AGENT, "1024")
    held = counts(client)
    renewal = {"lease_epoch": lease["lease_epoch"]}
    assert client.put(f"/v1/leases/{lease['lease_id']}", json=renewal, headers={"If-Match": "*"}).status_code == 200
    assert client.post("/v1/leases", json=asked(OTHER, "1024")).status_code == 409
    epoch = {"lease_epoch": lease["lease_epoch"]}
    assert client.delete(f"/v1/leases/{lease['lease_id']}", params=epoch).status_code in (200, 204)
    after = counts(client)

    assert grown(before, held, 'remit_leases_active{mode="exclusive"}') == [1]
    assert grown(before, after, 'remit_leases_active{mode="exclusive"}') == [0]
    assert grown(
        before, after,
        'remit_lease_acquired_total{mode="exclusive"}', "remit_lease_renewed_total", "remit_lease_released_total",
        "remit_lease_conflicts_total", "remit_lease_expired_total", "remit_lease_preempted_total",
    ) == [1, 1, 1, 1, 0, 0]  # fmt: skip
    assert grown(before, after, 'remit_command_duration_seconds_count{action="RENEW"}') == [1]
    assert grown(before, after, 'remit_commands_total{action="RENEW",code="none"}') == [1]


def test_a_lease_that_runs_out_is_counted_once(client: httpx.Client) -> None:
    """The sweeper ends it, and nobody asked."""
    before = counts(client)
    take(client, AGENT, "1024", ttl_seconds=1)
    wait_until(lambda: grown(before, counts(client), "remit_lease_expired_total") == [1])

    assert grown(before, counts(client), 'remit_leases_active{mode="exclusive"}') == [0]


def test_a_stale_token_is_counted_where_it_is_refused(client: httpx.Client) -> None:
    """By a decision and by a command: every reason of a decision counts, not only the first."""
    first = take(client, AGENT, "1024")
    client.delete(f"/v1/leases/{first['lease_id']}", params={"lease_epoch": first["lease_epoch"]})
    second = take(client, OTHER, "1024")
    before = counts(client)
    stale = {"lease": {"lease_id": second["lease_id"], "fencing_token": first["lease_epoch"]}}
    answer = client.post("/access/v1/evaluation", json=asked(OTHER, "1024", context=stale)).json()
    renewal = {"lease_epoch": first["lease_epoch"]}
    refused = client.put(f"/v1/leases/{second['lease_id']}", json=renewal, headers={"If-Match": "*"})
    after = counts(client)
    client.delete(f"/v1/leases/{second['lease_id']}", params={"lease_epoch": second["lease_epoch"]})

    assert "stale_fencing_token" in [each["code"] for each in answer["context"]["reasons"]]
    assert refused.json()["code"] == "stale_fencing_token"
    assert grown(before, after, "remit_fencing_rejections_total") == [2]
    assert grown(before, after, 'remit_decision_reasons_total{reason="stale_fencing_token"}') == [1]
    assert grown(before, after, 'remit_commands_total{action="RENEW",code="stale_fencing_token"}') == [1]


def test_the_depth_of_what_carried_a_permit_is_counted(client: httpx.Client) -> None:
    """One delegation below an owner: the histogram of depths has one more at 1, and none at 0."""
    before = counts(client)
    answer = client.post("/access/v1/evaluation", json=asked(AGENT, "1024")).json()
    denied = client.post("/access/v1/evaluation", json=asked({"type": "instance", "id": "nobody"}, "1024")).json()
    after = counts(client)
    names = [f'remit_delegation_chain_depth_bucket{{le="{bound}.0"}}' for bound in (0, 1, 2)]

    assert (answer["decision"], denied["decision"]) == (True, False)
    assert grown(before, after, *names, "remit_delegation_chain_depth_count") == [0, 1, 1, 1]


def test_who_waits_and_what_nobody_explains_are_counted(client: httpx.Client) -> None:
    """A place in a queue, its end, and a write past the protocol."""
    lease = take(client, AGENT, "1024")
    before = counts(client)
    waiting = client.post("/v1/leases", json=asked(OTHER, "1024", wait_seconds=30)).json()
    queued = counts(client)
    left = client.delete(f"/v1/waiters/{waiting['waiter_id']}")
    seen = {"resource": {"type": "wp:post", "id": "1024"}, "fields": ["canonical"], "observed_version": "rev_9"}
    reported = client.post("/v1/observations", json={**seen, "reporter": "human:operator"})
    after = counts(client)
    client.delete(f"/v1/leases/{lease['lease_id']}", params={"lease_epoch": lease["lease_epoch"]})

    assert grown(before, queued, "remit_waiters") == [1]
    assert queued["remit_longest_wait_seconds"] >= 0
    assert left.status_code < 300, left.text
    assert reported.status_code < 300, reported.text
    assert grown(before, after, "remit_waiters") == [0]
    ended = sum(after[each] - before.get(each, 0) for each in after if each.startswith("remit_waits_ended_total"))
    found = sum(after[each] - before.get(each, 0) for each in after if each.startswith("remit_observed_writes_total"))
    records = sum(
        after[each] - before.get(each, 0) for each in after if each.startswith("remit_conflict_records_total")
    )
    assert (ended, found, records >= 1) == (1, 1, True)


def test_a_revocation_is_timed(client: httpx.Client) -> None:
    """From the command to its answer: after that, nothing on this decision point permits by what it ended."""
    before = counts(client)
    body = {"target": {"edge_id": "del_882"}, "actor": "human:chief"}
    assert client.post("/v1/revocations", json=body).status_code == 200

    assert grown(before, counts(client), 'remit_command_duration_seconds_count{action="REVOKE"}') == [1]


def test_the_own_lease_and_its_receipt_are_told(client: httpx.Client) -> None:
    """decision.md 6: the caller's own lease is in the answer, and the receipt of one that has ended."""
    subject = {"type": "human", "id": "editor-1"}
    body = {"subject": subject, "action": {"name": "UPDATE_POST_BODY"}, "resource": {"type": "wp:post", "id": "6144"},
            "context": {"risk": "LOW", "expected_version": "rev_1"}}  # fmt: skip
    reply = client.post("/v1/leases", json={**body, "ttl_seconds": 1})
    assert reply.status_code == 201, reply.text
    lease = reply.json()["lease"]
    shown = {"lease_id": lease["lease_id"], "fencing_token": lease["lease_epoch"]}
    question = {**body, "context": {**body["context"], "lease": shown}}
    current = client.post("/access/v1/evaluation", json=question).json()["context"]["lease"]
    wait_until(lambda: client.get(f"/v1/leases/{lease['lease_id']}").json().get("state") != "HELD")
    ended = client.post("/access/v1/evaluation", json=question).json()["context"]

    assert {name: current[name] for name in shown} == shown
    assert (current["state"], current["expires_at"]) == ("current", lease["expires_at"])
    assert ended["lease"]["state"] == "expired"
    assert client.get(f"/v1/receipts/{ended['receipt_id']}").json()["status"] == "EXPIRED"
