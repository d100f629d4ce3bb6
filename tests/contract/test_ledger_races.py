"""What every ledger promises to writers that race: each revision once, no gap, whoever they are.

Tasks, threads and processes each have a ledger of their own, as decision points have.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from remit_graph.errors import ConstraintBroken, HeadMoved, LedgerError, RequestReused
from tests.contract.ledger_commands import a_command, append_racing, edge_begin, everything, now
from tests.contract.ledgers import open_ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.model.change import Entry
    from remit_graph.ports import Ledger
    from tests.contract.ledgers import Store

ROOT = Path(__file__).parents[2]


@pytest.mark.feature("S83")
async def test_of_two_appends_at_one_head_one_is_appended(store: Store) -> None:
    """House rule 34: both compare with the same head, and exactly one of them still finds it."""
    ledgers = [await store.open(), await store.open()]
    for revision in range(1, 21):
        head = await ledgers[0].head()

        outcomes = await asyncio.gather(
            *(ledger.append(head, [a_command(at=now(head))]) for ledger in ledgers), return_exceptions=True
        )

        appended = [each for each in outcomes if not isinstance(each, BaseException)]
        lost = [each for each in outcomes if isinstance(each, HeadMoved)]
        assert (len(appended), len(lost)) == (1, 1)
        assert (await ledgers[1].head()).revision == revision


async def test_of_fifty_creations_of_one_edge_one_is_appended(store: Store) -> None:
    """F071: one of them makes it, 49 are told that it exists, none meets a fault of the store."""
    ledgers = [await store.open() for _ in range(5)]

    outcomes = await asyncio.gather(*(_create(ledgers[number % 5]) for number in range(50)))

    assert sorted(outcomes) == ["created", *["exists"] * 49]
    assert (await ledgers[0].head()).revision == 1


async def _create(ledger: Ledger) -> str:
    while True:
        head = await ledger.head()
        try:
            await ledger.append(head, [a_command(edge_begin("g-9"), at=now(head))])
        except HeadMoved:
            continue
        except ConstraintBroken:
            return "exists"
        return "created"


async def test_one_request_from_many_writers_is_appended_once(store: Store) -> None:
    """F075: whoever sends a request again, at whatever head, does not act again."""
    ledgers = [await store.open() for _ in range(4)]

    outcomes = await asyncio.gather(*(append_racing(each, "r-77") for each in ledgers * 5), return_exceptions=True)

    assert sum(isinstance(each, RequestReused) for each in outcomes) == 19
    assert [each.revision for each in outcomes if not isinstance(each, BaseException)] == [1]


async def test_a_cancelled_append_is_settled_by_its_request(store: Store) -> None:
    """F075: a caller that hangs up may have appended or not; the request id tells which, and nothing is half done."""
    ledger = await store.open()
    for number in range(20):
        appending = asyncio.create_task(append_racing(ledger, f"r-{number}"))
        for _ in range(number % 5):
            await asyncio.sleep(0)
        appending.cancel()
        await asyncio.gather(appending, return_exceptions=True)
    # A cancelled append may still be on its way, so the last one races it.
    last = await append_racing(ledger, "last")

    entries = await everything(ledger)

    appended = [entry.request_id for entry in entries]
    for number in range(20):
        kept = await ledger.result(f"r-{number}")
        assert (kept is not None) == (f"r-{number}" in appended)
    assert entries[-1] == last
    assert await ledger.check() == []


async def test_threads_share_one_store(store: Store) -> None:
    """Eight threads, each with an event loop and a ledger of its own, lose nothing and repeat nothing."""

    def work(name: str) -> list[int]:
        return asyncio.run(_write_alone(store.address, name, 10))

    with ThreadPoolExecutor(8) as threads:
        got = await asyncio.gather(
            *(asyncio.get_running_loop().run_in_executor(threads, work, f"t-{number}") for number in range(8))
        )

    await _assert_each_once(await store.open(), [revision for some in got for revision in some], 80)


async def _write_alone(address: str, name: str, commands: int) -> list[int]:
    ledger = await open_ledger(address)
    try:
        return [(await append_racing(ledger, f"{name}-{number}")).revision for number in range(commands)]
    finally:
        await ledger.aclose()


@pytest.mark.slow
@pytest.mark.feature("S83", "S85")
@pytest.mark.timeout(400)
async def test_twenty_writers_of_three_processes_get_each_revision_once(store: Store) -> None:
    """No two are given one revision, none is left out or missing in any process's tail, and no update is lost."""
    writers = {"a": 7, "b": 7, "c": 6}
    processes = [await _start(store.address, name, number) for name, number in writers.items()]
    for process in processes:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"

    said = await asyncio.gather(*(process.communicate(b"go\n") for process in processes))

    told = [json.loads(out) for out, _ in said]
    ledger = await store.open()
    await _assert_each_once(ledger, [revision for each in told for revision in each["got"]], 100)
    assert [each["tail"] for each in told] == [list(range(1, 101))] * 3
    counted = [entry.changes[0].body["count"] for entry in await everything(ledger)]
    assert counted == list(range(1, 101))


async def _start(address: str, name: str, writers: int) -> asyncio.subprocess.Process:
    numbers = [str(writers), "5", "100"]
    command = [sys.executable, "-m", "tests.contract.ledger_process", address, name, *numbers]
    return await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def _assert_each_once(ledger: Ledger, got: Sequence[int], number: int) -> None:
    entries: Sequence[Entry] = await everything(ledger)
    assert sorted(got) == list(range(1, number + 1))
    assert [entry.revision for entry in entries] == list(range(1, number + 1))
    assert len({entry.request_id for entry in entries}) == number
    assert [entry.at for entry in entries] == sorted(entry.at for entry in entries)
    assert await ledger.check() == []


async def test_no_writer_sees_an_error_of_the_store(store: Store) -> None:
    """F074: ten writers, each with batches of its own size, meet only `HeadMoved`, and the log has one order."""
    ledgers = [await store.open() for _ in range(10)]

    errors = await asyncio.gather(*(_write_batches(ledger, size) for size, ledger in enumerate(ledgers, start=1)))

    assert {type(error) for some in errors for error in some} <= {HeadMoved}
    assert (await ledgers[0].head()).revision == 3 * sum(range(1, 11))
    assert await ledgers[0].check() == []


async def _write_batches(ledger: Ledger, size: int) -> list[LedgerError]:
    errors: list[LedgerError] = []
    written = 0
    while written < 3:
        head = await ledger.head()
        try:
            await ledger.append(head, [a_command(at=now(head)) for _ in range(size)])
            written += 1
        except LedgerError as error:
            errors.append(error)
    return errors
