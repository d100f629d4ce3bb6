"""What other processes do to a store in the tests: started as a module, told what to do by arguments.

python -m tests.contract.ledger_process sqlite:remit.db a 7 5
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from tests.contract.ledger_commands import append_racing
from tests.contract.ledgers import open_ledger

if TYPE_CHECKING:
    from remit_graph.ports import Ledger


async def race(address: str, name: str, writers: int, commands: int) -> list[int]:
    """Let `writers`, each with a ledger of its own, append `commands` each; return the revisions they got.

    It starts when a line comes in, so that several processes start together.
    """
    async with AsyncExitStack() as opened:
        ledgers = [await open_ledger(address) for _ in range(writers)]
        for ledger in ledgers:
            opened.push_async_callback(ledger.aclose)
        print("ready", flush=True)  # noqa: T201 - how the parent learns of it
        await asyncio.to_thread(sys.stdin.readline)
        jobs = [_append(ledger, f"{name}-{number}", commands) for number, ledger in enumerate(ledgers)]
        revisions = await asyncio.gather(*jobs)
    return [each for some in revisions for each in some]


async def _append(ledger: Ledger, name: str, commands: int) -> list[int]:
    return [(await append_racing(ledger, f"{name}-{number}")).revision for number in range(commands)]


if __name__ == "__main__":
    _, of_store, own_name, writers_here, commands_each = sys.argv
    print(json.dumps(asyncio.run(race(of_store, own_name, int(writers_here), int(commands_each)))))  # noqa: T201
