"""Writers to be killed: a process that forks one for every line it reads, so that each starts within milliseconds.

    python -m tests.chaos.sqlite_nursery

It reads `append PATH` or `init PATH` and prints `born PID`; the writer prints what was acknowledged to it; when the
writer has ended, in whatever way, the nursery prints `ended`. It opens no ledger itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import traceback
from itertools import count
from pathlib import Path
from typing import NoReturn

from remit_graph.model.change import Change, Command
from remit_graph.sqlite import SqliteLedger
from remit_graph.stored import Checkpoint

BATCH = 3
"""Commands in a batch; a revision that is no multiple of it, as the last one, is half a batch."""

CHANGES = 4


async def append(path: Path) -> None:
    """Append batches, and save a checkpoint now and then, until killed."""
    ledger = await SqliteLedger.open(path)
    for number in count():
        head = await ledger.head()
        batch = [command(head.revision + 1 + place, max(head.at, head.now)) for place in range(BATCH)]
        entries = await ledger.append(head, batch)
        _say(f"acknowledged {entries[-1].revision}")
        if number % 4 == 3:
            blob = os.urandom(200_000)
            digest = hashlib.sha256(blob).hexdigest()
            revision, last = entries[-1].revision, entries[-1].hash
            await ledger.save_checkpoint(Checkpoint(revision=revision, hash=last, digest=digest, blob=blob))


def command(revision: int, at: int) -> Command:
    """Return the command of a revision; its changes and its request name the revision."""
    changes = tuple(Change("principal.put", {"id": f"human:{revision}-{place}"}) for place in range(CHANGES))
    name = f"r-{revision}"
    return Command(action="GRAPH_APPLY", actor="human:ada", at=at, changes=changes, request_id=name, result=f'"{name}"')


async def init(path: Path) -> None:
    """Make a ledger, say so, and wait to be killed: an id that may be gone is no id to send a signal to."""
    await SqliteLedger.init(path, "acme")
    _say("acknowledged 0")
    await asyncio.Event().wait()


def _live(part: str, path: Path) -> NoReturn:
    """Work until killed; a writer that fails is gone as well and never a second nursery."""
    try:
        asyncio.run({"append": append, "init": init}[part](path))
    finally:
        traceback.print_exc()
        os._exit(1)


def _say(words: str) -> None:
    # One write of a short line is not mixed with the nursery's on the same pipe.
    os.write(1, f"{words}\n".encode())


def _main() -> None:
    for line in sys.stdin:
        part, _, path = line.strip().partition(" ")
        child = os.fork()
        if child == 0:
            _live(part, Path(path))
        _say(f"born {child}")
        os.waitpid(child, 0)
        _say("ended")


if __name__ == "__main__":
    _main()
