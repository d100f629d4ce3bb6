"""The watch over edits made past the ledger: on a timer, at the start, on suspicion, and when somebody asks.

An edit changes no answer, since decisions read the log alone. It misleads whoever reads the graph, and somebody meant
something by it; so it raises an alarm until it is adopted or set aside: a metric, and a sentence of `/health/ready`.

The quick look compares counts and sums of digests; the slow one computes the digests of one part after the other, all
within ten minutes (rules.md 11).
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

import structlog

from remit_graph.drift import Materialised
from remit_graph.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.drift import Finding
    from remit_graph.ports import Ledger

QUICK_SECONDS: Final = 30.0
"""Between two quick looks; each is one pass over the graph inside the database, a second for a million edges."""

ALL_PARTS_SECONDS: Final = 500.0
"""One pass of the slow look, with a reserve below the ten minutes of the rule."""

SENTENCES: Final = 20
"""Findings that are told one by one; of more only how many there are."""

_log = structlog.get_logger(__name__)


class DriftWatch:
    """Knows what is wrong with the graph beside a ledger; of a ledger without one, that nothing is.

    Attributes:
        looks: Looks that ended, whatever they found.
    """

    def __init__(self, ledger: Ledger, *, quick_seconds: float = QUICK_SECONDS) -> None:
        """Know nothing yet; `start` begins to look."""
        self.graph: Materialised | None = ledger if isinstance(ledger, Materialised) else None
        self.looks = 0
        self._pause = quick_seconds
        self._quick: Sequence[Finding] = ()
        self._slow: dict[str, Sequence[Finding]] = {}
        self._suspicion = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def findings(self) -> list[Finding]:
        """What is known to be wrong, each once."""
        found = [*self._quick, *(each for some in self._slow.values() for each in some)]
        return list({(*_same(each), each.sentence): each for each in found}.values())

    def sentences(self) -> list[str]:
        """Say what is wrong and what to do, for the health page."""
        found = self.findings
        # Without ends and scopes: this page is read by whoever may ask whether the process is well.
        told = [f"past the ledger was {each.slip}: {each.kind} `{each.name}`" for each in found[:SENTENCES]]
        if len(found) > SENTENCES:
            told.append(f"and {len(found) - SENTENCES} more edits past the ledger")
        if told:
            told.append("`remit graph check` says what; `adopt` makes edits changes, `quarantine` takes them back")
        return told

    def start(self) -> None:
        """Begin to look, where there is a graph."""
        if self.graph is not None:
            self._task = asyncio.create_task(self._run(self.graph), name="remit-drift")

    async def aclose(self) -> None:
        """Stop looking."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def suspect(self) -> None:
        """Look now: an append met what the log does not know of."""
        self._suspicion.set()

    async def look(self, *, everything: bool = True) -> list[Finding]:
        """Look at the whole graph, or only at the kinds whose counts differ; return all that is known then.

        Raises:
            LedgerError: the store cannot be asked.
        """
        if self.graph is not None:
            found = await self.graph.findings(everything=everything)
            if everything:
                self._slow.clear()
            await self._noted(self.graph, found)
        return self.findings

    async def _noted(self, graph: Materialised, found: Sequence[Finding]) -> None:
        self._tell(found)
        self._quick = found
        # What a slow look found is looked at again with every quick one, so that the alarm ends with its cause.
        for part in [name for name, some in self._slow.items() if some]:
            await self._look_into(graph, part)
        self.looks += 1

    async def _look_into(self, graph: Materialised, part: str) -> None:
        """Compute every digest of one part anew: what was only edited shows in nothing else."""
        found = await graph.findings(part=part)
        self._tell(found)
        self._slow[part] = found

    def _tell(self, found: Sequence[Finding]) -> None:
        """Log what was not known yet, whichever look finds it first."""
        known = {_same(each) for each in self.findings}
        for each in found:
            if _same(each) not in known:
                _log.warning("edited past the ledger", edit_id=each.edit_id, sentence=each.sentence)

    async def _run(self, graph: Materialised) -> None:
        parts = list(graph.parts())
        a_tick = max(1, round(len(parts) * self._pause / ALL_PARTS_SECONDS))
        while True:
            try:
                await self.look(everything=False)
                for part in parts[:a_tick]:
                    await self._look_into(graph, part)
                parts = [*parts[a_tick:], *parts[:a_tick]]
            except LedgerError as error:
                _log.warning("the graph could not be looked at", reason=error.message)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pause):
                    await self._suspicion.wait()
            self._suspicion.clear()


def _same(finding: Finding) -> tuple[str, str, str]:
    return finding.slip, finding.kind, finding.name
