"""What another process, with other rights or on a failing disk, meets on an SQLite file; prints what it met.

python -m tests.contract.ledger_sqlite_process opened remit.db
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from pathlib import Path

from remit_graph.errors import LedgerError
from remit_graph.sqlite import SqliteLedger
from tests.contract.ledger_commands import a_command, a_principal, append, now


async def opened(path: Path) -> list[str]:
    """Open the ledger, as another user if one is named."""
    if user := os.environ.get("REMIT_TEST_USER"):
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    try:
        ledger = await SqliteLedger.open(path)
    except LedgerError as error:
        return [type(error).__name__, *(["permission"] if "permission" in f"{error} {error.advice}" else [])]
    await ledger.aclose()
    return ["opened"]


async def limited(path: Path) -> list[str]:
    """Append what the disk takes only a part of, then what it takes."""
    ledger = await SqliteLedger.open(path)
    await append(ledger)
    head = await ledger.head()
    large = [a_principal(f"human:{number}") for number in range(2_000)]
    # The system fails the write beyond this size with EFBIG, which is an I/O error and not a full disk.
    written = path.with_name(f"{path.name}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (written + 65_536, resource.RLIM_INFINITY))
    said = []
    try:
        await ledger.append(head, [a_command(*large, at=now(head), request_id="r-1")])
    except LedgerError as error:
        said.append(type(error).__name__)
    said.append(f"result {await ledger.result('r-1')}")
    said.append(f"revision {(await ledger.head()).revision}")
    said.append(f"appended {(await append(ledger)).revision}")
    said.append(f"check {await ledger.check()}")
    await ledger.aclose()
    return said


if __name__ == "__main__":
    _, part, file = sys.argv
    print(*asyncio.run({"opened": opened, "limited": limited}[part](Path(file))), sep="\n")  # noqa: T201
