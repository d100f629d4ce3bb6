"""One HTTP exchange in plain ASGI: the head of a request, its body within a bound, and how an answer is sent.

Kept small, since decisions are asked through it thousands of times a second: one dictionary of headers, no objects
per header, two messages per answer.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any, Final

from remit_service.decision.request import RequestError
from remit_service.http.problems import ProblemError, too_large

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

REQUEST_ID: Final = b"x-request-id"
SINGLE: Final = (b"authorization", b"content-type", b"host", b"remit-subject-token")
"""Headers that say who asks, where, and what the body is."""

_NUMBERS: Final = itertools.count(1)
_PROCESS: Final = os.urandom(6).hex()


class Exchange:
    """The head of one request.

    Attributes:
        headers: By lower-case name; of several with one name the last.
        request_id: As the caller sent it, or one made here.
    """

    __slots__ = ("_receive", "_send", "headers", "request_id", "scope", "status")

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the head."""
        self.scope = scope
        self._receive = receive
        self._send = send
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.request_id = self.headers.get(REQUEST_ID) or f"req_{_PROCESS}{next(_NUMBERS):08x}".encode()
        self.status = 0

    def require_single_headers(self) -> None:
        """Refuse a header on which rights depend and that is there twice: another reader could have taken the other.

        Raises:
            RequestError: naming the header.
        """
        if len(self.headers) == len(self.scope["headers"]):
            return
        names = [name for name, _ in self.scope["headers"]]
        for name in SINGLE:
            if names.count(name) > 1:
                raise RequestError(f"header `{name.decode()}` is there twice", pointer="")

    @property
    def request_id_text(self) -> str:
        """The request id for records; bytes that are no ASCII are kept as Latin-1, as HTTP reads them."""
        return self.request_id.decode("latin-1")

    @property
    def path(self) -> str:
        """The path asked for."""
        return str(self.scope["path"])

    @property
    def peer(self) -> str | None:
        """Address of the other end of the connection."""
        client = self.scope.get("client")
        return client[0] if client else None

    async def body(self, limit: int) -> bytes:
        """Return the body.

        Raises:
            ProblemError: it is longer than `limit`.
        """
        announced = self.headers.get(b"content-length")
        if announced is not None and (len(announced) > len(str(limit)) or int(announced) > limit):
            raise ProblemError(too_large(limit))
        message = await self._receive()
        body: bytes = message.get("body", b"")
        if not message.get("more_body") and len(body) <= limit:
            return body
        chunks, size = [body], len(body)
        while message.get("more_body") and size <= limit:
            message = await self._receive()
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
        if size > limit:
            raise ProblemError(too_large(limit))
        return b"".join(chunks)

    async def hung_up(self) -> None:
        """Return once the client is gone; only where its body was read, or is not wanted."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def require_json(self) -> None:
        """Refuse a body that does not say it is JSON; AuthZEN answers that with 400.

        Raises:
            RequestError: another media type, or none.
        """
        kind = self.headers.get(b"content-type")
        if kind != b"application/json" and not _is_json(kind):
            raise RequestError("the content type is application/json", pointer="")

    async def send(self, status: int, kind: bytes, body: bytes, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """Send the answer, with the request id."""
        self.status = status
        head = [
            (b"content-type", kind),
            (b"content-length", b"%d" % len(body)),
            (REQUEST_ID, self.request_id),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
            *headers,
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": head})
        await self._send({"type": "http.response.body", "body": b"" if self.scope["method"] == "HEAD" else body})


def _is_json(kind: bytes | None) -> bool:
    if kind is None:
        return False
    name, _, rest = kind.partition(b";")
    charset = rest.strip().lower().removeprefix(b"charset=").strip(b'"')
    return name.strip().lower() == b"application/json" and charset in (b"", b"utf-8")
