"""Writers on real embedded ledgers, and small commands for them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from remit_graph.model.change import Change
from remit_graph.sqlite.ledger import SqliteLedger
from remit_service.clock import SystemClock
from remit_service.replica.replica import Replica
from remit_service.writer.command import Accepted, Refused, Submission, Verdict
from remit_service.writer.writer import Writer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View


@asynccontextmanager
async def a_writer(path: Path) -> AsyncIterator[tuple[Writer, Replica]]:
    """Run a writer on the ledger at `path`, made if it is not there."""
    there = await asyncio.to_thread(path.exists)
    ledger = await (SqliteLedger.open(path) if there else SqliteLedger.init(path, "acme"))
    clock = SystemClock()
    replica = Replica(ledger, clock)
    writer = Writer(ledger, replica, clock)
    await replica.start()
    await writer.start()
    try:
        yield writer, replica
    finally:
        await writer.aclose()
        await replica.aclose()
        await ledger.aclose()


def put(name: str, *, request_id: str | None = None, fingerprint: str | None = None) -> Submission:
    """Return a command that declares a principal, refused where it is there."""

    def decide(view: View, _at: Instant) -> Verdict:
        if name in view.principals:
            return Refused(code="already_exists", message=f"`{name}` exists already")
        return Accepted(changes=(Change("principal.put", {"id": name}),), result={"id": name})

    return Submission(action="TEST", actor="system", decide=decide, request_id=request_id, fingerprint=fingerprint)


def count() -> Submission:
    """Return a command that reads how many principals there are and declares the next one."""

    def decide(view: View, _at: Instant) -> Verdict:
        name = f"role:r{len(view.principals)}"
        return Accepted(changes=(Change("principal.put", {"id": name}),), result={"id": name})

    return Submission(action="TEST", actor="system", decide=decide)
