"""Taking turns at the head with the writers of other processes (rules.md 11, "Several replicas, fairly").

A writer that lost no append lately asks for nothing: alone, it pays for no turn. One that lost lines up, decides when
it has the turn, and asks again for its next batch for as long as there are others; whoever gets the turn at once was
alone with it.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from remit_graph.errors import LedgerError
from remit_graph.sharing import TURN

if TYPE_CHECKING:
    from remit_graph.ports import Ledger
    from remit_graph.sharing import Turn
    from remit_service.clock import Clock
    from remit_service.replica.replica import Replica

LOOK: Final = timedelta(milliseconds=20)
"""Longest pause between two looks; an append of somebody else, which hands the turn on, wakes earlier."""

PATIENCE_SECONDS: Final = 5.0
"""After this a writer tries its luck without a turn: fifty others, each of which died with one."""


class Turns:
    """The turns of one writer.

    Attributes:
        has_rivals: Whether others append too, as far as is known: an append was lost lately, or others are in line.
    """

    def __init__(self, ledger: Ledger, replica: Replica, clock: Clock, *, wanted: bool = True) -> None:
        """Nobody is known to be there; where turns are not `wanted`, none is ever asked for."""
        self._ledger = ledger
        self._replica = replica
        self._clock = clock
        self._wanted = wanted
        self.has_rivals = False
        self._in_line = False

    def lost(self) -> None:
        """Note that another writer was first."""
        self.has_rivals = self._wanted

    def spent(self) -> None:
        """Note that an append succeeded: the turn went to the next with it."""
        self._in_line = False

    async def wait(self) -> None:
        """Return when this writer may decide, with the view where the ledger stands; at once where it has no rivals.

        Raises:
            LedgerError: the ledger cannot be asked.
        """
        if not self.has_rivals:
            return
        self._in_line = True
        turn = await self._ledger.take_turn()
        self.has_rivals = not turn.mine or turn.waiting > 0
        deadline = self._clock.monotonic() + PATIENCE_SECONDS
        while self._clock.monotonic() < deadline:
            if not turn.mine:
                turn = await self._look(turn)
            elif self._replica.view.revision < turn.revision:
                turn = await self._caught_up(turn)
            else:
                return

    async def _caught_up(self, turn: Turn) -> Turn:
        """Catch up in one's own turn, and say all the while that this writer is there: the quickest need not catch up.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        catching = asyncio.create_task(self._replica.catch_up())
        try:
            while not (await asyncio.wait({catching}, timeout=_left(turn).total_seconds() / 2))[0]:
                turn = await self._ledger.take_turn()
            await catching
        finally:
            catching.cancel()
        return turn

    async def _look(self, turn: Turn) -> Turn:
        await self._replica.reached(turn.revision + 1, min(LOOK, _left(turn)))
        seen = await self._ledger.see_turn()
        # One's own is prolonged where it was heard of late: who is slow is not dead.
        return await self._ledger.take_turn() if seen.is_free or (seen.mine and _left(seen) < TURN / 2) else seen

    async def leave(self) -> None:
        """Pass the turn, or the place in line, on where it was not used."""
        if self._in_line:
            self._in_line = False
            # It lapses by itself where the ledger cannot be told.
            with contextlib.suppress(LedgerError):
                await self._ledger.pass_turn()


def _left(turn: Turn) -> timedelta:
    """How long a turn went on when it was looked at."""
    return timedelta(microseconds=max(turn.until - turn.now, 0))
