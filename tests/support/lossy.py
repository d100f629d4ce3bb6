"""A way to a decision point on which answers get lost: the call arrives and is carried out, and nobody hears of it."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx

from tests.support.listening import listening

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_OWN = frozenset({"host", "content-length", "connection"})


class Lossy:
    """What is lost, and what has arrived.

    Attributes:
        losing: For the end of a path, how many answers to it are still lost.
        holding: For the end of a path, how many answers to it still never come, with the connection open.
        arrived: The paths of all calls, in their order.
        url: Where clients connect.
    """

    def __init__(self, target: str) -> None:
        """Lose nothing at first."""
        self.losing: dict[str, int] = {}
        self.holding: dict[str, int] = {}
        self.arrived: list[str] = []
        self.url = ""
        self._target = target

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry calls of one connection, until an answer is lost with it."""
        async with httpx.AsyncClient(base_url=self._target, timeout=60) as server:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                body = await reader.readexactly(int(length[1])) if length is not None else b""
                method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
                lines = [line.split(": ", 1) for line in head.decode().split("\r\n")[1:] if line]
                headers = [(name, value) for name, value in lines if name.lower() not in _OWN]
                answer = await server.request(method, path, content=body, headers=headers)
                self.arrived.append(path)
                if _takes(self.losing, path):
                    return
                if _takes(self.holding, path):
                    await reader.read()
                    return
                writer.write(_written(answer))


def _takes(left: dict[str, int], path: str) -> bool:
    end = next((each for each in left if path.endswith(each) and left[each] > 0), None)
    if end is not None:
        left[end] -= 1
    return end is not None


def _written(answer: httpx.Response) -> bytes:
    kept = ("content-type", "idempotent-replayed", "retry-after")
    lines = [f"{name}: {answer.headers[name]}" for name in kept if name in answer.headers]
    head = "\r\n".join([f"HTTP/1.1 {answer.status_code} x", f"content-length: {len(answer.content)}", *lines])
    return head.encode() + b"\r\n\r\n" + answer.content


@asynccontextmanager
async def lossy_way_to(url: str) -> AsyncIterator[Lossy]:
    """Run one for as long as the block runs."""
    way = Lossy(url)
    async with listening(way.carry) as way.url:
        yield way
