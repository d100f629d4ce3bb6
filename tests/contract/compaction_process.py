"""A compaction that is killed: a process that ends itself by SIGKILL when it has come to a step.

python -m tests.contract.compaction_process cut 40 'sqlite:remit.db'
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from remit_graph.neo4j import base as in_neo4j
from remit_graph.sqlite import base as in_sqlite
from tests.contract.compactions import compacted
from tests.contract.ledgers import open_ledger

if TYPE_CHECKING:
    from remit_graph.history import Retention, Swept


async def die(*_: Any) -> Any:
    """End as a crash would."""
    os.kill(os.getpid(), signal.SIGKILL)


async def main(step: str, revision: str, address: str) -> None:
    """Begin what is never finished."""
    # So few rows go together that a sweep does not take all of them.
    in_sqlite.ROWS = in_neo4j.ROWS = 20  # type: ignore[misc] # smaller than what it is in earnest
    ledger: Any = await open_ledger(address)
    sweep = ledger.sweep

    async def swept_once(retention: Retention) -> Swept:
        await sweep(retention)
        return await die()  # type: ignore[no-any-return]

    ledger.sweep = die if step == "cut" else swept_once
    await compacted(ledger, int(revision))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
