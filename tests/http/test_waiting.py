"""Those who wait over HTTP: event streams beside long polls, clients that hang up, and a server that stops."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from remit_graph.errors import LedgerUnavailable
from tests.http.serving import serve, stopped_later
from tests.support.process import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from remit_graph.model.change import Entry
    from tests.http.serving import Served

SEO = Path(__file__).parents[2] / "fixtures" / "worlds" / "seo.yaml"
EVENTS = {"accept": "text/event-stream"}
LONG = 60


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The content platform, with room for two open waits."""
    folder = tmp_path_factory.mktemp("waiting")
    yield from stopped_later(serve(folder, SEO, keys=("gateway", "edge"), max_long_polls=2))


@pytest.fixture
def gateway(served: Served) -> httpx.Client:
    """An enforcement point that sees the graph."""
    return served.client("gateway")


def begins(client: httpx.Client, agent: str, post: int, **more: Any) -> dict[str, Any]:
    """Begin an operation on the canonical of a post, or wait for it."""
    body: dict[str, Any] = {
        "subject": {"type": "instance", "id": agent},
        "action": {"name": "UPDATE_CANONICAL"},
        "resource": {"type": "wp:post", "id": str(post)},
        "context": {"risk": "LOW", "expected_version": "rev_1"},
    }
    answer: dict[str, Any] = client.post("/v1/operations", json={**body, **more}).json()
    return answer


def gives_up(client: httpx.Client, operation: dict[str, Any]) -> None:
    """Free what an operation holds."""
    client.post(f"/v1/operations/{operation['coordination_id']}/abort", json={"reason": "done"}).raise_for_status()


def told(stream: httpx.Response) -> Iterator[tuple[str, dict[str, Any]]]:
    """Iterate the events of a stream."""
    name = ""
    for line in stream.iter_lines():
        kind, _, value = line.partition(": ")
        if kind == "event":
            name = value
        elif kind == "data":
            yield name, json.loads(value)


def raw(served: Served, path: str, key: str = "gateway") -> socket.socket:
    """Ask over a connection of its own and return it, without waiting for the answer."""
    host, _, port = served.settings.listen.rpartition(":")
    connection = socket.create_connection((host, int(port)))
    head = f"GET {path} HTTP/1.1\r\nHost: {served.settings.listen}\r\nAuthorization: Bearer {served.keys[key]}\r\n\r\n"
    connection.sendall(head.encode())
    return connection


def open_waits(served: Served) -> Callable[[int], None]:
    """Return what waits until so many requests are being worked on."""
    in_flight = served.app.service.in_flight
    return lambda count: wait_until(lambda: in_flight.count == count)


@pytest.mark.feature("S73")
def test_a_stream_tells_the_place_then_the_grant(gateway: httpx.Client, served: Served) -> None:
    """Third in the queue, then second when the one before leaves, then the lease as `begin` would have told it."""
    first = begins(gateway, "seo-agent-7", 1024)
    second = begins(gateway, "seo-agent-8", 1024, wait_seconds=30)
    third = begins(gateway, "seo-publisher-1", 1024, wait_seconds=30)
    other = httpx.Client(base_url=served.url, headers=gateway.headers, timeout=20)
    with gateway.stream("GET", f"/v1/waiters/{third['waiter_id']}", headers=EVENTS) as stream:
        events = told(stream)
        places = [next(events)]
        other.delete(f"/v1/waiters/{second['waiter_id']}")
        places.append(next(events))
        gives_up(other, first)
        name, granted = next(events)
        rest = list(events)
    other.close()

    assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert [(each, document["position"]) for each, document in places] == [("waiting", 2), ("waiting", 1)]
    assert (name, granted["lease"]["holder"], rest) == ("granted", "instance:seo-publisher-1", [])
    assert granted["lease_epoch"] > first["lease_epoch"]
    gives_up(gateway, granted)


@pytest.mark.feature("S71")
def test_a_stream_tells_how_a_wait_ended(gateway: httpx.Client) -> None:
    """A wait whose time is over ends the stream with the problem that a long poll would be answered with."""
    first = begins(gateway, "seo-agent-7", 1025)
    waiter = begins(gateway, "seo-agent-8", 1025, wait_seconds=1)
    path = f"/v1/waiters/{waiter['waiter_id']}"
    with gateway.stream("GET", path, headers=EVENTS) as stream:
        events = list(told(stream))
    polled = gateway.get(path)

    name, problem = events[-1]
    assert (name, problem["code"], problem["status"]) == ("ended", "coordination_timeout", 409)
    assert (polled.status_code, polled.json()["code"]) == (409, "coordination_timeout")
    gives_up(gateway, first)


@pytest.mark.feature("S73")
def test_a_client_that_hangs_up_is_waited_for_no_longer(gateway: httpx.Client, served: Served) -> None:
    """Killed at the head in the middle of a long poll, it loses its place when its waiter lease ends (F063)."""
    first = begins(gateway, "seo-agent-7", 1026)
    dead = begins(gateway, "seo-agent-8", 1026, wait_seconds=LONG, keep_alive_seconds=1)["waiter_id"]
    alive = begins(gateway, "seo-publisher-1", 1026, wait_seconds=LONG)
    waits = open_waits(served)
    connection = raw(served, f"/v1/waiters/{dead}?wait={LONG}")
    waits(1)
    connection.close()
    waits(0)
    wait_until(lambda: not served.coordinator.waiting.is_waiting(dead))
    gives_up(gateway, first)
    granted = gateway.get(f"/v1/waiters/{alive['waiter_id']}?wait=20")
    ended = gateway.get(f"/v1/waiters/{dead}")

    assert granted.status_code == 200, granted.text
    assert (ended.status_code, ended.json()["code"]) == (409, "coordination_timeout")
    gives_up(gateway, granted.json())


def test_too_many_streams_are_refused_before_they_begin(gateway: httpx.Client, served: Served) -> None:
    """The third open wait is 503 with a hint; once one is closed there is room again."""
    waits = open_waits(served)
    connections = [raw(served, f"/v1/changes?after=999999&wait={LONG}") for _ in range(2)]
    waits(2)
    refused = [
        gateway.get("/v1/changes", headers=EVENTS),
        gateway.get("/v1/changes?after=999999&wait=1"),
        gateway.get("/v1/notices?subject=instance:seo-agent-8&wait=1"),
    ]
    for each in connections:
        each.close()
    waits(0)
    again = gateway.get("/v1/notices?subject=instance:seo-agent-8&wait=1")

    assert [(each.status_code, each.json()["code"], each.headers["retry-after"]) for each in refused] == [
        (503, "overloaded", "6")
    ] * 3
    assert again.status_code == 200


def test_a_fault_inside_a_stream_ends_it_with_the_problem(
    gateway: httpx.Client, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head is sent, so that the fault is the last event; the client asks again from where it was."""
    read = served.point.ledger.read

    async def locked(after: int, limit: int) -> Sequence[Entry]:
        if after:
            raise LedgerUnavailable("the database is locked", advice="try again")
        return await read(after, limit)

    monkeypatch.setattr(served.point.ledger, "read", locked)
    monkeypatch.setattr("remit_service.http.coordination.changes.AT_ONCE", 1)
    with gateway.stream("GET", "/v1/changes", headers={**EVENTS, "Last-Event-ID": "0"}) as stream:
        (name, first), *events = list(told(stream))
    assert (name, first["revision"]) == ("change", 1)
    # A fault before the answer has begun has a status of its own.
    assert gateway.get("/v1/changes", headers={**EVENTS, "Last-Event-ID": "1"}).status_code == 503
    monkeypatch.undo()
    with gateway.stream("GET", "/v1/changes", headers={**EVENTS, "Last-Event-ID": "1"}) as stream:
        name, going_on = next(told(stream))

    assert [(name, problem["code"], problem["status"]) for name, problem in events] == [
        ("problem", "authority_stale", 503)
    ]
    assert (name, going_on["revision"]) == ("change", 2)


def test_a_server_that_stops_answers_those_who_wait(tmp_path: Path) -> None:
    """Long polls and streams of a minute end with the server, each as if nothing had happened."""
    served = serve(tmp_path, SEO, keys=("gateway",))
    client = served.client("gateway")
    begins(client, "seo-agent-7", 1024)
    waiter = begins(client, "seo-agent-8", 1024, wait_seconds=LONG)["waiter_id"]
    answers: dict[str, httpx.Response] = {}

    def ask(path: str, **headers: str) -> None:
        with httpx.Client(base_url=served.url, headers=dict(client.headers) | headers, timeout=LONG) as own:
            answers[path] = own.get(path)

    paths = [f"/v1/waiters/{waiter}?wait={LONG}", f"/v1/changes?after=999999&wait={LONG}",
             f"/v1/notices?subject=instance:seo-agent-8&wait={LONG}"]  # fmt: skip
    threads = [threading.Thread(target=ask, args=(each,)) for each in paths]
    threads.append(threading.Thread(target=ask, args=(f"/v1/waiters/{waiter}",), kwargs=EVENTS))
    for each in threads:
        each.start()
    open_waits(served)(len(threads))
    served.stop()
    for each in threads:
        each.join(timeout=LONG)

    assert [answers[each].status_code for each in paths] == [202, 200, 200]
    assert answers[f"/v1/waiters/{waiter}"].text.splitlines()[2] == "event: waiting"
