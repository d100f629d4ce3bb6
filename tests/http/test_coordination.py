"""The write protocol over HTTP: begin to receipt, conflicts, queues, repeats, and what callers may see."""

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
OPERATIONS = "/v1/operations"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, with a coordinator beside the decision point."""
    yield from stopped_later(serve(tmp_path_factory.mktemp("coordination"), SEO, keys=("gateway", "edge")))


@pytest.fixture
def gateway(served: Served) -> httpx.Client:
    """An enforcement point that sees the graph."""
    return served.client("gateway")


@pytest.fixture
def edge(served: Served) -> httpx.Client:
    """An enforcement point that sees codes alone."""
    return served.client("edge")


def asking(post: int, *, agent: int = 7, action: str = "UPDATE_CANONICAL", **more: Any) -> dict[str, Any]:
    """Return the body that begins an operation of an SEO agent on a post."""
    return {
        "subject": {"type": "instance", "id": f"seo-agent-{agent}"},
        "action": {"name": action},
        "resource": {"type": "wp:post", "id": str(post)},
        "context": {"risk": "LOW", "expected_version": "rev_331", "change_id": "chg_991"},
        **more,
    }


def begun(client: httpx.Client, post: int, **more: Any) -> dict[str, Any]:
    """Begin an operation that has to be granted."""
    reply = client.post(OPERATIONS, json=asking(post, **more))
    assert reply.status_code == 201, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


@pytest.mark.feature("S86", "S98", "S99")
def test_an_operation_ends_with_its_receipt(gateway: httpx.Client) -> None:
    """The eleven steps in five calls; the receipt holds what was planned, what is, and by which authority."""
    operation = begun(gateway, 1024)
    path, token = f"{OPERATIONS}/{operation['coordination_id']}", {"lease_epoch": operation["lease_epoch"]}
    steps = [
        gateway.post(f"{path}/precondition", json={"current_version": "rev_331"}),
        gateway.post(f"{path}/executed", json={**token, "result": "applied", "evidence": {"status": 200}}),
        gateway.post(f"{path}/verified", json={**token, "passed": True}),
    ]
    done = gateway.post(f"{path}/complete", json={**token, "final_version": "rev_332"})
    receipt = gateway.get(f"/v1/receipts/{operation['coordination_id']}").json()

    assert [each.json()["state"] for each in steps] == ["READ", "EXECUTED", "VERIFIED"]
    assert done.json()["receipt"] == receipt
    named = {name: receipt[name] for name in ("status", "expected_version", "final_version", "owner", "change_id")}
    assert named == {
        "status": "COMPLETED",
        "expected_version": "rev_331",
        "final_version": "rev_332",
        "owner": "controller:seo-control-plane",
        "change_id": "chg_991",
    }
    assert receipt["authority_origin"] == ["own-seo@1", "del_882@1", "acts_as:instance:seo-agent-7>role:seo-agent@1"]
    happened = gateway.get(f"/v1/receipts/{receipt['execution_id']}").json()
    assert (happened["record"], happened["result"], happened["evidence"]) == ("execution", "applied", {"status": 200})
    assert gateway.get(path).json()["state"] == "ENDED"


@pytest.mark.feature("S47")
@pytest.mark.parametrize(
    ("subject", "action", "kind", "identifier", "key"),
    [
        ("seo-agent-7", "UPDATE_CANONICAL", "wp:post", "1027", "wp:post:1027"),
        ("seo-agent-7", "UPDATE_CANONICAL", "wordpress:article", "1028", "wp:post:1028"),
        ("seo-publisher-1", "REWRITE_ROBOTS", "site:robots", "example.com", "site:example.com:robots"),
        (
            "release-controller-a",
            "DEPLOY_WORKER",
            "cf:worker",
            "seo-publisher:production",
            "cf:worker:seo-publisher:production",
        ),
    ],
)
def test_an_action_yields_its_coordination_key(
    gateway: httpx.Client, subject: str, action: str, kind: str, identifier: str, key: str
) -> None:
    """What is decided about a write names the key it has to be excluded by, whatever the resource was called."""
    body = {
        "subject": {"type": "instance", "id": subject},
        "action": {"name": action},
        "resource": {"type": kind, "id": identifier},
    }
    decision_id = gateway.post("/access/v1/evaluation", json=body).json()["context"]["decision_id"]
    decided_on = gateway.get(f"/v1/decisions/{decision_id}").json()["input"]["resource"]
    assert (decided_on["coordination_key"], decided_on["key"]) == (key, key)


@pytest.mark.feature("S67", "S78", "S82")
def test_a_step_out_of_turn_is_a_problem(gateway: httpx.Client) -> None:
    """A stale version is 412 and not retryable; completing what is not verified is 409."""
    operation = begun(gateway, 1025)
    path, token = f"{OPERATIONS}/{operation['coordination_id']}", {"lease_epoch": operation["lease_epoch"]}

    stale = gateway.post(f"{path}/precondition", json={"current_version": "rev_400"})
    early = gateway.post(f"{path}/complete", json={**token, "final_version": "rev_332"})
    given_up = gateway.post(f"{path}/abort", json={"reason": "the post moved on"})

    problem = stale.json()
    assert stale.status_code == 412
    assert stale.headers["content-type"] == "application/problem+json"
    assert {name: problem[name] for name in ("code", "resource", "expected_version", "current_version")} == {
        "code": "stale_resource_version",
        "resource": "wp:post:1025",
        "expected_version": "rev_331",
        "current_version": "rev_400",
    }
    assert (problem["retryable"], problem["outcome"]) == (False, "rebase")
    assert (early.status_code, early.json()["code"]) == (409, "not_verified")
    assert given_up.json()["receipt"]["status"] == "ABORTED"


@pytest.mark.feature("S54", "S55", "S74", "S88")
def test_a_conflict_says_who_until_when_and_when_to_come_back(gateway: httpx.Client, edge: httpx.Client) -> None:
    """The same refusal for both callers; who sees codes alone is told no holder, key, token or time."""
    operation = begun(gateway, 1026)

    whole = gateway.post(OPERATIONS, json=asking(1026, agent=8))
    codes = edge.post(OPERATIONS, json=asking(1026, agent=8))
    problem, redacted = whole.json(), codes.json()

    assert (whole.status_code, problem["code"], problem["outcome"]) == (409, "resource_busy", "serialize")
    assert int(whole.headers["retry-after"]) == problem["retry_after_seconds"]
    assert problem["conflicts"][0]["holder"] == "instance:seo-agent-7"
    assert problem["held_until"] == operation["lease"]["expires_at"]
    assert problem["preemptible_by_you"] is False
    assert redacted["conflicts"] == [{"domain": "CANONICAL", "result": "serialize"}]
    assert [each["code"] for each in redacted["reasons"]] == [each["code"] for each in problem["reasons"]]
    assert redacted["retry_after_seconds"] > 0
    assert "seo-agent-7" not in codes.text
    assert operation["lease"]["lease_id"] not in codes.text


@pytest.mark.feature("S73", "S71")
def test_a_waiter_is_granted_by_the_release(gateway: httpx.Client) -> None:
    """202 with a place in the queue; the long poll has the lease once the first one gave it back."""
    first = begun(gateway, 1027)
    queued = gateway.post(OPERATIONS, json=asking(1027, agent=8, wait_seconds=30))
    waiter = queued.json()
    queue = gateway.get("/v1/queues/wp:post:1027").json()["waiters"]
    waiting = gateway.get(f"/v1/waiters/{waiter['waiter_id']}")
    gateway.post(f"{OPERATIONS}/{first['coordination_id']}/abort", json={"reason": "done"})
    granted = gateway.get(waiter["poll"])

    assert (queued.status_code, waiter["position"], waiter["decision"]) == (202, 1, False)
    assert queued.headers["location"] == f"/v1/waiters/{waiter['waiter_id']}"
    assert [(each["holder"], each["waits_for"][0]["holder"]) for each in queue] == [
        ("instance:seo-agent-8", "instance:seo-agent-7")
    ]
    assert waiting.status_code == 202
    assert (granted.status_code, granted.json()["lease"]["holder"]) == (200, "instance:seo-agent-8")
    assert granted.json()["lease_epoch"] > first["lease_epoch"]


def test_who_leaves_the_queue_is_gone(gateway: httpx.Client) -> None:
    """Leaving twice is as good as once; afterwards the wait is 409 or 410, and a wait nobody knows is 404."""
    first = begun(gateway, 1028)
    waiter = gateway.post(OPERATIONS, json=asking(1028, agent=8, wait_seconds=30)).json()["waiter_id"]

    left = [gateway.delete(f"/v1/waiters/{waiter}").status_code for _ in range(2)]

    assert left == [204, 204]
    assert gateway.get(f"/v1/waiters/{waiter}").status_code in (409, 410)
    assert gateway.get("/v1/waiters/wait_of_nobody").status_code == 404
    gateway.post(f"{OPERATIONS}/{first['coordination_id']}/abort", json={"reason": "over"})


def test_who_leaves_too_late_is_told_what_it_holds(gateway: httpx.Client) -> None:
    """The grant came before it: it is answered as a poll would be, until it is given back."""
    first = begun(gateway, 1028)
    waiter = gateway.post(OPERATIONS, json=asking(1028, agent=8, wait_seconds=30)).json()["waiter_id"]
    gateway.post(f"{OPERATIONS}/{first['coordination_id']}/abort", json={"reason": "over"})

    left = gateway.delete(f"/v1/waiters/{waiter}")

    held = gateway.get(f"/v1/waiters/{waiter}")
    assert (left.status_code, left.json()["lease"]["state"]) == (200, "HELD")
    assert left.json()["coordination_id"] == held.json()["coordination_id"]
    assert gateway.post(f"{OPERATIONS}/{left.json()['coordination_id']}/abort", json={"reason": "over"}).is_success


@pytest.mark.feature("S84", "S85")
def test_a_repeat_with_its_key_is_the_same_operation(gateway: httpx.Client) -> None:
    """The first answer again; another body under that key is 422; keys may be quoted or bare."""
    body = asking(2001)
    first = gateway.post(OPERATIONS, json=body, headers={"Idempotency-Key": '"run-7"'})
    again = gateway.post(OPERATIONS, json=body, headers={"Idempotency-Key": "run-7"})
    other = gateway.post(OPERATIONS, json=asking(2001, agent=8), headers={"Idempotency-Key": "run-7"})

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json()["coordination_id"] == first.json()["coordination_id"]
    assert ("idempotent-replayed" in first.headers, again.headers["idempotent-replayed"]) == (False, "true")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")


@pytest.mark.feature("S70")
def test_several_resources_are_taken_together(gateway: httpx.Client) -> None:
    """All or nothing: one that is busy refuses the whole."""
    several = [{"type": "wp:post", "id": "9101"}, {"type": "wp:post", "id": "9102"}]
    body = {**asking(0, action="UPDATE_TITLE"), "subject": {"type": "human", "id": "editor-1"}, "resources": several}
    del body["resource"]
    first = gateway.post(OPERATIONS, json=body)
    other = {**body, "subject": {"type": "human", "id": "editor-2"}, "resources": [*several[1:], *several[:1]]}

    assert [each["resource_key"] for each in first.json()["leases"]] == ["wp:post:9101", "wp:post:9102"]
    assert gateway.post(OPERATIONS, json=other).json()["code"] == "resource_busy"


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"ttl_seconds": "30"}, "#/ttl_seconds"),
        ({"mode": "both"}, "#/mode"),
        ({"preempt": 1}, "#/preempt"),
        ({"resources": []}, "#/resource"),
        ({"resource": None, "resources": [{"type": "wp:post"}]}, "#/resources/0/id"),
        ({"purpose": ""}, "#/purpose"),
        ({"subject": None}, "#/subject"),
    ],
)
def test_what_is_not_well_formed_is_400(gateway: httpx.Client, change: dict[str, Any], pointer: str) -> None:
    """With the pointer to the place."""
    reply = gateway.post(OPERATIONS, json={**asking(1024), **change})

    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, pointer)


def test_nobody_coordinates_without_a_credential(served: Served) -> None:
    """401 for whoever is not authenticated, 403 for who may not see what runs would meet."""
    assert served.client().post(OPERATIONS, json=asking(1024)).status_code == 401
    assert served.client().get("/v1/queues/wp:post:1024").status_code == 401
    assert served.client("edge").get("/v1/conflicts/map").status_code == 403


@pytest.mark.feature("S73", "S94")
def test_a_queue_says_who_waits_behind_whom_and_why(gateway: httpx.Client, edge: httpx.Client) -> None:
    """Behind a lease, a waiter, a human; who sees codes alone gets its own waits, and nothing of who is in the way."""
    first = begun(gateway, 9105, action="UPDATE_TITLE", subject={"type": "human", "id": "editor-1"})
    body = {"actor": "human:editor-1", "resource": {"type": "wp:post", "id": "9106"}, "fields_touched": ["title"]}
    presence = gateway.post("/v1/presence", json=body).json()["presence_id"]
    waits = [
        gateway.post(OPERATIONS, json=asking(
            post, action="UPDATE_TITLE", subject={"type": "human", "id": who}, wait_seconds=30
        )).json()["waiter_id"]
        for post, who in ((9105, "editor-2"), (9105, "senior-editor"), (9106, "editor-2"))
    ]  # fmt: skip
    queue = gateway.get("/v1/queues/wp:post:9105").json()["waiters"]
    held = gateway.get("/v1/queues/wp:post:9106").json()["waiters"]
    narrow = edge.get("/v1/queues/wp:post:9105")

    assert [(each["holder"], each["reason_code"]) for each in queue] == [
        ("human:editor-2", "resource_busy"),
        ("human:senior-editor", "resource_busy"),
    ]
    behind = [{(one["holder"], "lease_id" in one) for one in each["waits_for"]} for each in queue]
    assert behind[0] == {("human:editor-1", True)}
    assert behind[1] == {("human:editor-1", True), ("human:editor-2", False)}
    assert [(each["outcome"], each["reason_code"], each["waits_for"]) for each in held] == [
        ("hold", "human_presence", [])
    ]
    seen = narrow.json()["waiters"]
    assert [(each["holder"], each["position"], len(each["waits_for"])) for each in seen] == [
        ("human:editor-2", 1, 1),
        ("human:senior-editor", 2, 2),
    ]
    assert all(set(one) <= {"domain", "result"} for each in seen for one in each["waits_for"])
    assert not any(each in narrow.text for each in (first["lease"]["lease_id"], "human:editor-1", "priority"))
    for each in waits:
        gateway.delete(f"/v1/waiters/{each}")
    gateway.delete(f"/v1/presence/{presence}")


def test_a_receipt_shows_who_sees_codes_nothing_of_others(gateway: httpx.Client, edge: httpx.Client) -> None:
    """The edges that authority came from are named to insiders alone."""
    editor = {"type": "human", "id": "editor-2"}
    operation = begun(gateway, 9103, action="UPDATE_TITLE", subject=editor)
    gateway.post(f"{OPERATIONS}/{operation['coordination_id']}/abort", json={"reason": "done"})
    path = f"/v1/receipts/{operation['coordination_id']}"

    assert "authority_origin" in gateway.get(path).json()
    assert "authority_origin" not in edge.get(path).json()


@pytest.mark.feature("S98")
def test_a_receipt_is_found_however_old(served: Served, gateway: httpx.Client, edge: httpx.Client) -> None:
    """What left the view is read from the ledger, and is shown to no more callers than before."""
    editor = {"type": "human", "id": "editor-2"}
    operation = begun(gateway, 9104, action="UPDATE_TITLE", subject=editor)
    gateway.post(f"{OPERATIONS}/{operation['coordination_id']}/abort", json={"reason": "done"})
    path = f"/v1/receipts/{operation['coordination_id']}"
    at_hand = gateway.get(path).json()
    del served.point.view.coordination.kept_records["receipt"].items[operation["coordination_id"]]
    unknown = gateway.get("/v1/receipts/coord_of_nobody")

    assert gateway.get(path).json() == at_hand
    assert "authority_origin" not in edge.get(path).json()
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
