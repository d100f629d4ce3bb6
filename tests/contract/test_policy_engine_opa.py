"""What the OPA adapter makes of a server that is down, slow, broken, restarted or behind."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import httpx
import pytest

from remit_service.bundle.serve import LONG_POLL_MEDIA_TYPE, opa_configuration, published
from remit_service.engines.embedded import EmbeddedEngine
from remit_service.engines.errors import (
    EngineError,
    EngineTimeout,
    EngineUnavailable,
    PolicyError,
    PolicyMismatch,
    ResultMalformed,
    ResultUndefined,
)
from remit_service.engines.opa import OpaEngine
from remit_service.engines.opa_admin import OpaAdmin, OpaReport
from remit_service.engines.ports import DECISION
from remit_service.engines.standby import StandbyEngine
from tests.support.engines import a_bundle, write_bundle
from tests.support.listening import listening
from tests.support.process import free_port, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.opa_server import OpaServer
    from tests.support.services import StartOpa

BUNDLE = a_bundle()
NEXT = a_bundle(remit_other="package remit.other\n\nx := 1\n")
PROVENANCE = {"provenance": {"bundles": {"remit": {"revision": BUNDLE.revision}}}}


def answering(reply: Callable[[httpx.Request], httpx.Response]) -> OpaEngine:
    """Return an engine whose server is `reply`."""
    return OpaEngine("http://opa.test", policy_revision=BUNDLE.revision, transport=httpx.MockTransport(reply))


async def refusal(status: int, body: object) -> EngineError:
    """Return the error for a server that always answers `body` with `status`."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    engine = answering(lambda _: httpx.Response(status, content=content))
    with pytest.raises(EngineError) as caught:
        await engine.evaluate(DECISION, {})
    await engine.aclose()
    return caught.value


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"", ResultMalformed),
        (200, b"<html>", ResultMalformed),
        (200, b"[]", ResultMalformed),
        (200, {"result": {}, "provenance": []}, ResultMalformed),
        (200, {}, ResultUndefined),
        (200, {"warning": {"code": "api_usage_warning"}}, ResultUndefined),
        (200, PROVENANCE, ResultUndefined),
        (200, {"provenance": {"version": "1.22.3"}}, PolicyMismatch),
        (200, {"provenance": {"bundles": {"remit": {"revision": "sha256:other"}}}}, PolicyMismatch),
        (200, {"result": True}, PolicyMismatch),
        (200, {"result": {"policy_revision": "sha256:other"}, **PROVENANCE}, PolicyMismatch),
        (
            200,
            {"result": True, "provenance": {"bundles": {"a": {"revision": BUNDLE.revision}, "b": {}}}},
            PolicyMismatch,
        ),
        (400, {"code": "invalid_parameter", "message": "malformed input"}, PolicyError),
        (401, {"code": "unauthorized"}, EngineUnavailable),
        (404, b"404 page not found", EngineUnavailable),
        (302, b"", EngineUnavailable),
        (500, {"code": "internal_error", "errors": [{"code": "eval_conflict_error", "message": "two"}]}, PolicyError),
        (500, {"code": "internal_error", "message": "storage"}, EngineUnavailable),
        (500, b"\x00", EngineUnavailable),
        (502, b"<html>bad gateway</html>", EngineUnavailable),
        (503, b"", EngineUnavailable),
    ],
)
async def test_every_reply_has_one_meaning(status: int, body: object, kind: type[EngineError]) -> None:
    """F050, F056: no reply but a 200 with a document of the right bundle is an answer."""
    assert type(await refusal(status, body)) is kind


async def test_what_is_asked() -> None:
    """The question goes to the entry point, strictly, with provenance, and with the input's bytes as they are."""
    seen: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"result": 1, **PROVENANCE})

    engine = answering(reply)
    answer = await engine.evaluate("remit/case/yes", b'{"b":1, "a":2}')
    await engine.aclose()

    assert answer == 1
    assert seen[0].method == "POST"
    assert str(seen[0].url) == "http://opa.test/v1/data/remit/case/yes?strict-builtin-errors=true&provenance=true"
    assert seen[0].content == b'{"input":{"b":1, "a":2}}'


async def test_a_token_is_sent_with_every_question() -> None:
    """OPA under `--authentication=token` gets its bearer token."""
    seen: list[str] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Authorization"])
        return httpx.Response(200, json={"result": 1, **PROVENANCE})

    engine = OpaEngine(
        "http://opa.test", policy_revision=BUNDLE.revision, token="t-1", transport=httpx.MockTransport(reply)
    )
    await engine.evaluate("remit/case/yes", b"{}")
    await engine.aclose()

    assert seen == ["Bearer t-1"]


async def test_a_refused_connection_is_engine_unavailable() -> None:
    """F056: with no server there, the engine says so and nothing else."""
    engine = OpaEngine(f"http://127.0.0.1:{free_port()}", policy_revision=BUNDLE.revision)
    with pytest.raises(EngineUnavailable):
        await engine.evaluate(DECISION, {})
    await engine.aclose()


@pytest.mark.parametrize("url", ["nowhere", "ftp://127.0.0.1", "http://"])
async def test_an_impossible_address_is_engine_unavailable(url: str) -> None:
    """A wrong setting is a fault like another, and no exception of the HTTP library."""
    engine = OpaEngine(url, policy_revision=BUNDLE.revision)
    with pytest.raises(EngineUnavailable):
        await engine.evaluate(DECISION, {})
    await engine.aclose()


async def test_a_server_that_stalls_is_engine_timeout() -> None:
    """A server that takes the question and never answers costs the deadline, not more."""

    async def stall(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with listening(stall) as url:
        engine = OpaEngine(url, policy_revision=BUNDLE.revision, timeout_seconds=0.1)
        with pytest.raises(EngineTimeout) as caught:
            await engine.evaluate(DECISION, {})
        await engine.aclose()

    assert caught.value.message == f"no answer from `{url}` within 0.1 s"


async def test_a_connection_closed_in_the_pool_is_opened_again() -> None:
    """A restart of the server between two questions is not seen by the second."""
    calls = 0

    def reply(_: httpx.Request) -> httpx.Response:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise httpx.RemoteProtocolError("server disconnected without sending a response")
        return httpx.Response(200, json={"result": 1, **PROVENANCE})

    engine = answering(reply)
    answer = await engine.evaluate("remit/case/yes", b"{}")
    await engine.aclose()

    assert (answer, calls) == (1, 2)


async def test_a_server_that_always_disconnects_is_asked_twice() -> None:
    """One repetition, then the fault is told."""
    calls = 0

    def reply(_: httpx.Request) -> httpx.Response:
        nonlocal calls
        calls += 1
        raise httpx.ReadError("reset by peer")

    engine = answering(reply)
    with pytest.raises(EngineUnavailable):
        await engine.evaluate("remit/case/yes", b"{}")
    await engine.aclose()

    assert calls == 2


async def test_a_cancelled_question_is_cancelled_not_timed_out() -> None:
    """A caller that hangs up gets no verdict of the engine."""

    async def never(_: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    engine = OpaEngine("http://opa.test", policy_revision=BUNDLE.revision, transport=httpx.MockTransport(never))
    asked = asyncio.create_task(engine.evaluate(DECISION, {}))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await engine.aclose()


async def test_an_engine_for_the_next_bundle_shares_the_connections() -> None:
    """Activating a bundle costs no new connections, and each engine believes its own bundle only."""
    engine = answering(lambda _: httpx.Response(200, json={"result": 1, **PROVENANCE}))
    later = engine.expecting(NEXT.revision)
    with pytest.raises(PolicyMismatch):
        await later.evaluate("remit/case/yes", b"{}")

    assert await engine.evaluate("remit/case/yes", b"{}") == 1
    assert (engine.policy_revision, later.policy_revision) == (BUNDLE.revision, NEXT.revision)
    await later.aclose()


async def test_a_lagging_server_is_stood_in_for() -> None:
    """rules.md 12: while OPA still holds the bundle before, the decision is made here, with the bundle in force."""
    lagging = answering(lambda _: httpx.Response(200, json={"result": 1, **PROVENANCE})).expecting(NEXT.revision)
    engine = StandbyEngine(lagging, EmbeddedEngine(NEXT))
    await engine.check()
    document = await engine.evaluate(DECISION, {})
    await engine.aclose()

    assert isinstance(document, dict)
    assert document["policy_revision"] == NEXT.revision == engine.policy_revision
    assert engine.answered_by_standby == 1


@pytest.mark.parametrize("status", [500, 503])
async def test_a_failing_server_is_not_stood_in_for(status: int) -> None:
    """F056: a fault of OPA stays a deny, also where a bundle is at hand here."""
    engine = StandbyEngine(answering(lambda _: httpx.Response(status)), EmbeddedEngine(BUNDLE))
    with pytest.raises(EngineUnavailable):
        await engine.evaluate(DECISION, {})
    with pytest.raises(EngineUnavailable):
        await engine.check()
    await engine.aclose()


def test_a_standby_has_the_same_bundle() -> None:
    """Two engines of different bundles are refused as a pair."""
    with pytest.raises(ValueError, match="the engines expect"):
        StandbyEngine(OpaEngine("http://opa.test", policy_revision=NEXT.revision), EmbeddedEngine(BUNDLE))


async def test_a_restarted_opa_answers_at_once(start_opa: StartOpa, tmp_path: Path) -> None:
    """Stopped, the server is unavailable; started again, the same engine goes on."""
    server = start_opa(write_bundle(BUNDLE, tmp_path / "bundle"))
    engine = OpaEngine(server.url, policy_revision=BUNDLE.revision, timeout_seconds=5)
    await engine.check()
    server.kill()
    with pytest.raises(EngineUnavailable):
        await engine.evaluate(DECISION, {})
    server.restart()

    await engine.check()
    await engine.aclose()


async def test_opa_activates_what_the_decision_point_publishes(start_opa: StartOpa) -> None:
    """A real OPA with our configuration fetches our archive, answers from it, and waits for the next one."""
    bundle = published(BUNDLE)
    asked: list[tuple[str, str | None, str | None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        asked.append((head.split(" ")[1], fields.get("If-None-Match"), fields.get("Prefer")))
        if fields.get("If-None-Match") == bundle.etag:
            await asyncio.Event().wait()
        writer.write(
            f"HTTP/1.1 200 OK\r\nETag: {bundle.etag}\r\nContent-Type: {LONG_POLL_MEDIA_TYPE}\r\n"
            f"Content-Length: {len(bundle.body)}\r\nConnection: close\r\n\r\n".encode()
            + bundle.body
        )
        await writer.drain()

    async with listening(serve) as origin:
        server = await asyncio.to_thread(start_opa, configuration=opa_configuration(origin))
        engine = OpaEngine(server.url, policy_revision=BUNDLE.revision, timeout_seconds=5)
        await engine.check()
        await engine.aclose()
        async with OpaAdmin(server.url) as admin:
            report = await admin.report()
        await asyncio.to_thread(wait_until, lambda: len(asked) > 1)
        await asyncio.to_thread(server.stop)

    prefer = "modes=snapshot,delta;wait=30"
    assert asked == [("/bundles/remit.tar.gz", None, prefer), ("/bundles/remit.tar.gz", bundle.etag, prefer)]
    expected = OpaReport(
        version=report.version,
        is_ready=True,
        bundles={"remit": BUNDLE.revision},
        policy_revision=BUNDLE.revision,
        policies=1,
    )
    assert report == expected


async def test_an_empty_opa_is_reported_without_bundle(opa_server: OpaServer) -> None:
    """A server that nobody configured is told apart from one that is away."""
    async with OpaAdmin(opa_server.url) as admin:
        report = await admin.report()

    assert (report.bundles, report.policy_revision, report.policies) == ({}, None, 0)


async def test_an_opa_that_is_away_is_reported_so() -> None:
    """The administrative client's errors stay inside it."""
    async with OpaAdmin(f"http://127.0.0.1:{free_port()}") as admin:
        with pytest.raises(EngineUnavailable):
            await admin.report()


@pytest.mark.parametrize("url", ["127.0.0.1:8181", "ftp://opa", "http://"])
def test_an_administrative_address_is_checked(url: str) -> None:
    """A setting that names no server is refused before anything is asked."""
    with pytest.raises(ValueError, match="is no address of an OPA server"):
        OpaAdmin(url)
