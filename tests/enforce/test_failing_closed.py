"""No answer, a late one and one that cannot be read: each is a deny with a reason, and never a permit."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from remit_enforce import AsyncClient, Denied, NotRecorded, Permit, Refusal, Settings, Turn, write
from tests.chaos.coordination_points import DecisionPoint
from tests.support.listening import listening

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.http.serving import Served
    from tests.support.guarded_page import Page

QUESTION: dict[str, Any] = {"subject": "instance:seo-agent-7", "action": "UPDATE_CANONICAL", "resource": "wp:post:1024"}
PERMIT = b'{"decision": true, "outcome": "execute", "coordination_id": "c", "lease_epoch": 9}'


def http(status: int, body: bytes, *headers: str) -> bytes:
    """Return an answer as it goes over the wire."""
    lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


ANSWERS = {
    "no JSON": http(200, b"<html>welcome to nginx</html>"),
    "nothing": http(200, b""),
    "no object": http(200, b"[true]"),
    "a bare true": http(200, b"true"),
    "a text for a truth": http(200, b'{"decision": "true"}'),
    "a number for a truth": http(200, b'{"decision": 1}'),
    "duties that are none": http(200, b'{"decision": true, "context": {"obligations": "none"}}'),
    "a context that is none": http(200, b'{"decision": true, "context": [1]}'),
    "half of it": http(201, b'{"decision": true, "coordina'),
    "less than announced": http(201, PERMIT).replace(b"Length: ", b"Length: 9"),
    "no tokens": http(201, b'{"decision": true, "coordination_id": "c", "lease_epoch": 1, "lease": {"lease_id": "l"}}'),
    "no permit": http(201, PERMIT.replace(b"true", b"false")),
    "compressed nonsense": http(201, b"xxxx", "Content-Encoding: gzip"),
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "a redirect": http(307, PERMIT, "Location: http://127.0.0.1:1/"),
    "a fault with a permit in it": http(500, PERMIT),
    "a refusal with a permit in it": http(403, PERMIT),
    "a fault": http(502, b"Bad Gateway"),
    "a status of no kind": http(299, b"{}"),
    "nothing at all": b"",
}


def saying(answer: bytes) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]:
    """Return a server that answers every call alike, whatever is asked."""

    async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()

    return answering


@pytest.mark.feature("S82", "S86")
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
async def test_what_cannot_be_read_is_a_deny(page: Page, answer: bytes) -> None:
    """Neither a question nor a write takes it for a permit; nothing of the resource is touched."""
    async with listening(saying(answer)) as url, AsyncClient(Settings(url=url, pause_seconds=0.01)) as client:
        asked = await client.evaluate(**QUESTION)
        with pytest.raises(Denied) as raised:
            await write(client, page.plan())

    assert isinstance(asked, Refusal)
    assert {asked.code, raised.value.refusal.code} <= {"unreadable_answer", "no_answer"}
    assert raised.value.receipt is not None
    assert (raised.value.receipt.status, page.calls) == ("DENIED", [])


@pytest.mark.feature("S86")
@pytest.mark.parametrize("body", [b"{}", b'{"state": "EXECUTED", "receipt": {}}'])
async def test_a_step_that_is_answered_with_another_is_not_taken(page: Page, body: bytes) -> None:
    """A server that says yes to everything is no decision point: nothing is executed on its word."""
    begun = (
        b'{"decision": true, "coordination_id": "c", "lease_epoch": 9, "lease": {"lease_id": "l", "lease_epoch": 9, '
        b'"fencing_tokens": {"x#*": 9}, "renewed_at": "2026-01-01T00:00:00Z", "renew_before": "2026-01-01T00:00:20Z", '
        b'"expires_at": "2026-01-01T00:00:30Z"}}'
    )

    async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length or 0))
            writer.write(http(201, begun) if head.startswith(b"POST /v1/operations ") else http(200, body))

    async with listening(answering) as url, AsyncClient(Settings(url=url)) as client:
        with pytest.raises(Denied) as raised:
            await write(client, page.plan())

    assert raised.value.refusal.code == "unreadable_answer"
    assert page.calls == ["read"]


@pytest.mark.feature("S86")
async def test_a_late_answer_is_a_deny() -> None:
    """One that never comes, and one that dribbles without end, are given up at the bound."""

    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async def dribbling(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n")
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.01)

    for peer in (silent, dribbling):
        async with listening(peer) as url, AsyncClient(Settings(url=url, timeout_seconds=0.3)) as client:
            asked = await client.evaluate(**QUESTION)

        assert isinstance(asked, Refusal)
        assert (asked.code, asked.is_fault) == ("late_answer", True)


@pytest.mark.feature("S86")
async def test_an_answer_without_end_is_a_deny() -> None:
    """What is longer than the bound is not read on."""
    endless = http(200, b'{"decision": true, "context": {"filler": "' + b"x" * 5_000 + b'"}}')
    async with listening(saying(endless)) as url, AsyncClient(Settings(url=url, max_answer_bytes=4_000)) as client:
        asked = await client.evaluate(**QUESTION)

    assert isinstance(asked, Refusal)
    assert asked.code == "unreadable_answer"


@pytest.mark.feature("S86")
async def test_nobody_there_is_a_deny() -> None:
    """A port that nothing listens on, and a key that cannot be had."""

    def lost() -> str:
        raise FileNotFoundError("gateway.key")

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    for settings in (Settings(url=url, pause_seconds=0.01), Settings(url=url, key=lost)):
        async with AsyncClient(settings) as client:
            asked = await client.evaluate(**QUESTION)

        assert isinstance(asked, Refusal)
        assert asked.code == "no_answer"


@pytest.mark.chaos
@pytest.mark.feature("S82", "S86")
async def test_a_decision_point_that_is_killed_denies(tmp_path: Path, page: Page) -> None:
    """Killed in the middle of a write, that is said to be written and not recorded; every later one is denied."""
    point = DecisionPoint(tmp_path / "point")
    (tmp_path / "point").mkdir()
    await asyncio.to_thread(point.start)
    page.key = "wp:post:1024"

    async def execute(turn: Turn) -> dict[str, Any]:
        evidence = await page.execute(turn)
        point.process.kill()
        return evidence

    try:
        async with AsyncClient(Settings(url=point.url, pause_seconds=0.01)) as client:
            with pytest.raises(NotRecorded) as written:
                await write(client, page.plan(execute=execute))
            with pytest.raises(Denied) as denied:
                await write(client, page.plan(expected_version="rev_2"))
    finally:
        point.process.kill()

    assert written.value.receipt is not None
    assert (written.value.receipt.status, written.value.receipt.execution) == ("ABANDONED", "applied")
    assert denied.value.refusal.code == "no_answer"
    assert page.calls == ["read", "execute"]


async def test_a_question_is_answered_with_a_permit_or_a_refusal(served: Served, point: AsyncClient) -> None:
    """The same client, a decision point that answers: its duties come with the permit, its reasons with the refusal."""
    permitted = await point.evaluate(**QUESTION, context={"risk": "LOW", "expected_version": "rev_1"})
    refused = await point.evaluate(**{**QUESTION, "action": "DELETE_POST"})

    assert isinstance(permitted, Permit)
    assert {each["type"] for each in permitted.obligations} == {"restrict_fields", "precondition"}
    assert isinstance(refused, Refusal)
    assert (refused.outcome, refused.code) == ("deny", "scope_not_covered")
    for each in (permitted, refused):
        with pytest.raises(TypeError):
            bool(each)
    stranger = AsyncClient(replace(point.settings, key="rmk_of_nobody"))
    unknown = await stranger.evaluate(**QUESTION)
    await stranger.aclose()
    assert isinstance(unknown, Refusal)
    assert (unknown.status, unknown.code) == (401, "unauthenticated")
    assert served.keys["gateway"] not in repr(point.settings)


@pytest.mark.parametrize(
    "wrong", [{"url": "remit.example.com"}, {"url": "ftp://x"}, {"attempts": 0}, {"timeout_seconds": -1}]
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, Any]) -> None:
    """An address that is none, and bounds that are none."""
    with pytest.raises(ValueError, match=r"is no http|is more than 0"):
        Settings(**{"url": "http://127.0.0.1", **wrong})
