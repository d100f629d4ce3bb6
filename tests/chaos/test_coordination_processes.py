"""Coordination between real processes: holders that are stopped, writers that race, a decision point that is killed.

One decision point serves a store; its clients are processes of their own, each doing what a worker would do: begin,
write to a file behind the guard of `remit_enforce`, say so: a token lower than the highest it has seen is refused.
"""

from __future__ import annotations

from signal import SIGCONT, SIGSTOP
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.chaos.coordination_points import WRITE, DecisionPoint, Worker, begin
from tests.support.process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.chaos]


@pytest.fixture(scope="module")
def point(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DecisionPoint]:
    """A decision point as its own process."""
    served = DecisionPoint(tmp_path_factory.mktemp("point"))
    served.start()
    yield served
    served.process.stop()


@pytest.fixture
def hire(point: DecisionPoint, tmp_path: Path) -> Iterator[Any]:
    """A starter of workers on one page; all of them are ended with the test."""
    workers: list[Worker] = []

    def one(body: dict[str, Any]) -> Worker:
        workers.append(Worker(point, tmp_path / "page.json", body))
        return workers[-1]

    yield one
    for each in workers:
        each.close()


@pytest.mark.feature("S59", "S110")
def test_two_publishers_start_the_same_job(hire: Any) -> None:
    """Of two processes that start at once exactly one holds the job, and the other is told that it follows."""
    runners = [hire(begin(f"instance:runner-{name}", "RUN_JOB", "job:daily-seo-publish")) for name in "ab"]

    answers = [each.hear() for each in runners]

    assert sorted(each["status"] for each in answers) == [201, 409]
    assert next(each["code"] for each in answers if each["status"] == 409) == "follower"


@pytest.mark.feature("S64", "S65", "S111")
def test_a_stopped_holder_is_refused_by_decision_point_and_guard(hire: Any, point: DecisionPoint) -> None:
    """Stopped past its TTL, the old holder resumes after the new one wrote, and nothing of it reaches the page."""
    old = hire(begin("instance:seo-agent-7", "UPDATE_CANONICAL", "wp:post:1026", ttl_seconds=1))
    first = old.hear()
    old.signal(SIGSTOP)
    old.tell(WRITE)
    new = hire(begin("instance:seo-agent-8", "UPDATE_CANONICAL", "wp:post:1026", wait_seconds=20))
    second = new.hear()
    new.tell(WRITE)
    written = new.hear()
    old.signal(SIGCONT)
    late = old.hear()
    receipt = httpx.get(f"{point.url}/v1/receipts/{first['coordination_id']}").json()

    assert second["lease_epoch"] > first["lease_epoch"]
    assert written == {"guard": "accepted", "recorded": 200, "code": None, "page": second["lease_epoch"]}
    assert late == {"guard": "refused", "recorded": 410, "code": "lease_expired", "page": second["lease_epoch"]}
    assert receipt["status"] == "EXPIRED"


@pytest.mark.feature("S113")
def test_ownership_moves_while_somebody_writes(hire: Any, point: DecisionPoint) -> None:
    """Until the deadline the running write keeps its lease; the move ends it, and the old owner's agent is refused."""
    worker = hire(begin("instance:seo-agent-7", "UPDATE_CANONICAL", "wp:post:2001"))
    worker.hear()
    actor = {"actor": "controller:seo-control-plane"}
    proposal = {
        **actor,
        "from": "controller:seo-control-plane",
        "to": "controller:content-control-plane",
        "resource": "wp:post:2001",
        "fields": ["canonical"],
        "reason": "chaos",
        "freeze_deadline_seconds": 1,
    }
    with httpx.Client(base_url=point.url, timeout=20) as client:
        path = f"/v1/transfers/{client.post('/v1/transfers', json=proposal).json()['transfer_id']}"
        for step in ("validate", "freeze"):
            client.post(f"{path}/{step}", json=actor)
        early = client.post(f"{path}/transfer", json=actor)
        fresh = client.post("/v1/operations", json=begin("instance:seo-agent-8", "UPDATE_CANONICAL", "wp:post:2001"))
        wait_until(lambda: client.post(f"{path}/transfer", json=actor).is_success)
    worker.tell(WRITE)
    late = worker.hear()

    assert (early.status_code, early.json()["code"]) == (409, "resource_busy")
    assert fresh.json()["code"] == "owner_frozen"
    assert (late["recorded"], late["code"]) == (410, "lease_revoked")


@pytest.mark.feature("S05", "S112")
def test_authority_is_revoked_in_the_middle_of_an_operation(hire: Any, point: DecisionPoint) -> None:
    """The write that was on its way cannot be recorded, the next is denied, and the receipt says REVOKED."""
    body = begin("instance:linking-agent-1", "UPDATE_LINKS", "wp:post:1025")
    worker = hire(body)
    operation = worker.hear()
    revocation = {
        "actor": "role:orchestrator",
        "target": {"delegation_id": "del-fan-links"},
        "reason": "ticket 4711",
    }
    with httpx.Client(base_url=point.url, timeout=20) as client:
        revoked = client.post("/v1/revocations", json=revocation)
        worker.tell(WRITE)
        late = worker.hear()
        again = client.post("/access/v1/evaluation", json=body).json()
        receipt = client.get(f"/v1/receipts/{operation['coordination_id']}").json()

    assert revoked.json()["ended"]["leases"] == [operation["lease"]["lease_id"]], revoked.text
    assert (late["recorded"], late["code"]) == (410, "lease_revoked")
    assert [each["code"] for each in again["context"]["reasons"]] == ["delegation_revoked"]
    assert (receipt["status"], receipt["cause"]) == ("REVOKED", "authority")


@pytest.mark.feature("S112")
def test_a_capability_is_revoked_in_the_middle_of_an_operation(hire: Any, point: DecisionPoint) -> None:
    """What was begun with it ends with it: the write on its way is not recorded, and neither is any other."""
    body = begin("instance:seo-publisher-1", "REWRITE_ROBOTS", "site:example.com:robots")
    with httpx.Client(base_url=point.url, timeout=20) as client:
        given = client.post("/v1/capabilities", json={**body, "context": {}, "ttl_seconds": 300}).json()
        body["context"]["capability"] = {"token": given["token"]}
        worker = hire(body)
        operation = worker.hear()
        target = {"capability_id": given["capability_id"]}
        revocation = {"actor": "instance:seo-publisher-1", "target": target, "reason": "lost"}
        revoked = client.post("/v1/revocations", json=revocation)
        worker.tell(WRITE)
        late = worker.hear()
        again = client.post("/access/v1/evaluation", json=body).json()
        receipt = client.get(f"/v1/receipts/{operation['coordination_id']}").json()

    assert revoked.status_code == 200, revoked.text
    assert (late["recorded"], late["code"]) == (410, "lease_revoked")
    assert "capability_revoked" in [each["code"] for each in again["context"]["reasons"]]
    assert (receipt["status"], receipt["cause"]) == ("REVOKED", "authority")


@pytest.mark.feature("S62")
def test_leases_survive_the_end_of_their_decision_point(point: DecisionPoint) -> None:
    """Killed and started again, the decision point knows holder and token; the holder renews, another is told busy."""
    with httpx.Client(base_url=point.url, timeout=20) as client:
        body = begin("instance:seo-agent-7", "UPDATE_CANONICAL", "wp:post:1028")
        lease = client.post("/v1/leases", json=body, headers={"Idempotency-Key": "once"}).json()["lease"]
    point.process.kill()
    point.start()
    with httpx.Client(base_url=point.url, timeout=20) as client:
        again = client.post("/v1/leases", json=body, headers={"Idempotency-Key": "once"})
        busy = client.post("/v1/leases", json={**body, "subject": {"type": "instance", "id": "seo-agent-8"}})
        path = f"/v1/leases/{lease['lease_id']}"
        renewed = client.put(path, json={"lease_epoch": lease["lease_epoch"]}, headers={"If-Match": '"1"'})

    assert again.json()["lease"]["lease_id"] == lease["lease_id"]
    assert (busy.status_code, busy.json()["code"]) == (409, "resource_busy")
    assert (renewed.status_code, renewed.json()["lease_epoch"]) == (200, lease["lease_epoch"])
