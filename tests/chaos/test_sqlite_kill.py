"""kill -9 of a process that writes to the embedded ledger: what was acknowledged is there, and nothing by half."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from remit_graph.errors import ForeignStore, LedgerUnavailable
from remit_graph.sqlite import SqliteLedger
from tests.chaos.sqlite_nursery import BATCH, CHANGES, command

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.chaos]


class Nursery:
    """Writers that are born on demand and killed at a moment of the caller's choice."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.sqlite_nursery"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def kill_a_writer(self, part: str, path: Path, *, after_lines: int, then_seconds: float) -> list[int]:
        """Let a writer begin, kill it some time after so many acknowledgements, and return all it got."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{part} {path}\n")
        self._process.stdin.flush()
        victim = int(self._line().removeprefix("born "))
        acknowledged: list[int] = []
        ended = False
        while len(acknowledged) < after_lines and not ended:
            ended = self._take(acknowledged)
        # Not a wait for something to happen: the kill may come at any moment, and this spreads the moments.
        time.sleep(then_seconds)
        if not ended:
            os.kill(victim, signal.SIGKILL)
        while not ended:
            ended = self._take(acknowledged)
        return acknowledged

    def close(self) -> None:
        """End the nursery."""
        self._process.communicate()

    def _take(self, acknowledged: list[int]) -> bool:
        line = self._line()
        if line != "ended":
            acknowledged.append(int(line.removeprefix("acknowledged ")))
        return line == "ended"

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the nursery ended"
        return line.strip()


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    """A nursery of its own for each test."""
    made = Nursery()
    yield made
    made.close()


@pytest.fixture
def moments() -> random.Random:
    """Random moments; a failure names the seed."""
    seed = random.randrange(2**32)  # noqa: S311 - moments of a test
    print(f"seed of the moments: {seed}")  # noqa: T201 - shown only with a failure
    return random.Random(seed)  # noqa: S311


@pytest.mark.slow
async def test_a_hundred_kills_lose_nothing_that_was_acknowledged(
    nursery: Nursery, moments: random.Random, tmp_path: Path
) -> None:
    """Each acknowledged revision is there, whole and with its answer; what was not acknowledged is whole or absent.

    Every other time another process has the ledger open, as a second decision point would; otherwise the next one to
    open it finds what the killed one left, and recovers it.
    """
    path = tmp_path / "remit.db"
    await (await SqliteLedger.init(path, "acme")).aclose()
    reached = 0

    for number in range(100):
        witness = await SqliteLedger.open(path) if number % 2 else None
        acknowledged = nursery.kill_a_writer(
            "append", path, after_lines=moments.randrange(6), then_seconds=moments.uniform(0, 0.01)
        )
        ledger = witness or await SqliteLedger.open(path)
        head = await ledger.head()
        assert head.revision >= max(acknowledged, default=reached)
        await _assert_whole(ledger, reached, head.revision)
        reached = head.revision
        await ledger.aclose()

    assert reached > 100
    ledger = await SqliteLedger.open(path)
    assert await ledger.check() == []
    await ledger.aclose()


async def _assert_whole(ledger: SqliteLedger, after: int, head: int) -> None:
    """The revisions after one are there without a gap, in whole batches, with all changes and their answers."""
    assert head % BATCH == 0
    entries = await ledger.read(after, 100_000)
    assert [entry.revision for entry in entries] == list(range(after + 1, head + 1))
    for entry in entries:
        names = [f"human:{entry.revision}-{place}" for place in range(CHANGES)]
        assert [change.body["id"] for change in entry.changes] == names
        kept = await ledger.result(f"r-{entry.revision}")
        assert kept is not None
        assert (kept.revision, kept.result) == (entry.revision, f'"r-{entry.revision}"')
    assert await ledger.result(f"r-{head + 1}") is None


async def test_a_kill_while_a_ledger_is_made_leaves_a_ledger_or_none(
    nursery: Nursery, moments: random.Random, tmp_path: Path
) -> None:
    """F027: afterwards the ledger opens, or `init` makes it; nobody has to remove a file by hand."""
    made = 0
    for number in range(40):
        path = tmp_path / f"remit-{number}.db"
        acknowledged = nursery.kill_a_writer("init", path, after_lines=0, then_seconds=moments.uniform(0, 0.02))
        try:
            ledger = await SqliteLedger.open(path, "acme")
            made += 1
        except (ForeignStore, LedgerUnavailable):
            assert acknowledged == []
            ledger = await SqliteLedger.init(path, "acme")
        assert await ledger.check() == []
        await ledger.aclose()

    assert made < 40


async def test_a_write_ahead_log_cut_anywhere_holds_whole_batches(moments: random.Random, tmp_path: Path) -> None:
    """Loss of power may leave any part of what was not synced yet: what is read of it is whole batches."""
    ledger = await SqliteLedger.init(tmp_path / "remit.db", "acme")
    for _ in range(8):
        head = await ledger.head()
        await ledger.append(
            head, [command(head.revision + 1 + place, max(head.at, head.now)) for place in range(BATCH)]
        )
    log = (tmp_path / "remit.db-wal").read_bytes()
    reached = set()

    for number in range(40):
        path = tmp_path / f"copy-{number}.db"
        shutil.copy(tmp_path / "remit.db", path)
        path.with_name(f"{path.name}-wal").write_bytes(log[: moments.randrange(len(log) + 1)])
        cut = await SqliteLedger.open(path)
        revision = (await cut.head()).revision
        await _assert_whole(cut, 0, revision)
        assert await cut.check() == []
        await cut.aclose()
        reached.add(revision)

    await ledger.aclose()
    assert reached <= set(range(0, 8 * BATCH + 1, BATCH))
    assert len(reached) > 1
