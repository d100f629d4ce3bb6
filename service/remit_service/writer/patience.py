"""Submitting at a start: a server that has just started itself is slow, and may be slower than an append may take.

Neo4j plans each query when it is first asked, which takes seconds on a busy machine; what a given-up append had planned
stays planned. Callers over HTTP are told to come again, and a process that starts is its own caller.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import structlog

from remit_graph.errors import LedgerUnavailable

if TYPE_CHECKING:
    from remit_service.point import DecisionPoint
    from remit_service.writer.command import Done, Submission

ATTEMPTS: Final = 4
PAUSE_SECONDS: Final = 0.25

_log = structlog.get_logger(__name__)


async def submit_patiently(point: DecisionPoint, submission: Submission) -> Done:
    """Decide and append a command, and again where nothing was appended for a reason that may pass.

    Raises:
        LedgerUnavailable: nothing was appended, however often it was tried.
        LedgerError: as `DecisionPoint.submit` says.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            return await point.submit(submission)
        except LedgerUnavailable as error:
            _log.warning("the ledger does not take it yet", reason=error.message, attempt=attempt)
            await asyncio.sleep(PAUSE_SECONDS)
    return await point.submit(submission)
