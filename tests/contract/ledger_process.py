"""What other processes do to a store in the tests: started as a module, told what to do by arguments.

python -m tests.contract.ledger_process sqlite:remit.db a 7 5 100
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import TYPE_CHECKING

from tests.contract.ledger_commands import count_racing
from tests.contract.ledgers import open_ledger

if TYPE_CHECKING:
    from remit_graph.ports import Ledger


async def race(address: str, name: str, writers: int, commands: int, in_all: int) -> dict[str, list[int]]:
    """Let `writers`, each with a ledger of its own, append `commands` each, while the tail is followed to its end.

    It starts when a line comes in, so that several processes start together.

    Returns:
        The revisions that the writers got, and those that came by in the tail, `in_all` of them.
    """
    async with AsyncExitStack() as opened:
        ledgers = [await open_ledger(address) for _ in range(writers)]
        for ledger in ledgers:
            opened.push_async_callback(ledger.aclose)
        print("ready", flush=True)  # noqa: T201 - how the parent learns of it
        await asyncio.to_thread(sys.stdin.readline)
        following = asyncio.create_task(_follow(ledgers[0], in_all))
        jobs = [_append(ledger, f"{name}-{number}", commands) for number, ledger in enumerate(ledgers)]
        revisions = await asyncio.gather(*jobs)
        tail = await following
    return {"got": [each for some in revisions for each in some], "tail": tail}


async def _append(ledger: Ledger, name: str, commands: int) -> list[int]:
    return [(await count_racing(ledger, f"{name}-{number}")).revision for number in range(commands)]


async def _follow(ledger: Ledger, in_all: int) -> list[int]:
    seen: list[int] = []
    while len(seen) < in_all:
        entries = await ledger.watch(seen[-1] if seen else 0, timedelta(seconds=1))
        seen.extend(entry.revision for entry in entries)
    return seen


if __name__ == "__main__":
    _, of_store, own_name, *numbers = sys.argv
    print(json.dumps(asyncio.run(race(of_store, own_name, *map(int, numbers)))))  # noqa: T201
