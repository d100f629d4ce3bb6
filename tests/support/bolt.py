"""A tiny server that speaks as much Bolt as one query needs, for servers that a test cannot have: old ones, others.

Reference: Bolt protocol, "Message exchange" and "PackStream"; only short strings, lists, maps and structures.
"""

from __future__ import annotations

import asyncio
import struct
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    Value = str | Sequence["Value"] | Mapping[str, "Value"]

MAGIC: Final = bytes.fromhex("6060b017")
NO_VERSION: Final = bytes(4)
BOLT_4_4: Final = bytes.fromhex("00000404")
BOLT_5_4: Final = bytes.fromhex("00000405")
_PULL: Final = 0x3F
_HELLO: Final = 0x01
_SUCCESS, _RECORD, _FAILURE = 0x70, 0x71, 0x7F


def _packed(value: Value) -> bytes:
    if isinstance(value, str):
        data = value.encode()
        return (bytes([0x80 + len(data)]) if len(data) < 16 else bytes([0xD0, len(data)])) + data
    if isinstance(value, dict):
        return bytes([0xA0 + len(value)]) + b"".join(_packed(key) + _packed(each) for key, each in value.items())
    return bytes([0x90 + len(value)]) + b"".join(_packed(each) for each in value)


def _message(tag: int, value: Value) -> bytes:
    body = bytes([0xB1, tag]) + _packed(value)
    return struct.pack(">H", len(body)) + body + bytes(2)


async def _read(reader: asyncio.StreamReader) -> int:
    """Return the tag of the next message."""
    body = b""
    while True:
        (size,) = struct.unpack(">H", await reader.readexactly(2))
        if size == 0 and body:
            return body[1]
        body += await reader.readexactly(size)


@asynccontextmanager
async def speaks_bolt(
    row: Mapping[str, str] | None = None, *, version: bytes = BOLT_5_4, failure: Mapping[str, str] | None = None
) -> AsyncIterator[int]:
    """Serve on a free port, which is yielded: every query is answered with `row`, or fails with `failure`.

    With `version` NO_VERSION the server knows no version of the protocol that the client offers.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            assert (await reader.readexactly(20))[:4] == MAGIC
            writer.write(version)
            while version != NO_VERSION:
                for answer in _answers(await _read(reader)):
                    writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answers(tag: int) -> list[bytes]:
        if tag == _HELLO:
            return [_message(_SUCCESS, {"server": "Neo4j/5.0.0", "connection_id": "bolt-1"})]
        if failure is not None:
            return [_message(_FAILURE, failure)]
        if tag == _PULL:
            return [_message(_RECORD, list((row or {}).values())), _message(_SUCCESS, {"type": "r"})]
        return [_message(_SUCCESS, {"fields": list(row or {})})]

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
