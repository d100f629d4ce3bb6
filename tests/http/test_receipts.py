"""Every end of an operation over HTTP, each with its receipt (evidence.md 1), and with the conflict that led to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from remit_service.http.coordination.tell import RECEIPT
from tests.http.serving import serve, stopped_later
from tests.support.process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
WORKER = "cf:worker:seo-publisher:production"
OWNER = "controller:seo-control-plane"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, for callers of this machine."""
    yield from stopped_later(serve(tmp_path_factory.mktemp("receipts"), SEO, demo=True))


@pytest.fixture
def client(served: Served) -> httpx.Client:
    """A local caller, which sees the graph and speaks for anyone."""
    return served.client()


def begun(client: httpx.Client, key: str, *, who: str = "instance:seo-agent-7", **more: Any) -> dict[str, Any]:
    """Begin an operation that has to be granted."""
    kind, _, name = who.partition(":")
    body = {
        "subject": {"type": kind, "id": name},
        "action": {"name": "UPDATE_CANONICAL"},
        "resource": {"type": "key", "id": key},
        "context": {"risk": "LOW", "expected_version": "rev_1", "change_id": "chg_1"},
        "purpose": "SEO_UPDATE",
    }
    reply = client.post("/v1/operations", json={**body, **more})
    assert reply.status_code == 201, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def steps(client: httpx.Client, operation: dict[str, Any], result: str = "applied") -> list[httpx.Response]:
    """Read and execute; and what is applied, verify and complete."""
    path, token = f"/v1/operations/{operation['coordination_id']}", {"lease_epoch": operation["lease_epoch"]}
    walk: list[tuple[str, dict[str, Any]]] = [
        ("precondition", {"current_version": "rev_1"}),
        ("executed", {**token, "result": result, "evidence": {"status": 200}}),
    ]
    if result == "applied":
        walk += [("verified", {**token, "passed": True}), ("complete", {**token, "final_version": "rev_2"})]
    return [client.post(f"{path}/{step}", json=body) for step, body in walk]


def receipt(client: httpx.Client, operation: dict[str, Any]) -> dict[str, Any]:
    """Return the receipt, which has every member that a receipt has, and what is true of each of these ends."""
    reply = client.get(f"/v1/receipts/{operation['coordination_id']}")
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    assert set(RECEIPT) <= set(found)
    assert found["coordination_id"] == operation["coordination_id"]
    assert (found["lease_id"], found["lease_epoch"]) == (operation["lease"]["lease_id"], operation["lease_epoch"])
    assert found["released_at"] > found["acquired_at"]
    return found


def common(found: dict[str, Any]) -> dict[str, Any]:
    """Return what the receipts of these operations have in common."""
    names = ("principal", "owner", "authority_epoch", "ownership_epoch", "policy_epoch", "expected_version",
             "conflicts", "approvals", "change_id", "purpose", "authority_origin")  # fmt: skip
    return {name: found[name] for name in names}


OF_THE_AGENT = {
    "principal": "instance:seo-agent-7",
    "owner": OWNER,
    "authority_epoch": 1,
    "ownership_epoch": 1,
    "policy_epoch": 1,
    "expected_version": "rev_1",
    "conflicts": [],
    "approvals": [],
    "change_id": "chg_1",
    "purpose": "SEO_UPDATE",
    "authority_origin": ["own-seo@1", "del_882@1", "acts_as:instance:seo-agent-7>role:seo-agent@1"],
}


@pytest.mark.feature("S98", "S99", "S67")
def test_completed(client: httpx.Client) -> None:
    """Receipt and release are one revision; the execution receipt says what happened, and each names the other."""
    operation = begun(client, "wp:post:1024")
    done = steps(client, operation)[-1].json()
    found = receipt(client, operation)
    happened = client.get(f"/v1/receipts/{found['execution_id']}").json()
    entries = client.get("/v1/changes?kinds=receipt,lease.end", headers={"Accept": "application/json"}).json()[
        "entries"
    ]

    assert found == done["receipt"]
    assert common(found) == OF_THE_AGENT
    assert (found["status"], found["final_version"], found["decision_id"][:4]) == ("COMPLETED", "rev_2", "dec_")
    assert (happened["coordination_id"], happened["result"]) == (operation["coordination_id"], "applied")
    assert "authority_origin" not in happened
    assert "evidence" not in found
    assert [each["kind"] for each in entries[-1]["changes"]] == ["lease.end", "receipt.put", "receipt.put"]


@pytest.mark.feature("S98")
def test_aborted(client: httpx.Client) -> None:
    """Given up with a reason; doing it twice changes nothing, and no execution receipt is made up."""
    operation = begun(client, "wp:post:1027")
    path = f"/v1/operations/{operation['coordination_id']}/abort"
    first = client.post(path, json={"reason": "nothing to do"}).json()["receipt"]
    again = client.post(path, json={"reason": "another reason"})
    found = receipt(client, operation)

    assert (again.status_code, again.json()["status"]) == (200, "ABORTED")
    assert found == first
    assert common(found) == OF_THE_AGENT
    told = [found[each] for each in ("status", "reason", "by", "final_version")]
    assert told == ["ABORTED", "nothing to do", "instance:seo-agent-7", None]
    assert "execution_id" not in found


@pytest.mark.feature("S98", "S62")
def test_expired(client: httpx.Client) -> None:
    """A holder that is gone leaves a receipt all the same, by nobody's action, at the end of its lease."""
    operation = begun(client, "wp:post:1027", ttl_seconds=1)
    path = f"/v1/receipts/{operation['coordination_id']}"
    wait_until(lambda: client.get(path).status_code == 200)
    found = receipt(client, operation)

    assert common(found) == OF_THE_AGENT
    assert (found["status"], found["final_version"], "by" in found) == ("EXPIRED", None, False)
    assert found["released_at"] >= operation["lease"]["expires_at"]


@pytest.mark.feature("S98", "S76", "S56")
def test_preempted(client: httpx.Client) -> None:
    """Taken over under SEV1: who took it and why, and a conflict record that names winner, reason and both."""
    deploy = {"action": {"name": "DEPLOY_WORKER"}}
    operation = begun(client, WORKER, who="instance:release-controller-a", **deploy)
    incident = {"incident_id": "inc_1", "severity": "SEV1", "resource": {"type": "key", "id": WORKER}}
    client.post("/v1/incidents", json={**incident, "actor": "human:commander"}).raise_for_status()
    taken = begun(client, WORKER, who="human:commander", action={"name": "ROLLBACK_WORKER"}, preempt=True)
    found = receipt(client, operation)
    records = client.get("/v1/conflicts").json()["conflicts"]
    record = next(each for each in records if each["winner"] == "human:commander")
    notice = client.get("/v1/notices?subject=instance:release-controller-a").json()["notices"][-1]

    told = [found[each] for each in ("status", "cause", "code", "by", "final_version")]
    assert told == ["PREEMPTED", "preemption", "preempted", "human:commander", None]
    assert taken["lease_epoch"] > operation["lease_epoch"]
    assert record["contenders"] == ["instance:release-controller-a", "human:commander"]
    told = [record[each] for each in ("resource", "conflict_type", "decision", "reason_code")]
    assert told == [WORKER, "WRITE_WRITE", "preempt", "incident_priority"]
    assert record["policy_version"].startswith("sha256:")
    assert (notice["code"], notice["dirty_keys"], notice["current_token"]) == (
        "preempted",
        [WORKER],
        taken["lease_epoch"],
    )


@pytest.mark.feature("S98")
@pytest.mark.parametrize("end", ["ABORTED", "EXPIRED"])
def test_outcome_unknown(client: httpx.Client, end: str) -> None:
    """Whoever does not know what its call came to, and then gives up or is gone, leaves just that behind."""
    operation = begun(client, "wp:post:1028", ttl_seconds=1 if end == "EXPIRED" else 30)
    assert steps(client, operation, "unknown")[-1].status_code == 200
    if end == "ABORTED":
        path = f"/v1/operations/{operation['coordination_id']}/abort"
        client.post(path, json={"reason": "the connection broke"}).raise_for_status()
    wait_until(lambda: client.get(f"/v1/receipts/{operation['coordination_id']}").status_code == 200)
    found = receipt(client, operation)
    happened = client.get(f"/v1/receipts/{found['execution_id']}").json()

    assert common(found) == OF_THE_AGENT
    assert (found["status"], found.get("ended_as")) == ("OUTCOME_UNKNOWN", "EXPIRED" if end == "EXPIRED" else None)
    assert happened["result"] == "unknown"


@pytest.mark.feature("S98")
def test_a_lease_alone(client: httpx.Client) -> None:
    """One that is given back needs none; one that is lost leaves the same receipt, with null for what it never had."""
    body = {
        "subject": {"type": "human", "id": "editor-2"},
        "action": {"name": "UPDATE_TITLE"},
        "resource": {"type": "key", "id": "wp:post:9101"},
        "context": {"risk": "LOW", "expected_version": "rev_1"},
        "ttl_seconds": 1,
    }
    lease = client.post("/v1/leases", json=body).json()["lease"]
    path = f"/v1/receipts/{lease['coordination_id']}"
    wait_until(lambda: client.get(path).status_code == 200)
    found = client.get(path).json()

    assert set(RECEIPT) <= set(found)
    assert (found["status"], found["lease_id"], found["ownership_epoch"]) == ("EXPIRED", lease["lease_id"], 1)
    assert found["final_version"] is None


@pytest.mark.feature("S98", "S33")
@pytest.mark.parametrize("cause", ["operator", "authority", "ownership"])
def test_revoked(client: httpx.Client, cause: str) -> None:
    """By an operator, with the delegation it rests on, and by a transfer that did not wait: the cause is told."""
    key, who = ("wp:post:2001", "instance:seo-agent-7") if cause == "ownership" else ("wp:post:1025", "human:editor-1")
    if cause == "authority":
        key, who = "wp:post:1026", "instance:linking-agent-1"
    action = {"human:editor-1": "UPDATE_TITLE", "instance:linking-agent-1": "UPDATE_LINKS"}.get(who, "UPDATE_CANONICAL")
    operation = begun(client, key, who=who, action={"name": action})
    if cause == "operator":
        body = {"actor": "organization:acme", "target": {"lease_id": operation["lease"]["lease_id"]}, "reason": "stuck"}
        client.post("/v1/revocations", json=body).raise_for_status()
    elif cause == "authority":
        body = {"actor": "role:orchestrator", "target": {"delegation_id": "del-fan-links"}, "reason": "ticket 4711"}
        client.post("/v1/revocations", json=body).raise_for_status()
    else:
        move(client, key)
    late = client.post(f"/v1/operations/{operation['coordination_id']}/precondition", json={"current_version": "rev_1"})
    found = receipt(client, operation)

    assert (found["status"], found["cause"], found["code"], found["principal"]) == (
        "REVOKED",
        cause,
        "lease_revoked",
        who,
    )
    assert (late.status_code, late.json()["code"]) == (410, "lease_revoked")


def move(client: httpx.Client, key: str) -> None:
    """Move the canonical of a post to another owner, with a deadline that is soon over."""
    body = {"actor": OWNER, "from": OWNER, "to": "controller:content-control-plane", "resource": key,
            "fields": ["canonical"], "reason": "test", "freeze_deadline_seconds": 1}  # fmt: skip
    path = f"/v1/transfers/{client.post('/v1/transfers', json=body).json()['transfer_id']}"
    for step in ("validate", "freeze"):
        client.post(f"{path}/{step}", json={"actor": OWNER}).raise_for_status()
    wait_until(lambda: client.post(f"{path}/transfer", json={"actor": OWNER}).is_success)
