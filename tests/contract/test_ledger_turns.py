"""What every ledger promises to writers that lose: the turn to append, once each, in the order of asking."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import pytest

from remit_graph.errors import HeadMoved, TurnTaken
from remit_graph.model.instant import SECOND
from remit_graph.sharing import TURN
from tests.contract.ledger_commands import a_command, append, everything, now

if TYPE_CHECKING:
    from remit_graph.head import Head
    from remit_graph.model.change import Entry
    from remit_graph.model.instant import Instant
    from remit_graph.ports import Ledger
    from tests.contract.ledgers import Store


LONG: Final = timedelta(minutes=10)
"""Of turns that no test waits for: how fast the machine is decides nothing."""


async def _line(store: Store, *names: str, turn: timedelta = LONG) -> list[Ledger]:
    """Open a ledger for each name, and let them ask for the turn in that order."""
    ledgers = [await store.open(turn=turn) for _ in names]
    for ledger in ledgers:
        await ledger.take_turn()
    return ledgers


async def test_nobody_has_the_turn_at_first(store: Store) -> None:
    """A ledger that nobody fights over has no turn, and appending leaves none."""
    ledger = await store.open()
    await append(ledger)

    turn = await ledger.see_turn()

    assert (turn.mine, turn.until, turn.waiting, turn.is_free) == (False, 0, 0, True)


async def test_while_a_turn_runs_nobody_else_appends(store: Store) -> None:
    """The others are refused before anything is said of their batch, and told until when; the holder appends."""
    mine, other = await store.open(turn=LONG), await store.open()
    turn = await mine.take_turn()
    head = await other.head()

    caught = [await _refused(other, head, at) for at in (now(head), now(head) + 3_600 * SECOND)]
    entry = await append(mine)

    assert (turn.mine, turn.until - turn.now) == (True, LONG.total_seconds() * SECOND)
    assert [each.facts["until"] for each in caught] == [turn.until, turn.until]
    assert entry.revision == 1


async def _refused(ledger: Ledger, head: Head, at: Instant) -> TurnTaken:
    with pytest.raises(TurnTaken) as caught:
        await ledger.append(head, [a_command(at=at)])
    return caught.value


async def test_a_turn_is_one_append(store: Store) -> None:
    """Whoever used the turn has it no longer, and where nobody waits, nobody has it."""
    mine, other = await store.open(turn=LONG), await store.open()
    await mine.take_turn()
    await append(mine)

    after = await mine.see_turn()

    assert (after.mine, after.is_free) == (False, True)
    assert (await append(other)).revision == 2


async def test_turns_go_round_in_the_order_of_asking(store: Store) -> None:
    """Three who ask again after each append get one append each, round after round; never two running."""
    ledgers = await _line(store, "a", "b", "c")
    order: list[int] = []
    for _ in range(9):
        holder = [(await each.see_turn()).mine for each in ledgers].index(True)
        await append(ledgers[holder])
        order.append(holder)
        again = await ledgers[holder].take_turn()
        assert (again.mine, again.waiting) == (False, 1)

    assert order == [0, 1, 2] * 3


async def test_an_append_of_others_is_refused_while_the_next_one_has_the_turn(store: Store) -> None:
    """The turn is handed on by the append itself: between two in line there is no gap for a third."""
    first, second = await _line(store, "a", "b")
    third = await store.open()
    await append(first)

    with pytest.raises(TurnTaken):
        await append(third)
    with pytest.raises(TurnTaken):
        await append(first)

    assert (await append(second)).revision == 2


async def test_asking_again_is_a_sign_of_life_and_no_second_place(store: Store) -> None:
    """A holder that is slow keeps its turn by asking again; those behind it keep their places by it."""
    first, second, third = await _line(store, "a", "b", "c")
    before = await first.see_turn()

    for each in (second, third, second):
        await each.take_turn()
    after = await first.take_turn()

    assert (after.mine, after.waiting) == (True, 2)
    assert after.until - after.now == LONG.total_seconds() * SECOND
    assert after.until > before.until
    await append(first)
    assert (await second.see_turn()).mine


async def test_a_turn_of_a_dead_writer_lapses(store: Store) -> None:
    """A writer that dies with the turn holds the others up for 100 ms of the store's clock, not a moment longer."""
    dead, other = await store.open(), await store.open()
    turn = await dead.take_turn()
    await dead.aclose()

    entry = await _append_at_last(other)

    assert turn.until - turn.now == TURN.total_seconds() * SECOND
    assert (await other.head()).now >= turn.until
    assert entry.revision == 1
    assert (await other.see_turn()).is_free


async def _append_at_last(ledger: Ledger) -> Entry:
    while True:
        try:
            return await append(ledger)
        except TurnTaken:
            await asyncio.sleep(0.005)


async def _lapsed(ledger: Ledger) -> None:
    turn = await ledger.see_turn()
    if turn.until:
        await asyncio.sleep((turn.until - turn.now) / SECOND)
    if not (await ledger.see_turn()).is_free:
        await _lapsed(ledger)


async def test_whoever_let_its_turn_lapse_is_behind_those_that_wait(store: Store) -> None:
    """A slow writer that asks again does not get a second turn before the others had theirs."""
    slow, other = await _line(store, "a", "b", turn=timedelta(seconds=2))
    await _lapsed(slow)

    again = await slow.take_turn()

    assert not again.mine
    assert again.waiting == 0
    assert again.until > again.now
    await other.pass_turn()


async def test_a_dead_writer_in_the_line_costs_one_turn(store: Store) -> None:
    """It gets its turn like all others, once; after that the line goes on without it."""
    first, dead, last = await _line(store, "a", "b", "c", turn=TURN)
    await dead.aclose()
    entries = [await _append_at_last(first), await _append_at_last(last)]

    assert [entry.revision for entry in entries] == [1, 2]
    assert (await last.see_turn()).is_free


async def test_a_turn_that_is_not_needed_is_passed_on(store: Store) -> None:
    """Who finds nothing to append gives the turn, or the place in line, to the next at once."""
    first, second, third = await _line(store, "a", "b", "c")

    await second.pass_turn()
    still = await first.see_turn()
    await first.pass_turn()

    assert (still.mine, still.waiting) == (True, 1)
    assert (await third.see_turn()).mine
    await third.pass_turn()
    assert (await third.see_turn()).is_free


async def test_a_lost_race_is_told_although_a_turn_runs(store: Store) -> None:
    """A holder whose view is old learns that the head moved, keeps its turn, and appends after catching up."""
    mine, other = await store.open(turn=LONG), await store.open()
    old = await mine.head()
    await append(other)
    await mine.take_turn()

    with pytest.raises(HeadMoved) as caught:
        await mine.append(old, [a_command(at=now(old))])

    assert not isinstance(caught.value, TurnTaken)
    assert (await mine.see_turn()).mine
    assert [each.revision for each in (await append(mine), *await everything(other))] == [2, 1, 2]
