"""A writer as a process of its own: begins a write of a page, says so in the middle of it, and goes on when told.

    python -m tests.enforce.paused_writer URL FOLDER KEY < orders

Its write runs in a thread that nobody can cancel. At the end it says what the library told it, and what the guard did.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from remit_enforce import AsyncClient, Denied, Settings, StaleToken, Turn, write
from tests.support.guarded_page import Page


def say(**told: Any) -> None:
    """Tell the test, on a line of its own."""
    print(json.dumps(told), flush=True)  # noqa: T201 - answers go over standard output


class Writer:
    """One write that stops in its middle."""

    def __init__(self, page: Page) -> None:
        """Write this page."""
        self.page, self.guard, self.ended = page, "not reached", asyncio.Event()

    async def execute(self, turn: Turn) -> None:
        """Write in a thread, as long as one is let."""
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._write, turn, loop)

    def _write(self, turn: Turn, loop: asyncio.AbstractEventLoop) -> None:
        say(token=turn.lease_epoch)
        sys.stdin.readline()
        try:
            with self.page.guard.admit(self.page.key, turn.fencing_tokens):
                self.page.put("rev_66", "/late")
            self.guard = "accepted"
        except StaleToken:
            self.guard = "refused"
            raise
        finally:
            loop.call_soon_threadsafe(self.ended.set)


async def main() -> None:
    """Write, and say how it ended."""
    url, folder, key = sys.argv[1:]
    writer = Writer(Page(Path(folder), key))
    settings = Settings(url=url, renew_timeout_seconds=0.3, pause_seconds=0.05)
    async with AsyncClient(settings) as point:
        plan = writer.page.plan(execute=writer.execute, ttl_seconds=2)
        try:
            code = (await write(point, plan)).status
        except Denied as error:
            code = error.refusal.code
    await writer.ended.wait()
    say(code=code, guard=writer.guard)


if __name__ == "__main__":
    asyncio.run(main())
