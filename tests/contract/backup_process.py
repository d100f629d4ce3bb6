"""A restore or a move that is killed in the middle: a process that ends itself by SIGKILL when it has come half-way.

python -m tests.contract.backup_process restore sqlite:///before.db sqlite:///after.db '' backup
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from remit_graph.backup import carry
from remit_service import stores
from remit_service.backup.move import move_store
from remit_service.backup.restore import restore_backup
from remit_service.secret import Secret
from remit_service.settings import Settings
from tests.contract.backups import CLOCK, tables
from tests.support.patience import patiently


def killed(revision: int) -> None:
    """End as a crash would, once a part was put back."""
    if revision:
        os.kill(os.getpid(), signal.SIGKILL)


async def main(how: str, source: str, place: str, password: str, backup: str) -> None:
    """Begin what is never finished."""
    # So few rows go together that the first part is not all of it.
    stores.neo4j_options = patiently
    carry.ROWS = 20  # type: ignore[misc] # smaller than what it is in earnest
    target = Settings(store=place, store_password=Secret(password) if password else None)
    if how == "restore":
        await restore_backup(Path(backup), target, clock=CLOCK, tables=tables(), after=0, tell=killed)
    else:
        await move_store(Settings(store=source), target, clock=CLOCK, tell=killed)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
