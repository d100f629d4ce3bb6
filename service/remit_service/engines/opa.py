"""The engine in an OPA server: one POST a question, over a pooled connection, within one deadline.

- Built-in errors are strict, and the revision of the bundle is checked in every answer (`opa_reply`).
- A connection that the server closed while it lay in the pool is opened again, once: evaluating is pure, so asking
  twice is safe. Nothing else is repeated, since the caller's deadline is short and its deny is safe.
- Redirects are not followed and proxies of the environment not used: a decision comes from the configured server.
- Which bundle the server holds is not decided here: it fetches it from the decision point (`bundle.serve`).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Self

import httpx

from remit_service.engines.encoding import encoded, text_of
from remit_service.engines.errors import EngineTimeout, EngineUnavailable
from remit_service.engines.opa_reply import document_in
from remit_service.engines.ports import DECISION
from remit_service.engines.result import revision_of

if TYPE_CHECKING:
    from remit_service.engines.ports import Document, Input

DEFAULT_TIMEOUT_SECONDS: Final = 1.0
"""OPA answers the shipped bundle in about a millisecond; a thousand times that is a fault, not patience."""

MAX_CONNECTIONS: Final = 64
_PARAMETERS: Final = {"strict-builtin-errors": "true", "provenance": "true"}
_HEADERS: Final = {"Content-Type": "application/json", "Accept-Encoding": "identity"}


class OpaEngine:
    """Asks one OPA server, and accepts answers that rest on one bundle only."""

    def __init__(
        self,
        url: str,
        *,
        policy_revision: str,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        token: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Ask the server at `url`, an address such as `http://127.0.0.1:8181`, with `token` if it demands one.

        `transport` replaces the network, for a Unix socket or a test.
        """
        headers = _HEADERS | ({"Authorization": f"Bearer {token}"} if token else {})
        self._client = httpx.AsyncClient(
            base_url=url,
            headers=headers,
            params=_PARAMETERS,
            timeout=httpx.Timeout(timeout_seconds),
            limits=httpx.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS),
            transport=transport,
            trust_env=False,
        )
        self._url = url
        self._revision = policy_revision
        self._timeout_seconds = timeout_seconds

    @property
    def policy_revision(self) -> str:
        """The bundle that answers must rest on."""
        return self._revision

    def expecting(self, policy_revision: str) -> Self:
        """Return this engine for another bundle; both share the connections, and closing one closes both."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _revision=policy_revision)
        return other

    async def evaluate(self, entrypoint: str, document: Input) -> Document:
        """Ask the server for `entrypoint`.

        Raises:
            EngineError: there is no answer that may be used.
        """
        input_json = encoded(document)
        text_of(input_json)
        reply = await self._post(f"/v1/data/{entrypoint}", b'{"input":' + input_json + b"}")
        return document_in(
            reply.status_code, reply.content, entrypoint=entrypoint, revision=self._revision, server=f"`{self._url}`"
        )

    async def check(self) -> None:
        """Ask for a decision on an empty input, and compare the revision it names."""
        revision_of(await self.evaluate(DECISION, b"{}"), expected=self._revision)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _post(self, path: str, body: bytes) -> httpx.Response:
        """Send `body`, with all waiting and repeating inside one deadline."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                try:
                    return await self._client.post(path, content=body)
                except (httpx.RemoteProtocolError, httpx.ReadError):
                    # The server closed the connection before a reply, as it does when it restarts.
                    return await self._client.post(path, content=body)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise EngineTimeout(f"no answer from `{self._url}` within {self._timeout_seconds} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, RuntimeError) as error:
            # httpx raises RuntimeError for a client that has been closed.
            raise EngineUnavailable(f"`{self._url}` cannot be asked: {str(error) or type(error).__name__}") from error
