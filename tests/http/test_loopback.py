"""Callers of this machine without credentials: only in the demo, only from here, and never through a browser's back."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.http.questions import DENIED, EVALUATION, PERMITTED
from tests.http.serving import serve, stopped_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.http.serving import Served


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service of a world that is no demo, for one who tries it out: `--anonymous-loopback`."""
    folder = tmp_path_factory.mktemp("trial")
    yield from stopped_later(serve(folder, Path("fixtures/worlds/seo.yaml"), anonymous_loopback=True))


def test_the_demo_answers_who_is_here(demo: Served) -> None:
    """A local caller counts as the enforcement point that the demo world names for it."""
    reply = demo.client().post(EVALUATION, json=PERMITTED)

    assert reply.json()["decision"] is True
    assert demo.client().get("/v1/decisions?limit=1").json()["decisions"][0]["caller"]["point"] == "service:loopback"


def test_localhost_is_here(demo: Served) -> None:
    """The name of this machine is as good as its address."""
    port = demo.settings.address[1]
    headers = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}

    assert demo.client().post(EVALUATION, json=PERMITTED, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "203.0.113.9"},
        {"Forwarded": "for=203.0.113.9"},
        {"Via": "1.1 proxy"},
        {"X-Real-IP": "203.0.113.9"},
        {"Host": "evil.example"},
        {"Host": "localhost.evil.example:8180"},
        {"Host": "[::1"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Authorization": "Bearer wrong"},
    ],
    ids=lambda headers: "=".join(next(iter(headers.items()))),
)
def test_what_does_not_come_from_here_has_to_authenticate(demo: Served, trial: Served, headers: dict[str, str]) -> None:
    """Forwarded calls, names that point here, pages of other origins, and wrong keys are not let in as local."""
    for served in (demo, trial):
        assert served.client().post(EVALUATION, json=PERMITTED, headers=headers).status_code == 401


def test_no_host_is_not_here(demo: Served) -> None:
    """An HTTP/1.0 call that names no host proves nothing about where it comes from."""
    body = b'{"a":1}'
    head = b"POST %s HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    with socket.create_connection(demo.settings.address) as connection:
        connection.sendall(head % (EVALUATION.encode(), len(body)) + body)
        reply = connection.recv(64)

    assert reply.startswith(b"HTTP/1.1 401")


def test_a_trial_speaks_for_anyone_and_is_trusted(trial: Served) -> None:
    """With `--anonymous-loopback` a local caller is believed about everything, and sees the graph."""
    permitted = trial.client().post(EVALUATION, json=PERMITTED).json()
    denied = trial.client().post(EVALUATION, json=DENIED).json()

    assert permitted["decision"] is True
    assert denied["context"]["reasons"][0]["edge"] == "del_882@1"


def test_the_page_says_loudly_that_nobody_is_asked(demo: Served, seo: Served) -> None:
    """The warning stands on the page as it is served; without the demo it is hidden."""
    assert demo.client().get("/v1/graph/summary").json()["unauthenticated_loopback"] is True
    assert seo.client("gateway").get("/v1/graph/summary").json()["unauthenticated_loopback"] is False
    assert '<p id="warning" role="alert">' in demo.client().get("/").text
    assert '<p id="warning" role="alert" hidden>' in seo.client().get("/").text
