"""What every ledger promises of history that is cut: only where the chain says so, missed aloud, safe at every step."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from remit_graph.errors import ChainBroken, HistoryRemoved, ModelError, RequestReused
from remit_graph.history import Retention, Swept, base_anchor_of
from remit_graph.model.change import Change
from remit_graph.stored import Checkpoint
from tests.contract.ledger_commands import (
    a_command,
    append,
    edge_begin,
    edges_end,
    image_of,
    now,
    rows_of,
    state_of,
)

if TYPE_CHECKING:
    from remit_graph.history import Base
    from remit_graph.model.change import Entry
    from remit_graph.ports import Ledger
    from tests.contract.ledgers import Store

FOR_GOOD = Retention(kept_for=timedelta(0))
"""No answer goes with its row."""


async def anchored(ledger: Ledger, checkpoint: Checkpoint) -> int:
    """Append the anchor of a base and return its revision."""
    return (await append(ledger, Change("anchor", base_anchor_of(checkpoint)))).revision


async def swept(ledger: Ledger, retention: Retention = FOR_GOOD) -> list[Swept]:
    """Sweep until nothing is left."""
    done = [await ledger.sweep(retention)]
    while not done[-1].is_done:
        done.append(await ledger.sweep(retention))
    return done


async def cut_at(ledger: Ledger, entry: Entry, retention: Retention = FOR_GOOD) -> Base:
    """Cut history at the revision of `entry`, and take the rows out."""
    checkpoint = image_of(entry)
    base = await ledger.cut(checkpoint, await anchored(ledger, checkpoint))
    await swept(ledger, retention)
    return base


async def test_a_new_ledger_has_its_whole_history(store: Store) -> None:
    """Nothing was removed, nothing is to be swept, and there is no image to begin with."""
    ledger = await store.open()
    await append(ledger)

    assert (await ledger.base()).is_whole
    assert (await ledger.head()).base == 0
    assert await ledger.base_checkpoint() is None
    assert await ledger.sweep(FOR_GOOD) == Swept(rows=0, answers=0, is_done=True)
    assert await ledger.read(0, 10)


@pytest.mark.feature("S103")
async def test_what_follows_a_cut_is_as_it_was(store: Store) -> None:
    """Revisions after the base read byte for byte as before, for whoever opens the store later too; it is sound."""
    ledger = await store.open()
    entries = [await append(ledger) for _ in range(6)]
    before = await rows_of(ledger)
    checkpoint = image_of(entries[3])
    weight = await ledger.weigh(4)

    base = await ledger.cut(checkpoint, await anchored(ledger, checkpoint))
    rows = sum(each.rows for each in await swept(ledger))

    assert (weight.rows, weight.size > 0) == (rows, True)
    for each in (ledger, await store.open()):
        assert list(await each.read(4, 2)) == entries[4:6]
        assert (await rows_of(each))[: len(before) - rows] == before[rows:]
        assert await each.base() == base
        assert await each.base_checkpoint() == checkpoint
        assert await each.check() == []
    assert (base.revision, base.hash, base.at, base.first) == (4, entries[3].hash, entries[3].at, before[0].hash)
    assert (await ledger.head()).base == 4


@pytest.mark.feature("S103")
async def test_what_was_removed_is_missed_aloud(store: Store) -> None:
    """Whoever asks for an older revision is told where history begins, before the rows are out as after."""
    ledger, reader = await store.open(), await store.open()
    entries = [await append(ledger, Change("receipt.put", {"id": f"r-{number}"})) for number in range(4)]
    checkpoint = image_of(entries[2])
    await ledger.cut(checkpoint, await anchored(ledger, checkpoint))

    for _ in range(2):
        for after in (0, 2):
            with pytest.raises(HistoryRemoved) as caught:
                await reader.read(after, 10)
            assert caught.value.facts["base"] == 3
            with pytest.raises(HistoryRemoved):
                await reader.watch(after, timedelta(seconds=30))
            with pytest.raises(HistoryRemoved):
                [row async for row in reader.rows(after)]
        for gone in ("r-0", "r-2"):
            with pytest.raises(HistoryRemoved):
                await reader.receipt(gone)
        assert await reader.receipt("r-3") == entries[3]
        assert await reader.receipt("r-9") is None
        await swept(ledger)


async def test_history_is_cut_only_where_the_chain_says_so(store: Store) -> None:
    """Without an anchor of this very image, of this very log, nothing is cut."""
    ledger = await store.open()
    entries = [await append(ledger) for _ in range(3)]
    good = image_of(entries[1])
    at = await anchored(ledger, good)
    foreign = Checkpoint(revision=2, hash="f" * 64, digest=good.digest, blob=good.blob)
    unmade = Checkpoint(revision=2, hash=good.hash, digest=good.digest, blob=b"other")

    for checkpoint, anchored_at, error in (
        (good, 3, ChainBroken),
        (good, 1, ChainBroken),
        (good, at + 1, ChainBroken),
        (image_of(entries[1], b"another"), at, ChainBroken),
        (image_of(entries[0]), at, ChainBroken),
        (foreign, at, ChainBroken),
        (unmade, at, ModelError),
    ):
        with pytest.raises(error):
            await ledger.cut(checkpoint, anchored_at)

    assert (await ledger.base()).is_whole
    assert await ledger.check() == []


async def test_a_ledger_is_cut_again_and_never_back(store: Store) -> None:
    """The base moves on; at or before it nothing is cut, and no checkpoint is kept."""
    ledger = await store.open()
    entries = [await append(ledger) for _ in range(5)]
    first = await cut_at(ledger, entries[1])
    earlier = image_of(entries[1], b"again")
    at = await anchored(ledger, earlier)

    with pytest.raises(ModelError):
        await ledger.cut(earlier, at)
    with pytest.raises(ModelError):
        await ledger.save_checkpoint(earlier)
    second = await cut_at(ledger, entries[3])

    assert (first.revision, second.revision, second.first) == (2, 4, first.first)
    assert await ledger.base_checkpoint() == image_of(entries[3])
    assert [entry.revision for entry in await ledger.read(4, 9)] == [5, 6, 7, 8]
    assert await ledger.check() == []


async def test_checkpoints_after_the_base_leave_its_image(store: Store) -> None:
    """However many are saved, the one that history begins with stays; and it counts where there is no other."""
    ledger = await store.open()
    entries = [await append(ledger) for _ in range(6)]
    await cut_at(ledger, entries[0])
    assert await ledger.checkpoint() == image_of(entries[0])

    for entry in entries[1:]:
        await ledger.save_checkpoint(image_of(entry))

    assert await ledger.checkpoint() == image_of(entries[5])
    assert await ledger.base_checkpoint() == image_of(entries[0])
    assert await ledger.check() == []


async def test_a_ledger_may_be_cut_at_all_it_has(store: Store) -> None:
    """With the base right before its anchor, appends, reads and checks go on from there."""
    ledger = await store.open()
    await cut_at(ledger, await append(ledger))

    entry = await append(ledger, request_id="r-1")

    assert [each.revision for each in await ledger.read(1, 9)] == [2, 3]
    assert (await ledger.read(2, 9))[0] == entry
    assert await ledger.check() == []
    assert await ledger.check(full=False) == []


@pytest.mark.feature("S85")
async def test_answers_outlive_their_rows_as_long_as_they_are_kept(store: Store) -> None:
    """Answers of passing actions go when their time is over, not with the row; all others stay, and none acts again."""
    ledger = await store.open()
    head = await ledger.head()
    old = now(head) - 3_600_000_000
    asked = [("stays", "GRANT", old), ("goes", "ACQUIRE", old), ("waits", "ACQUIRE", now(head))]
    commands = [
        a_command(at=at, request_id=name, fingerprint="f", result=f'{{"of":"{name}"}}', action=action)
        for name, action, at in asked
    ]
    entries = await ledger.append(head, commands)
    minutes = Retention(actions=frozenset({"ACQUIRE"}), kept_for=timedelta(minutes=30))

    await cut_at(ledger, entries[-1], minutes)

    assert [await _answer(ledger, name) for name, _, _ in asked] == ['{"of":"stays"}', None, '{"of":"waits"}']
    head = await ledger.head()
    with pytest.raises(RequestReused):
        await ledger.append(head, [a_command(at=now(head), request_id="waits", fingerprint="f")])
    assert await ledger.check() == []


@pytest.mark.feature("S85")
async def test_an_answer_whose_time_is_over_goes_in_a_later_sweep(store: Store) -> None:
    """What was kept beyond its row is not kept for ever; until then it is answered."""
    ledger = await store.open()
    head = await ledger.head()
    entries = await ledger.append(head, [a_command(at=now(head), request_id="r", action="ACQUIRE")])
    await cut_at(ledger, entries[0], Retention(actions=frozenset({"ACQUIRE"}), kept_for=timedelta(hours=1)))
    assert await _answer(ledger, "r") == "null"

    await store.end_waits()
    swept_now = await swept(ledger)

    assert [each.answers for each in swept_now] == [1]
    assert await _answer(ledger, "r") is None
    assert await ledger.check() == []


async def _answer(ledger: Ledger, request_id: str) -> str | None:
    found = await ledger.result(request_id)
    return None if found is None else found.result


async def test_edges_are_unique_also_over_a_cut(store: Store) -> None:
    """A version that began before the base is not made again, and one that is current there can end after it."""
    ledger = await store.open()
    await append(ledger, edge_begin("e-1"), edge_begin("e-2"))
    entry = await append(ledger, edges_end(("e-1", 1)))
    checkpoint = image_of(entry, await state_of(ledger))
    await ledger.cut(checkpoint, await anchored(ledger, checkpoint))

    for clash in (edge_begin("e-1"), edge_begin("e-2"), edge_begin("e-2", 2)):
        with pytest.raises(Exception, match="was made before, or another version"):
            await append(ledger, clash)
    await append(ledger, edges_end(("e-2", 1)), edge_begin("e-2", 2), edge_begin("e-1", 2))

    assert await ledger.check() == []


async def test_a_hole_after_the_base_is_a_fault(store: Store) -> None:
    """What somebody else removed is no removed history: it is found, and not read over."""
    ledger = await store.open()
    entries = [await append(ledger) for _ in range(6)]
    await cut_at(ledger, entries[1])
    rows = await rows_of(ledger)

    await store.overwrite([row for row in rows if row.revision != 4])

    with pytest.raises(ChainBroken):
        await ledger.read(2, 9)
    assert await ledger.check() != []


async def test_an_image_of_the_base_that_is_damaged_is_a_fault(store: Store) -> None:
    """A ledger without its beginning says so, and nothing is loaded from it."""
    ledger = await store.open()
    entries = [await append(ledger) for _ in range(2)]
    await cut_at(ledger, entries[0])

    await store.damage_images()

    with pytest.raises(ChainBroken, match="missing or damaged"):
        await ledger.base_checkpoint()
    assert await ledger.check() != []
