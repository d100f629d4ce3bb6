"""The whole service of one process: decision log, decision point, coordinator, and the web face over them.

    async with running_app(settings) as app:
        ...                                     # `app` is an ASGI application; whoever has it decides where it listens

Started in this order and ended in the other one: the log takes the last record of the point before it closes.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from remit_service.bootstrap import coordinating, running_point
from remit_service.evidence.decision_log.compose import make_log
from remit_service.http.app import create_app
from remit_service.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from remit_service.http.app import Application
    from remit_service.settings import Settings


@asynccontextmanager
async def running_app(settings: Settings, *, activate: bool = True) -> AsyncIterator[Application]:
    """Run the service that the settings describe, for as long as the block runs.

    Args:
        settings: Of the process.
        activate: Whether it puts its policy in force where the store has none, and follows those activated later.

    Raises:
        LedgerError, BundleRefused: it cannot start, with what to do.
    """
    metrics = Metrics()
    log = make_log(settings, metrics)
    await log.start()
    try:
        async with running_point(settings, log, activate=activate) as point, coordinating(point) as coordinator:
            app = create_app(point, settings, log, metrics=metrics, coordinator=coordinator)
            try:
                yield app
            finally:
                await app.aclose()
    finally:
        await log.aclose()
