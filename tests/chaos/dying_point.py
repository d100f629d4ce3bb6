"""`remit` with a weak heart: told so, it dies in the middle of an append, as a machine does that loses power.

    python -m tests.chaos.dying_point ORDER serve ...

When the file ORDER is there, the next append of a command ends the process by SIGKILL: `before` it reaches the store,
or `after` the store has it and before anybody was told. The order is carried out once.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit_graph.neo4j import Neo4jLedger
from remit_graph.sqlite.ledger import SqliteLedger
from remit_service import stores
from remit_service.cli.app import main
from tests.support.patience import patiently

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.head import Head
    from remit_graph.model.change import Command, Entry


def weaken(ledger: Any, order: Path) -> None:
    """Let the appends of a kind of ledger look for the order."""
    append = ledger.append

    async def dying(self: Any, expected: Head, batch: Sequence[Command]) -> Sequence[Entry]:
        told = order.read_text() if order.exists() else ""  # noqa: ASYNC240 - nothing else may come in between
        meant = any(each.action == "BEGIN_OPERATION" for each in batch) and told
        if meant:
            order.unlink()  # noqa: ASYNC240 - as above
        if meant == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        entries: Sequence[Entry] = await append(self, expected, batch)
        if meant == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return entries

    ledger.append = dying


if __name__ == "__main__":
    stores.neo4j_options = patiently
    where = Path(sys.argv.pop(1))
    for kind in (Neo4jLedger, SqliteLedger):
        weaken(kind, where)
    main()
