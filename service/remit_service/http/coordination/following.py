"""A wait as server-sent events: the place in the queue whenever it changes, then how the wait ended.

    event: waiting  data: the document of a 202
    event: granted  data: the document of the 200; the stream is over
    event: ended    data: the problem document; the stream is over

Following is asking: it keeps the place, as a long poll does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from remit_service.http.coordination.acquire import queued
from remit_service.http.coordination.tell import document_of, wait_ended
from remit_service.http.events import BEAT, BEAT_SECONDS, STREAM_SECONDS, event

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from remit_service.decision.caller import Caller
    from remit_service.http.coordination.desk import Desk
    from remit_service.http.exchange import Exchange
    from remit_service.http.polls import Poll

LOOK_SECONDS: Final = 1.0
"""How often the place is looked at; the end of a wait is told at once."""


async def follow(desk: Desk, caller: Caller, exchange: Exchange, waiter_id: str, poll: Poll) -> AsyncIterator[bytes]:
    """Iterate the events of one wait."""
    clock = desk.coordinator.point.clock
    end, silent_since = clock.monotonic() + STREAM_SECONDS, clock.monotonic()
    told: dict[str, Any] = {}
    reply = await desk.leases.wait(waiter_id, caller)
    while reply.is_waiting and not poll.is_over and clock.monotonic() < end:
        place = {name: each for name, each in queued(reply).items() if name != "keep_alive_before"}
        if place != told:
            yield event("waiting", msgspec.json.encode(document_of(desk, caller, reply, place)))
            told, silent_since = place, clock.monotonic()
        elif clock.monotonic() - silent_since >= BEAT_SECONDS:
            yield BEAT
            silent_since = clock.monotonic()
        reply = await poll.news(desk.leases.wait(waiter_id, caller, within_seconds=LOOK_SECONDS)) or reply
    if reply.is_refused:
        _, _, problem = desk.service.tell(exchange, wait_ended(desk, caller, reply))
        yield event("ended", problem)
    elif not reply.is_waiting:
        yield event("granted", msgspec.json.encode(document_of(desk, caller, reply)))
