"""Load over loopback: closed loop for throughput, open loop for latency, with as little client as can be."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Request:
    """One HTTP request, ready to be written, and what its answer must hold."""

    raw: bytes
    must_hold: bytes


def post(path: str, body: bytes, must_hold: bytes) -> Request:
    """Return a POST of JSON."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return Request(head.encode() + body, must_hold)


class Connection:
    """A kept-alive connection that sends one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, request: Request) -> None:
        """Send and read the whole answer.

        Raises:
            AssertionError: the answer is not the expected one.
        """
        self._writer.write(request.raw)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        body = await self._reader.readexactly(length)
        if request.must_hold not in body:
            raise AssertionError(f"unexpected answer: {head[:80]!r} {body[:300]!r}")

    def close(self) -> None:
        """Close it."""
        self._writer.close()


async def connect(port: int, count: int) -> list[Connection]:
    """Open connections."""
    return [Connection(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(count)]


async def throughput(port: int, requests: Sequence[Request], *, connections: int, seconds: float) -> float:
    """Return requests a second with every connection always asking."""
    open_ = await connect(port, connections)
    until = perf_counter() + seconds
    done = 0

    async def ask_on(connection: Connection, offset: int) -> None:
        nonlocal done
        index = offset
        while perf_counter() < until:
            await connection.ask(requests[index % len(requests)])
            index += 1
            done += 1

    started = perf_counter()
    await asyncio.gather(*(ask_on(each, index) for index, each in enumerate(open_)))
    for each in open_:
        each.close()
    return done / (perf_counter() - started)


async def latencies(
    port: int, requests: Sequence[Request], *, connections: int, seconds: float, per_second: float
) -> list[float]:
    """Return microseconds from the instant each request was due, at a fixed rate."""
    open_ = await connect(port, connections)
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for each in open_:
        free.put_nowait(each)
    samples: list[float] = []
    tasks: list[asyncio.Task[None]] = []

    async def ask_at(due: float, index: int) -> None:
        connection = await free.get()
        await connection.ask(requests[index % len(requests)])
        samples.append((perf_counter() - due) * 1e6)
        free.put_nowait(connection)

    started = perf_counter()
    for index in range(int(per_second * seconds)):
        due = started + index / per_second
        delay = due - perf_counter()
        if delay > 0:
            await asyncio.sleep(delay)
        tasks.append(asyncio.ensure_future(ask_at(due, index)))
    await asyncio.gather(*tasks)
    for each in open_:
        each.close()
    return samples
