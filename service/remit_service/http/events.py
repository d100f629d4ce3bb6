"""Server-sent events: how one is written, and the response that sends them until there is nothing more to tell.

The place for a stream is taken before its head is sent, so that what is refused is refused with a status. What fails
later cannot be: it is told as a last event, `problem`, with the document that an answer would have been, and the
stream ends; clients of this form ask again by themselves, from where they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fastapi.responses import StreamingResponse

from remit_service.http.routes import problem_or_failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import Receive, Scope, Send

    from remit_service.http.exchange import Exchange
    from remit_service.http.polls import Poll, Polls
    from remit_service.http.service import Service

EVENTS: Final = "text/event-stream"
STREAM_SECONDS: Final = 300
"""How long one event stream lasts; clients of this form reconnect by themselves, from where they were."""

BEAT_SECONDS: Final = 10
"""Something is sent at least so often, so that a dead client is noticed."""

RETRY: Final = b"retry: 1000\n\n"
"""After how long a client asks again, in milliseconds."""

BEAT: Final = b":\n\n"
"""A line that clients pass over."""


def wants_events(accept: str | None) -> bool:
    """Whether a client asks for a stream of events instead of one answer."""
    return EVENTS in (accept or "")


def event(name: str, data: bytes, *, number: int | None = None) -> bytes:
    """Return one event; `data` has no line break, `number` is where a client goes on that asks again."""
    at = b"" if number is None else b"id: %d\n" % number
    return b"%bevent: %b\ndata: %b\n\n" % (at, name.encode(), data)


class EventStream(StreamingResponse):
    """Sends the events of one open wait."""

    def __init__(
        self, service: Service, polls: Polls, exchange: Exchange, events: Callable[[Poll], AsyncIterator[bytes]]
    ) -> None:
        """Send what `events` makes for the wait that is opened in `polls`."""
        super().__init__((), media_type=EVENTS)
        self._service = service
        self._polls = polls
        self._exchange = exchange
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a place, then answer.

        Raises:
            ProblemError: 503, before anything is sent; there are enough open waits.
        """
        async with self._polls.open(self._exchange) as poll:
            self.body_iterator = self._told(self._events(poll))
            await super().__call__(scope, receive, send)

    async def _told(self, events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        yield RETRY
        try:
            async for each in events:
                yield each
        except Exception as error:  # noqa: BLE001 - the answer has begun: this is the way left to say so
            _, _, body = self._service.tell(self._exchange, problem_or_failure(self._exchange, error))
            yield event("problem", body)
