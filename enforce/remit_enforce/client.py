"""The HTTP client of a decision point: one call, its answer or its refusal, in bounded time.

Rules:
- no answer, a late one, one that is too long or cannot be read, and every status that is no success is a `Refusal`;
- a redirect is not followed: it would carry the key elsewhere; proxies and keys are not taken from the environment;
- only sending is repeated, and only where a repeat means the same (`sending.py`), never for what was decided.

    async with AsyncClient(Settings(url="http://127.0.0.1:8180")) as point:
        permit = await point.evaluate(subject="instance:seo-agent-7", action="READ_POST", resource="wp:post:1024")
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

import httpx
import msgspec

from remit_enforce.asking import permit_of, question
from remit_enforce.refusal import LATE_ANSWER, NO_ANSWER, Refusal, refusal_of_problem, unreadable
from remit_enforce.sending import pause_before

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from remit_enforce.asking import Permit
    from remit_enforce.settings import Settings

_READ: Final = frozenset({"GET", "DELETE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A success of the decision point.

    Attributes:
        status: HTTP's number.
        document: What it says.
        replayed: Whether it is the stored answer of an earlier call with the same idempotency key.
        resent: Whether the call was sent more than once before it came.
        sent_at: When the call that was answered was sent, by the monotonic clock: durations in it count from here.
    """

    status: int
    document: Mapping[str, Any]
    replayed: bool
    resent: bool
    sent_at: float

    def __bool__(self) -> NoReturn:
        """Refuse: an answer is read, and not taken for a yes."""
        raise TypeError("an answer is neither true nor false: read its document")


class AsyncClient:
    """The connections to one decision point: reused, and given back by `aclose` or at the end of `async with`."""

    def __init__(self, settings: Settings) -> None:
        """Connect with the first call."""
        self.settings = settings
        self._http = httpx.AsyncClient(
            base_url=settings.url,
            verify=True if settings.tls is None else settings.tls,
            trust_env=False,
            follow_redirects=False,
            timeout=None,  # noqa: S113 - the whole call is bounded in `_once`
        )

    async def __aenter__(self) -> Self:
        """Return the client."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def evaluate(
        self, *, subject: str, action: str, resource: str, context: Mapping[str, Any] | None = None
    ) -> Permit | Refusal:
        """Ask whether something may be done now (AuthZEN 1.0); whatever is no well-formed permit is a refusal."""
        body = question(subject, action, resource, context)
        answer = await self.call("POST", "/access/v1/evaluation", body, repeatable=True)
        if isinstance(answer, Refusal):
            return answer
        if answer.status != httpx.codes.OK:
            return unreadable(f"status {answer.status} is none of a decision", status=answer.status)
        return permit_of(answer.document)

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        repeatable: bool = False,
        timeout_seconds: float | None = None,
    ) -> Answer | Refusal:
        """Send one call and return what came of it.

        Args:
            method: Of a route of the decision point.
            path: Of the same.
            body: Sent as JSON.
            key: The idempotency key: with it a repeat is answered with the first answer.
            repeatable: Whether a repeat means the same without a key; GET and DELETE always do.
            timeout_seconds: Instead of that of the settings, for each time it is sent.
        """
        headers = {} if key is None else {"Idempotency-Key": key}
        may_repeat = repeatable or key is not None or method in _READ
        attempts = self.settings.attempts if may_repeat else 1
        bound = timeout_seconds or self.settings.timeout_seconds
        for attempt in range(1, attempts + 1):
            found = await self._once(method, path, body, headers, bound=bound, resent=attempt > 1)
            pause = pause_before(attempt + 1, found, self.settings) if isinstance(found, Refusal) else None
            if pause is None or attempt == attempts:
                return found
            await asyncio.sleep(pause)
        raise AssertionError("a call is sent at least once")

    async def _once(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        *,
        bound: float,
        resent: bool,
    ) -> Answer | Refusal:
        content = None if body is None else msgspec.json.encode(body)
        told = {"Content-Type": "application/json", "Accept": "application/json, application/problem+json"}
        try:
            proof = self.settings.headers()
            request = self._http.build_request(method, path, content=content, headers={**told, **headers, **proof})
        except Exception as error:  # noqa: BLE001 - whatever keeps a caller from proving who it is: nothing was asked
            message = f"nothing was sent: {type(error).__name__}: {error}"
            return Refusal(code=NO_ANSWER, message=message, resent=resent)
        sent_at = time.monotonic()
        try:
            # The bounds of httpx are for each read; a peer that dribbles would pass them for ever.
            async with asyncio.timeout(bound):
                response = await self._http.send(request, stream=True)
                try:
                    raw = await self._bounded(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            message = f"no answer within {bound:g} s"
            return Refusal(code=LATE_ANSWER, message=message, resent=resent)
        except httpx.DecodingError as error:
            return unreadable(str(error), resent=resent)
        except httpx.HTTPError as error:
            message = f"no answer from {self.settings.url}: {str(error) or type(error).__name__}"
            return Refusal(code=NO_ANSWER, message=message, resent=resent)
        return _read(response, raw, sent_at=sent_at, resent=resent)

    async def _bounded(self, response: httpx.Response) -> bytes | None:
        """Return the body, or None where it is longer than the bound."""
        raw = bytearray()
        async for piece in response.aiter_bytes():
            raw += piece
            if len(raw) > self.settings.max_answer_bytes:
                return None
        return bytes(raw)


def _read(response: httpx.Response, raw: bytes | None, *, sent_at: float, resent: bool) -> Answer | Refusal:
    status = response.status_code
    if raw is None:
        return unreadable("it is too long", status=status, resent=resent)
    if status == httpx.codes.NO_CONTENT:
        return Answer(status=status, document={}, replayed=False, resent=resent, sent_at=sent_at)
    try:
        document = msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        return unreadable(str(error), status=status, resent=resent)
    if not isinstance(document, dict):
        return unreadable("it is no object", status=status, resent=resent)
    if not response.is_success:
        return refusal_of_problem(status, document, retry_after=response.headers.get("retry-after"), resent=resent)
    replayed = response.headers.get("idempotent-replayed") == "true"
    return Answer(status=status, document=document, replayed=replayed, resent=resent, sent_at=sent_at)
