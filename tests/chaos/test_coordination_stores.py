"""Two decision points on one shared store, SQLite and Neo4j: races, pauses and deaths, with clients as processes."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from signal import SIGCONT, SIGSTOP
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from remit_graph.neo4j import Neo4jLedger
from tests.chaos.coordination_points import WRITE, DecisionPoint, Worker, begin
from tests.contract.ledgers import patient
from tests.support.process import wait_until
from tests.support.store_lock import StoreLock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.neo4j_server import Neo4jServer

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(600)]
Pair = tuple[DecisionPoint, DecisionPoint]


@pytest.fixture(scope="module", params=["sqlite", pytest.param("neo4j", marks=pytest.mark.neo4j)])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two decision points on one store, for all of these tests: each works on a resource of its own."""
    folder = tmp_path_factory.mktemp("pair")
    options: dict[str, Any] = {"store": None, "secrets": None}
    if request.param == "neo4j":
        server = request.getfixturevalue("neo4j_of_this_run")
        server.revive()
        server.empty()
        found(server)
        options["store"] = f"neo4j://{server.user}@127.0.0.1:{server.port}"
        options["secrets"] = {"REMIT_STORE_PASSWORD": server.password}
    points = (DecisionPoint(folder, name="one", **options), DecisionPoint(folder, name="other", **options))
    for each in points:
        each.start()
    yield points
    for each in points:
        each.process.stop()


@pytest.fixture(scope="module")
def lock(pair: Pair) -> Iterator[StoreLock]:
    """A process that can hold the store's own write lock."""
    other = StoreLock(pair[0].store, pair[0].secrets.get("REMIT_STORE_PASSWORD", ""))
    yield other
    other.close()


def found(server: Neo4jServer) -> None:
    """Make an empty store, with patience: a database that was just started is slow to answer for the first time."""
    options = patient(url=server.url, user=server.user, password=server.password)

    async def make() -> None:
        await (await Neo4jLedger.init(options, "acme")).aclose()

    asyncio.run(make())


@pytest.fixture
def hire(tmp_path: Path) -> Iterator[Callable[[DecisionPoint, dict[str, Any]], Worker]]:
    """A starter of workers on one page, each through a decision point; all are ended with the test."""
    workers: list[Worker] = []

    def one(point: DecisionPoint, body: dict[str, Any]) -> Worker:
        workers.append(Worker(point, tmp_path / "page.json", body))
        return workers[-1]

    yield one
    for each in workers:
        each.close()


@pytest.mark.feature("S59", "S110")
def test_two_publishers_over_two_decision_points(pair: Pair, hire: Any) -> None:
    """Started at once over different decision points, one runs and two follow; at its end exactly one goes on."""
    job = "job:daily-seo-publish"
    runners = [
        hire(pair[place % 2], begin(f"instance:runner-{name}", "RUN_JOB", job, ttl_seconds=10))
        for place, name in enumerate("abc")
    ]
    answers = [each.hear() for each in runners]
    first = next(each for each in answers if each["status"] == 201)
    later = [
        hire(pair[place % 2], begin(f"instance:runner-{name}", "RUN_JOB", job, wait_seconds=16, ttl_seconds=120))
        for place, name in enumerate("abc")
        if answers[place]["status"] == 409
    ]
    followers = sorted((each.hear() for each in later), key=lambda each: int(each["status"]))

    assert sorted(each["status"] for each in answers) == [201, 409, 409]
    assert [each["code"] for each in answers if each["status"] == 409] == ["follower", "follower"]
    assert followers[0]["lease_epoch"] > first["lease_epoch"]
    assert (followers[1]["status"], followers[1]["code"]) == (409, "coordination_timeout")


@pytest.mark.feature("S64", "S65", "S111")
def test_a_stopped_holder_with_the_decision_point_down(pair: Pair, hire: Any) -> None:
    """Resumed while its decision point is dead the guard alone stops it; once that is up again it is told why."""
    one, other = pair
    old = hire(one, begin("instance:seo-agent-7", "UPDATE_CANONICAL", "wp:post:1026", ttl_seconds=1))
    first = old.hear()
    old.signal(SIGSTOP)
    new = hire(other, begin("instance:seo-agent-8", "UPDATE_CANONICAL", "wp:post:1026", wait_seconds=20))
    second = new.hear()
    new.tell(WRITE)
    written = new.hear()
    one.process.kill()
    old.tell(WRITE)
    old.signal(SIGCONT)
    alone = old.hear()
    one.start()
    old.tell(WRITE)
    late = old.hear()

    assert second["lease_epoch"] > first["lease_epoch"]
    assert written == {"guard": "accepted", "recorded": 200, "code": None, "page": second["lease_epoch"]}
    assert alone == {"guard": "refused", "recorded": None, "code": None, "page": second["lease_epoch"]}
    assert late == {"guard": "refused", "recorded": 410, "code": "lease_expired", "page": second["lease_epoch"]}


@pytest.mark.feature("S62", "S85", "S86")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_decision_point_killed_between_decide_and_append(pair: Pair, when: str) -> None:
    """Killed before its append nothing is held; after it the lease is, and the repeat gets the very same, once."""
    one, other = pair
    post = "wp:post:1027" if when == "before" else "wp:post:1028"
    body = begin("instance:seo-agent-7", "UPDATE_CANONICAL", post, ttl_seconds=300)
    headers = {"Idempotency-Key": when}
    one.order.write_text(when)
    with pytest.raises(httpx.TransportError):
        httpx.post(f"{one.url}/v1/operations", json=body, headers=headers, timeout=60)
    wait_until(lambda: not one.process.running)
    with httpx.Client(base_url=other.url, timeout=60) as client:
        if when == "after":
            wait_until(lambda: bool(client.get(f"/v1/leases?under={post}").json()["leases"]))
        held = client.get(f"/v1/leases?under={post}").json()["leases"]
        again = client.post("/v1/operations", json=body, headers=headers)
        rival = client.post("/v1/operations", json=begin("instance:seo-agent-8", "UPDATE_CANONICAL", post))
        begun = client.get("/v1/changes?kinds=lease.put", headers={"Accept": "application/json"}).json()["entries"]
    one.process.kill()
    one.start()

    assert len(held) == (0 if when == "before" else 1)
    assert (again.status_code, "idempotent-replayed" in again.headers) == (201, when == "after")
    assert [each["lease_id"] for each in held] in ([], [again.json()["lease"]["lease_id"]])
    assert (rival.status_code, rival.json()["code"]) == (409, "resource_busy")
    leases = [change["body"] for entry in begun for change in entry["changes"]]
    assert len([each for each in leases if each["resource_key"] == post]) == 1
    assert httpx.get(f"{one.url}/v1/leases?under={post}").json()["leases"][0]["holder"] == "instance:seo-agent-7"


@pytest.mark.feature("S62", "S86")
def test_a_locked_store_gives_nobody_anything(pair: Pair, lock: StoreLock) -> None:
    """While another transaction holds the store, nothing begins over either decision point, and both still decide."""
    # What the agents still hold by the tests before comes earlier in the order of locks.
    post, bodies = "wp:post:2001", {}
    for each, agent in zip(pair, ("7", "8"), strict=True):
        bodies[each.url] = begin(f"instance:seo-agent-{agent}", "UPDATE_CANONICAL", post)
    with ThreadPoolExecutor() as threads, httpx.Client(timeout=60) as client, lock.held():
        sent = [threads.submit(httpx.post, f"{url}/v1/operations", json=bodies[url], timeout=60) for url in bodies]
        decided = [client.post(f"{url}/access/v1/evaluation", json=bodies[url]).json() for url in bodies]
        told = [each.result() for each in sent]
        held = [client.get(f"{url}/v1/leases?under={post}").json()["leases"] for url in bodies]
    later = httpx.post(f"{pair[0].url}/v1/operations", json=bodies[pair[0].url], timeout=60)

    assert [(each.status_code, each.json()["code"]) for each in told] == [(503, "authority_stale")] * 2
    assert [each["decision"] for each in decided] == [True, True]
    assert (held, later.status_code) == ([[], []], 201)
