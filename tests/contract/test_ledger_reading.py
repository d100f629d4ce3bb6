"""What every ledger promises to readers: whole revisions in order, after a restart as before, and soon."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from remit_graph.errors import SchemaTooNew
from remit_graph.model.change import SCHEMA, Change
from remit_graph.model.change import rows_of as spell
from tests.contract.ledger_commands import (
    a_command,
    a_principal,
    append,
    edge_begin,
    edges_end,
    everything,
    now,
    rows_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.model.change import Entry
    from remit_graph.ports import Ledger
    from tests.contract.ledgers import Store

LONG = timedelta(seconds=30)
"""Longer than any of these takes: what waits for it has failed."""


async def test_read_gives_the_revisions_after_one(store: Store) -> None:
    """A page begins right after the revision asked for and is as long as asked, or as there is."""
    ledger = await store.open()
    for _ in range(5):
        await append(ledger)

    pages = [await ledger.read(after, limit) for after, limit in ((0, 2), (2, 2), (4, 2), (5, 2), (9, 2), (0, 0))]

    assert [[entry.revision for entry in page] for page in pages] == [[1, 2], [3, 4], [5], [], [], []]


async def test_a_read_never_ends_inside_a_revision(store: Store) -> None:
    """While batches of many rows are appended, every read sees whole revisions and every page follows the last."""
    writer, reader = await store.open(), await store.open()
    writing = asyncio.create_task(_append_batches(writer, 12))

    seen: list[int] = []
    while len(seen) < 36:
        for entry in await reader.read(len(seen), 2):
            assert [change.body["id"] for change in entry.changes] == [f"human:{entry.reason}-{n}" for n in range(40)]
            seen.append(entry.revision)

    await writing
    assert seen == list(range(1, 37))


async def _append_batches(ledger: Ledger, batches: int) -> None:
    for number in range(batches):
        head = await ledger.head()
        names = [f"{number}-{place}" for place in range(3)]
        changes = {name: [a_principal(f"human:{name}-{n}") for n in range(40)] for name in names}
        await ledger.append(head, [a_command(*changes[name], at=now(head), reason=name) for name in names])


async def test_another_ledger_reads_what_was_acknowledged(store: Store) -> None:
    """Two ledgers on one store are one: what the first returned from `append`, the second reads at once."""
    writer, reader = await store.open(), await store.open()

    for revision in range(1, 6):
        entry = await append(writer)
        assert await reader.read(revision - 1, 10) == [entry]


@pytest.mark.feature("S98")
async def test_a_receipt_is_found_by_its_id(store: Store) -> None:
    """The newest revision that wrote it, however many came after; nothing for an id that no receipt has."""
    ledger = await store.open()
    written = [
        await append(ledger, Change("receipt.put", {"id": name, "receipt_id": name, "status": status}))
        for name, status in (("coord_1", "EXPIRED"), ("coord_2", "COMPLETED"), ("coord_1", "OUTCOME_UNKNOWN"))
    ]
    await append(ledger, Change("operation.put", {"id": "coord_3"}))
    again = await store.open()

    assert [await again.receipt(name) for name in ("coord_1", "coord_2", "coord_3", "'")] == [
        written[2],
        written[1],
        None,
        None,
    ]


async def test_what_was_acknowledged_is_there_after_a_restart(store: Store) -> None:
    """A ledger that is closed and opened again stands where it stood, with its rows, answers and edges."""
    ledger = await store.open()
    entry = await append(ledger, edge_begin("g-1"), request_id="r-1")
    before = await ledger.head()
    await ledger.aclose()

    again = await store.open()

    head = await again.head()
    assert (head.store_id, head.incarnation, head.revision) == (before.store_id, before.incarnation, 1)
    assert (head.hash, head.at) == (entry.hash, entry.at)
    assert await again.read(0, 10) == [entry]
    assert (await again.result("r-1")) is not None
    assert (await append(again, edges_end(("g-1", 1)))).revision == 2
    assert await again.check() == []


async def test_watch_returns_at_once_what_is_there(store: Store) -> None:
    """Nobody waits for what exists."""
    ledger = await store.open()
    entry = await append(ledger)

    assert await ledger.watch(0, LONG) == [entry]


async def test_watch_returns_nothing_when_the_time_is_over(store: Store) -> None:
    """Without a new revision the wait ends with nothing, and no error."""
    ledger = await store.open()
    await append(ledger)

    assert await ledger.watch(1, timedelta(milliseconds=30)) == []
    assert await ledger.watch(1, timedelta()) == []


@pytest.mark.parametrize("same", [True, False], ids=["same ledger", "another ledger"])
async def test_watch_wakes_for_an_append(store: Store, *, same: bool) -> None:
    """Everyone who waits gets the next revision, wherever on the store it is appended."""
    watching = await store.open()
    writing = watching if same else await store.open()
    waiting = [asyncio.create_task(watching.watch(0, LONG)) for _ in range(3)]
    await asyncio.sleep(0)

    entry = await append(writing)

    assert await asyncio.gather(*waiting) == [[entry]] * 3


async def test_watch_does_not_read_what_the_reader_knows_by_then(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process appends itself it has already: the wait goes on, and ends with the first that is news."""
    ledger, known, read_once = await store.open(), [0], asyncio.Event()
    read = ledger.read

    async def noting(after: int, limit: int) -> Sequence[Entry]:
        found = await read(after, limit)
        read_once.set()
        return found

    monkeypatch.setattr(ledger, "read", noting)
    waiting = asyncio.create_task(ledger.watch(0, LONG, known=lambda: known[0]))
    await read_once.wait()

    known[0] = (await append(ledger)).revision
    news = await append(ledger)

    assert await waiting == [news]


async def test_watch_follows_every_append(store: Store) -> None:
    """A tail that asks again from its last revision misses none and sees none twice."""
    watching, writing = await store.open(), await store.open()
    appending = asyncio.create_task(_append_batches(writing, 10))

    seen: list[int] = []
    while len(seen) < 30:
        seen.extend(entry.revision for entry in await watching.watch(len(seen), LONG))

    await appending
    assert seen == list(range(1, 31))


async def test_a_cancelled_watch_leaves_the_ledger_usable(store: Store) -> None:
    """Whoever stops waiting stops nobody else."""
    ledger = await store.open()
    gone, waiting = (asyncio.create_task(ledger.watch(0, LONG)) for _ in range(2))
    await asyncio.sleep(0)

    gone.cancel()

    entry = await append(ledger)
    assert await waiting == [entry]
    with pytest.raises(asyncio.CancelledError):
        await gone


async def test_rows_stream_after_a_revision(store: Store) -> None:
    """The raw rows after a revision come in order, over as many pages as it takes."""
    ledger = await store.open()
    await append(ledger, *(a_principal(f"human:{number}") for number in range(1_500)))
    await append(ledger, a_principal("human:ada"))

    places = [(row.revision, row.seq) for row in await rows_of(ledger)]

    assert places == [*((1, seq) for seq in range(1_501)), (2, 0), (2, 1)]
    assert [(row.revision, row.seq) async for row in ledger.rows(1)] == [(2, 0), (2, 1)]
    assert [row async for row in ledger.rows(2)] == []


async def test_a_row_of_a_later_schema_stops_the_reader_before_it(store: Store) -> None:
    """Revisions up to the first of a later schema are read, and that one is an error: it is never skipped."""
    ledger = await store.open()
    for _ in range(2):
        await append(ledger)
    head = await ledger.head()
    later = spell(a_command(at=now(head)), revision=3, previous=head.hash, schema=SCHEMA + 1)
    await store.overwrite([*await rows_of(ledger), *later], {"revision": 3, "hash": later[-1].hash})

    assert [entry.revision for entry in await ledger.read(0, 10)] == [1, 2]
    for read in (ledger.read(2, 10), ledger.watch(2, LONG)):
        with pytest.raises(SchemaTooNew) as caught:
            await read
        assert (caught.value.facts["schema"], caught.value.facts["revision"]) == (SCHEMA + 1, 3)


@pytest.mark.slow
async def test_no_order_of_insertion_is_lost_or_preferred(store: Store) -> None:
    """F034: five edges in all 120 orders are kept in the order given, and the same edges are current after each."""
    ledger = await store.open()
    names = ("g-1", "g-2", "g-3", "g-4", "g-5")
    orders = list(permutations(names))
    for version, order in enumerate(orders, start=1):
        head = await ledger.head()
        begin = a_command(*(edge_begin(name, version) for name in order), at=now(head))
        await ledger.append(head, [begin, a_command(edges_end(*((name, version) for name in names)), at=now(head))])

    entries = await everything(ledger)

    assert [tuple(change.body["edge_id"] for change in entry.changes) for entry in entries[::2]] == orders
    assert await ledger.check() == []


async def test_a_new_incarnation_is_another_store(store: Store) -> None:
    """F012: after a restore the identity differs from every earlier one, and the revisions are what they were."""
    ledger = await store.open()
    entry = await append(ledger)
    first = await ledger.head()

    second = await ledger.begin_incarnation()
    third = await ledger.begin_incarnation(after=7)

    assert [head.incarnation for head in (first, second, third)] == [1, 2, 8]
    assert len({head.store_id for head in (first, second, third)}) == 3
    assert [(head.revision, head.hash) for head in (second, third)] == [(1, entry.hash)] * 2
    assert (await (await store.open()).head()).store_id == third.store_id
    assert (await append(ledger)).revision == 2
