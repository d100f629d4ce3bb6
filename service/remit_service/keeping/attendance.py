"""Says in the store that this decision point is there and what it knows, so that an upgrade asks before it strands one.

That it cannot be said is no fault of the decision point's: the ledger is followed and written to by others.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

import structlog

from remit_graph.errors import GraphError
from remit_graph.model.change import SCHEMA

if TYPE_CHECKING:
    from remit_graph.ports import Ledger

EVERY_SECONDS: Final = 20.0
"""Three times within the minute that `remit store migrate --enable` looks back."""

_log = structlog.get_logger(__name__)


def process_name(replica: str) -> str:
    """Return a name of this process that no other one has, after the name that its settings give it."""
    return f"{replica} on {socket.gethostname()}, process {os.getpid()} {secrets.token_hex(3)}"


class Attendance:
    """Announces one process until it stops."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        """Say nothing yet."""
        self._ledger = ledger
        self._name = name
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to say it."""
        self._task = asyncio.create_task(self._run(), name="remit-announcing")

    async def aclose(self) -> None:
        """Stop, and say that it is over."""
        if self._task is None:
            return
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        with contextlib.suppress(GraphError):
            await self._ledger.depart(self._name)

    async def _run(self) -> None:
        while True:
            try:
                await self._ledger.announce(self._name, version("remit"), SCHEMA)
            except GraphError as error:
                _log.warning("not announced", reason=error.message)
            await asyncio.sleep(EVERY_SECONDS)
