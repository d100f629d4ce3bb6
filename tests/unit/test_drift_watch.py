"""The watch over edits made past the ledger, on a graph whose findings the test decides."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from structlog.testing import capture_logs

from remit_graph.drift import Finding, SetAside, Slip
from remit_graph.errors import LedgerUnavailable
from remit_graph.sqlite.ledger import SqliteLedger
from remit_service.keeping.drift import DriftWatch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, MutableMapping, Sequence
    from pathlib import Path

GRANT = Finding(slip=Slip.ADDED, kind="MAY_WRITE", name="g-200", sentence="MAY_WRITE `g-200` was put in")
PROMOTED = Finding(slip=Slip.CHANGED, kind="Principal", name="principal/human:eve", sentence="Principal was changed")


class Graph:
    """A graph with what the test puts there: `counted` shows in counts, `edited` only in digests of its part."""

    def __init__(self) -> None:
        self.counted: list[Finding] = []
        self.edited: list[Finding] = []
        self.fails = False
        self.looked_at: list[str | None] = []

    async def drift(self) -> Sequence[Any]:
        """Never asked by the watch itself."""
        raise NotImplementedError

    def parts(self) -> Sequence[str]:
        """Return two parts."""
        return ["MAY_WRITE", "Principal"]

    async def findings(self, *, everything: bool = True, part: str | None = None) -> Sequence[Finding]:
        """Return what there is, as the ledger in Neo4j would find it."""
        if self.fails:
            raise LedgerUnavailable("gone")
        self.looked_at.append(part)
        if part is not None:
            return [each for each in (*self.counted, *self.edited) if each.kind == part]
        return [*self.counted, *(self.edited if everything else ())]

    async def set_aside(self, findings: Sequence[Finding], **_: Any) -> None:
        """Forget them."""
        self.counted = [each for each in self.counted if each not in findings]

    async def was_set_aside(self) -> Sequence[SetAside]:
        """Nothing was."""
        return []


@asynccontextmanager
async def watching(graph: Any, **options: Any) -> AsyncIterator[DriftWatch]:
    """Run a watch over `graph`."""
    watch = DriftWatch(graph, **options)
    watch.start()
    try:
        yield watch
    finally:
        await watch.aclose()


@pytest.fixture
def logs() -> Iterator[list[MutableMapping[str, Any]]]:
    """What is logged, whichever level a command line has set in this process before."""
    before = structlog.get_config()
    structlog.reset_defaults()
    with capture_logs() as told:
        yield told
    structlog.configure(**before)


async def until(condition: Callable[[], bool]) -> None:
    """Return when it holds."""
    while not condition():  # noqa: ASYNC110 - the watch tells nobody what it found
        await asyncio.sleep(0.001)


async def looked(watch: DriftWatch, looks: int) -> None:
    """Return after so many looks."""
    await until(lambda: watch.looks >= looks)


async def test_an_edit_that_counts_show_is_found_at_the_start() -> None:
    """What was added while nobody watched raises an alarm with the first look."""
    graph = Graph()
    graph.counted = [GRANT]
    async with watching(graph) as watch:
        await looked(watch, 1)

        assert watch.findings == [GRANT]
        assert watch.sentences()[0] == "past the ledger was added: MAY_WRITE `g-200`"


async def test_what_only_digests_show_is_found_part_by_part_and_forgotten_when_it_is_gone(
    logs: list[MutableMapping[str, Any]],
) -> None:
    """The slow look reaches each part in turn; an alarm of its ends with the next quick look."""
    graph = Graph()
    graph.edited = [PROMOTED]
    async with watching(graph, quick_seconds=0.001) as watch:
        await until(lambda: bool(watch.findings))
        assert watch.findings == [PROMOTED]
        # Each part is looked into again and again; what is known is not told again.
        await looked(watch, watch.looks + 3)
        assert [each["edit_id"] for each in logs if each["event"] == "edited past the ledger"] == [PROMOTED.edit_id]
        assert watch.sentences()[0] == "past the ledger was changed: Principal `principal/human:eve`"

        graph.edited = []
        await until(lambda: not watch.findings)

        assert {"MAY_WRITE", "Principal"} <= set(graph.looked_at)


async def test_suspicion_looks_at_once() -> None:
    """A command that met something unknown does not wait for the timer."""
    graph = Graph()
    async with watching(graph, quick_seconds=3_600) as watch:
        await looked(watch, 1)
        graph.counted = [GRANT]

        watch.suspect()
        await looked(watch, 2)

        assert watch.findings == [GRANT]


async def test_a_look_that_fails_keeps_what_is_known() -> None:
    """A store that does not answer ends no alarm and no watch."""
    graph = Graph()
    graph.counted = [GRANT]
    async with watching(graph, quick_seconds=0.001) as watch:
        await looked(watch, 1)
        graph.fails = True
        before = watch.looks
        await asyncio.sleep(0.01)
        graph.fails = False
        await looked(watch, before + 1)

        assert watch.findings == [GRANT]


async def test_many_edits_are_told_in_part() -> None:
    """The health page stays readable."""
    graph = Graph()
    graph.counted = [
        Finding(slip=Slip.ADDED, kind="MAY_WRITE", name=f"g-{number}", sentence=f"{number}") for number in range(30)
    ]
    watch = DriftWatch(graph)  # type: ignore[arg-type]
    await watch.look()

    assert len(watch.findings) == 30
    assert watch.sentences()[20] == "and 10 more edits past the ledger"


async def test_a_ledger_without_a_graph_has_no_drift(tmp_path: Path) -> None:
    """The embedded store keeps the log alone: there is nothing to look at, and nothing is wrong."""
    ledger = await SqliteLedger.init(tmp_path / "l.db", "acme")
    async with watching(ledger) as watch:
        assert await watch.look() == []
        assert (watch.graph, watch.sentences()) == (None, [])
    await ledger.aclose()
