"""Deciding ahead: while one batch is on its way to the ledger, the next is decided on what that one will have made.

What is decided ahead is used only if the append before it succeeds and nobody else's came between; otherwise it is
decided again like anything that waits. So a store that is slow to answer costs latency, and no throughput: the longer
an append takes, the more commands share the next one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_service.clock import Clock
    from remit_service.writer.arrivals import Arrivals
    from remit_service.writer.command import Waiting
    from remit_service.writer.deciding import Draft

PATIENCE_SECONDS: Final = 0.004
"""An append that is over by then gains nothing by it: those of an embedded store are."""

SLICE_SECONDS: Final = 0.008
"""Longest time that is decided at a stretch: the answer that is waited for may be there by then."""

GATHER_SECONDS: Final = 0.002
"""Pause after all that had arrived was decided: each slice applies what is on its way, too much for one command."""


async def decide_ahead(
    draft: Draft, appending: asyncio.Task[Any], arrivals: Arrivals, clock: Clock, at_most: int
) -> Draft | None:
    """Decide what arrives until `draft` was appended, or was not; return it, or None where that is nothing."""
    ahead = draft.next()
    if ahead is None:
        await asyncio.wait({appending})
        return None
    await asyncio.wait({appending}, timeout=PATIENCE_SECONDS)
    while await _something_first(appending, arrivals):
        had = len(ahead.decided)
        left: Sequence[Waiting] = ()
        if had < at_most and ahead.can_go_on():
            taken = [each for each in arrivals.take_now(at_most - had) if not each.done.done()]
            left = ahead.decide(taken, clock.now(), clock.monotonic, SLICE_SECONDS)
            arrivals.put_back(left)
        if len(ahead.decided) == had:
            # Nothing more may be decided ahead, whatever else comes.
            await asyncio.wait({appending})
        else:
            await asyncio.sleep(0 if left else GATHER_SECONDS)
    return ahead if ahead.decided else None


async def _something_first(appending: asyncio.Task[Any], arrivals: Arrivals) -> bool:
    """Wait for a command or for the end of the append; whether a command came first."""
    if appending.done():
        return False
    arrived = asyncio.create_task(arrivals.wait())
    await asyncio.wait({appending, arrived}, return_when=asyncio.FIRST_COMPLETED)
    arrived.cancel()
    return not appending.done()
