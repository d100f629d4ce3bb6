"""A TCP proxy before Neo4j that cuts the connection when a COMMIT passes, before or after the server carried it out.

A statement that is a transaction by itself has no COMMIT; `at_once` cuts at whatever is sent next.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

COMMIT: Final = bytes.fromhex("0002b0120000")
"""Bolt's COMMIT as a message of its own: a chunk of two bytes, a structure without fields, the end of the message."""


class Proxy:
    """Passes everything on; `cut` says what happens to the next COMMIT.

    Attributes:
        cut: `before` lets the server never see it, `after` keeps its answer from the client, `at_once` waits for no
            COMMIT and lets the server never see what comes; empty passes everything on.
        cuts: How often it was done.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self.cut = ""
        self.cuts = 0
        self.port = 0
        self._carrying: set[asyncio.Task[None]] = set()

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection, in a task that `aclose` waits for."""
        carrying = asyncio.create_task(self._serve(reader, writer))
        self._carrying.add(carrying)
        carrying.add_done_callback(self._carrying.discard)

    async def aclose(self) -> None:
        """End every connection."""
        for each in self._carrying:
            each.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, server = await asyncio.open_connection("127.0.0.1", self._target)
        answers = asyncio.create_task(self._carry(upstream, writer))
        try:
            while data := await reader.read(65_536):
                if self.cut == "at_once" or (self.cut and data.endswith(COMMIT)):
                    await self._cut(data, answers, upstream, server)
                    return
                server.write(data)
                await server.drain()
        except ConnectionError:
            pass
        finally:
            # Closed before anything is awaited, which may be cancelled.
            for each in (server, writer):
                each.close()
            answers.cancel()
            await asyncio.gather(answers, return_exceptions=True)
            await asyncio.gather(server.wait_closed(), writer.wait_closed(), return_exceptions=True)

    async def _cut(
        self,
        data: bytes,
        answers: asyncio.Task[None],
        upstream: asyncio.StreamReader,
        server: asyncio.StreamWriter,
    ) -> None:
        how, self.cut = self.cut, ""
        self.cuts += 1
        if how == "after":
            answers.cancel()
            await asyncio.gather(answers, return_exceptions=True)
            server.write(data)
            await server.drain()
            await upstream.read(65_536)

    @staticmethod
    async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[Proxy]:
    """Run a proxy to a port of this host."""
    proxy = Proxy(port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    async with server:
        yield proxy
        await proxy.aclose()
