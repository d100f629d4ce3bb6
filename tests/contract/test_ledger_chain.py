"""What every ledger promises of its hash chain: whatever is done to the rows past the ledger is found and named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from remit_graph.errors import ChainBroken
from remit_graph.model.change import GENESIS, Row, link, verify_rows
from tests.contract.ledger_commands import a_principal, append, edge_begin, edges_end, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_graph.ports import Ledger
    from tests.contract.ledgers import Store

pytestmark = pytest.mark.feature("S102")


async def _history(ledger: Ledger) -> list[Row]:
    """Append five revisions of two or three rows, and return their rows."""
    await append(ledger, edge_begin("g-1"), request_id="r-1")
    await append(ledger, a_principal("human:ada"), a_principal("human:bob"))
    await append(ledger, edges_end(("g-1", 1)), edge_begin("g-1", 2))
    await append(ledger, a_principal("human:cyd"))
    await append(ledger, a_principal("human:dee"), request_id="r-2")
    return await rows_of(ledger)


def _flipped(rows: list[Row]) -> list[Row]:
    """Change one letter of the second revision."""
    return [*rows[:3], replace(rows[3], body=rows[3].body.replace("human:ada", "human:eve")), *rows[4:]]


def _flipped_hash(rows: list[Row]) -> list[Row]:
    return [*rows[:3], replace(rows[3], hash="0" * 64), *rows[4:]]


def _dropped(rows: list[Row]) -> list[Row]:
    """Leave a whole revision out, so that what is left looks whole."""
    return [row for row in rows if row.revision != 2]


def _dropped_and_renumbered(rows: list[Row]) -> list[Row]:
    """Leave a revision out and close the gap."""
    return [row if row.revision < 2 else replace(row, revision=row.revision - 1) for row in _dropped(rows)]


def _dropped_row(rows: list[Row]) -> list[Row]:
    return [row for row in rows if (row.revision, row.seq) != (2, 2)]


def _reordered(rows: list[Row]) -> list[Row]:
    """Let two changes of one revision change places."""
    first, second = rows[3], rows[4]
    return [*rows[:3], replace(second, seq=first.seq), replace(first, seq=second.seq), *rows[5:]]


def _moved(rows: list[Row]) -> list[Row]:
    """Move the last change of one revision into the next, with bodies and hashes as they were."""
    return [*rows[:8], replace(rows[8], revision=4, seq=0), replace(rows[9], revision=4, seq=1), *rows[10:]]


DAMAGES = [
    pytest.param(_flipped, "revision 2, row 1", id="flipped"),
    pytest.param(_flipped_hash, "revision 2, row 1", id="flipped hash"),
    pytest.param(_dropped, "revision 3, row 0", id="dropped revision"),
    pytest.param(_dropped_and_renumbered, "revision 2, row 0", id="dropped and renumbered"),
    pytest.param(_dropped_row, "revision 3, row 0", id="dropped row"),
    pytest.param(_reordered, "revision 2, row 1", id="reordered"),
]


async def test_an_untouched_chain_verifies(store: Store) -> None:
    """Nothing is wrong with what only the ledger wrote, here and offline."""
    ledger = await store.open()

    rows = await _history(ledger)

    assert await ledger.check() == []
    assert verify_rows(rows, previous=GENESIS, after=0) == (await ledger.head()).hash


@pytest.mark.parametrize(("damage", "place"), DAMAGES)
async def test_damage_is_found_and_named(store: Store, damage: Callable[[list[Row]], list[Row]], place: str) -> None:
    """One sentence says where the chain breaks, the same for the store and for its rows offline."""
    ledger = await store.open()
    rows = damage(await _history(ledger))
    await store.overwrite(rows)

    problems = await ledger.check()

    assert [place in problem for problem in problems] == [True]
    with pytest.raises(ChainBroken, match=place):
        verify_rows(rows, previous=GENESIS, after=0)


@pytest.mark.parametrize("left", [0, 1, 4])
async def test_a_truncated_log_is_found(store: Store, left: int) -> None:
    """A log that ends early is unbroken in itself; the head tells that it is not all."""
    ledger = await store.open()
    rows = [row for row in await _history(ledger) if row.revision <= left]
    await store.overwrite(rows)

    problems = await ledger.check()

    assert [f"ends at revision {left}" in problem for problem in problems] == [True]
    verify_rows(rows, previous=GENESIS, after=0)


async def test_a_reader_of_a_truncated_log_is_told(store: Store) -> None:
    """That there is nothing new is said only where nothing is missing."""
    ledger = await store.open()
    await store.overwrite([row for row in await _history(ledger) if row.revision <= 2])

    assert [entry.revision for entry in await ledger.read(0, 1)] == [1]
    for after, limit in ((0, 10), (1, 1), (2, 10), (4, 1)):
        with pytest.raises(ChainBroken):
            await ledger.read(after, limit)


@pytest.mark.parametrize(("damage", "place"), DAMAGES)
@pytest.mark.parametrize("limit", [1, 2, 10])
async def test_a_reader_stops_before_damage(
    store: Store, damage: Callable[[list[Row]], list[Row]], place: str, limit: int
) -> None:
    """What was written, changed or removed past the ledger is never read: it is an error where it would come up."""
    ledger = await store.open()
    intact = await _history(ledger)
    await store.overwrite(damage(intact))

    read: list[int] = []

    with pytest.raises(ChainBroken) as caught:
        await _tail(ledger, read, limit)

    assert read in ([], [1])
    assert caught.value.facts["revision"] in {2, int(place.split()[1].strip(","))}


async def _tail(ledger: Ledger, read: list[int], limit: int) -> None:
    while entries := await ledger.read(len(read), limit):
        read.extend(entry.revision for entry in entries)


async def test_an_unreadable_row_is_a_broken_chain(store: Store) -> None:
    """Bytes that are no document end the reading with an error of the port, be they chained or not."""
    ledger = await store.open()
    rows = await _history(ledger)
    cut = replace(rows[-1], body="not JSON", hash=link(rows[-2].hash, "not JSON"))
    await store.overwrite([*rows[:-1], cut], {"hash": cut.hash})

    with pytest.raises(ChainBroken):
        await ledger.read(4, 10)
    assert len(await ledger.check()) == 1


async def test_a_check_may_go_on_where_the_last_one_ended(store: Store) -> None:
    """Verified in part, only what is new is looked at; verified in full, old damage is found as well."""
    ledger = await store.open()
    rows = await _history(ledger)
    assert await ledger.check(full=False) == []
    await append(ledger)
    added = (await rows_of(ledger))[len(rows) :]

    await store.overwrite([*_flipped(rows), *added])

    assert await ledger.check(full=False) == []
    assert [("revision 2, row 1" in problem) for problem in await ledger.check()] == [True]


async def test_a_check_in_part_finds_new_damage(store: Store) -> None:
    """What came after the last check is verified, and found broken again until it is mended."""
    ledger = await store.open()
    await append(ledger)
    assert await ledger.check(full=False) == []
    await append(ledger, a_principal("human:ada"))
    rows = await rows_of(ledger)

    await store.overwrite([*rows[:3], replace(rows[3], body=rows[3].body.replace("human:ada", "human:eve"))])

    for _ in range(2):
        assert [("revision 2, row 1" in problem) for problem in await ledger.check(full=False)] == [True]
    await store.overwrite(rows)
    assert await ledger.check(full=False) == []


async def test_a_row_moved_to_the_next_revision_is_found(store: Store) -> None:
    """The hash covers what a row says about its place, and the place is compared with it."""
    ledger = await store.open()
    rows = await _history(ledger)
    places = [(row.revision, row.seq) for row in rows]
    assert places[8:10] == [(4, 0), (4, 1)]
    renumbered = [replace(row, revision=row.revision + 1) if row.revision >= 4 else row for row in rows]
    await store.overwrite(renumbered, {"revision": 6})

    assert len(await ledger.check()) == 1
