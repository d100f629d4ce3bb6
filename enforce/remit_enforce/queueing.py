"""A place in the queue: kept by asking, left when nobody asks any more (S73).

The decision point grants in the revision that frees the key; the long poll only hears of it. Whoever stops waiting, for
whatever reason, leaves the queue, and gives up what was granted in the meantime.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING, Final

from remit_enforce.client import Answer
from remit_enforce.operations import Begun, Waiting, read_as
from remit_enforce.refusal import Refusal

if TYPE_CHECKING:
    from remit_enforce.operations import Operations

QUEUED: Final = 202
GRANTED: Final = 200
"""The status of an answer that is a place in the queue."""


async def in_turn(operations: Operations, queued: Answer, seconds: float) -> Answer | Refusal:
    """Wait for the grant; asking is what keeps the place."""
    waiting = read_as(Waiting, queued)
    if isinstance(waiting, Refusal):
        return waiting
    found: Answer | Refusal = queued
    # The wait ends at the decision point, which answers with how; this bound is for one that never says so.
    until = time.monotonic() + seconds + operations.client.settings.timeout_seconds
    try:
        while isinstance(found, Answer) and found.status == QUEUED and time.monotonic() < until:
            longest = min(operations.client.settings.poll_seconds, math.ceil(until - time.monotonic()))
            found = await operations.poll(waiting.waiter_id, longest)
    except asyncio.CancelledError:
        await leave(operations, waiting.waiter_id)
        raise
    if isinstance(found, Refusal):
        if found.is_fault:
            await leave(operations, waiting.waiter_id)
        return found
    if found.status == QUEUED:
        await leave(operations, waiting.waiter_id)
        return Refusal(code="coordination_timeout", message=f"no turn within {seconds:g} s", outcome="wait")
    return found


async def leave(operations: Operations, waiter_id: str) -> None:
    """Leave the queue; what was granted in the meantime, which leaving is answered with, is given up."""
    left = await operations.leave(waiter_id)
    begun = read_as(Begun, left) if isinstance(left, Answer) and left.status == GRANTED else None
    if isinstance(begun, Begun):
        await operations.abort(begun.coordination_id, "its caller stopped waiting")
