"""Upload in OPA's shape: `POST <url>` with a gzip-compressed JSON array of events; 2xx means accepted.

Each event holds its place in the chain as a further member, so the receiver can verify the stream and drop what it got
twice: a batch whose answer was lost is sent again as it was. A stream is begun anew by each process.
"""

from __future__ import annotations

import gzip
import secrets
from typing import TYPE_CHECKING, Final

import httpx

from remit_service.evidence.decision_log.chain import GENESIS, Link
from remit_service.evidence.decision_log.errors import SinkUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMEOUT_SECONDS: Final = 10.0
_FASTEST: Final = 1


class UploadSink:
    """Sends one stream to a log service."""

    def __init__(
        self, url: str, name: str, *, token: str | None = None, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        """Send to `url`, with `token` if it demands one; `transport` replaces the network in tests."""
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._url = url
        self._stream = f"{name}-{secrets.token_hex(4)}"
        self._client = httpx.AsyncClient(headers=headers, timeout=TIMEOUT_SECONDS, transport=transport, trust_env=False)

    async def open(self) -> tuple[Link, int]:
        """Begin a stream; the service is first asked when there is something to store."""
        return Link(self._stream, 0, GENESIS), 0

    async def write(self, lines: Sequence[bytes], *, durably: bool) -> None:
        """Send `lines`; whether they survive is the service's promise, whatever `durably` says."""
        _ = durably
        body = gzip.compress(b"[" + b",".join(line.rstrip(b"\n") for line in lines) + b"]", compresslevel=_FASTEST)
        try:
            reply = await self._client.post(self._url, content=body)
        except (httpx.HTTPError, httpx.InvalidURL, RuntimeError) as error:
            # httpx raises RuntimeError for a client that has been closed.
            raise SinkUnavailable(f"`{self._url}` cannot be reached: {str(error) or type(error).__name__}") from error
        if not reply.is_success:
            raise SinkUnavailable(f"`{self._url}` answers {reply.status_code}")

    async def find(self, needle: bytes) -> bytes | None:
        """Nothing: records are kept by the service, which has searches of its own."""
        _ = needle
        return None

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()
