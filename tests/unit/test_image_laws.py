"""The laws of images: the same state gives the same bytes, and the bytes give the same state."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from remit_graph.model.change import GENESIS, Command, entry_of, rows_of
from remit_graph.view.apply import apply, apply_changes
from remit_graph.view.image import pack, unpack
from remit_graph.view.journal import Journal
from remit_graph.view.state import View
from tests.support.coordinated_histories import CoordinatedHistory
from tests.support.view_state import state_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.model.change import Entry

SEEDS = st.integers(0, 2**32)
LENGTHS = st.integers(0, 150)


def history(seed: int, length: int) -> Sequence[Entry]:
    """Return a history as a ledger gives it back."""
    made = CoordinatedHistory(seed)
    entries: list[Entry] = []
    for number, changes in enumerate(islice(made.commands(length), length), start=1):
        command = Command(action="TEST", actor="system", at=made.at, changes=tuple(changes))
        entries.append(entry_of(rows_of(command, revision=number, previous=GENESIS)))
    return entries


def view_of(entries: Sequence[Entry], view: View | None = None) -> View:
    """Return the view after `entries`."""
    view = view or View()
    for each in entries:
        apply(view, each)
    return view


@given(seed=SEEDS, length=LENGTHS)
@settings(deadline=None, max_examples=60)
def test_an_image_holds_the_whole_state(seed: int, length: int) -> None:
    """A view that is made of an image equals the one the image was made of, in every table but old history."""
    view = view_of(history(seed, length))

    restored = unpack(pack(view))

    assert state_of(restored, history=False) == state_of(view, history=False)
    assert pack(restored) == pack(view)


@given(seed=SEEDS, length=LENGTHS, cut=st.floats(0, 1))
@settings(deadline=None, max_examples=60)
def test_an_image_and_what_came_after_it_is_the_whole_history(seed: int, length: int, cut: float) -> None:
    """Whoever starts from an image is, change by change, where those are who read everything."""
    entries = history(seed, length)
    place = int(cut * length)

    late = view_of(entries[place:], unpack(pack(view_of(entries[:place]))))

    whole = view_of(entries)
    assert state_of(late, history=False) == state_of(whole, history=False)
    assert pack(late) == pack(whole)


@given(seed=SEEDS, length=LENGTHS, tried=st.integers(1, 20))
@settings(deadline=None, max_examples=40)
def test_an_image_does_not_depend_on_what_was_tried_and_taken_back(seed: int, length: int, tried: int) -> None:
    """A writer that decides on the view and undoes it leaves another order in the tables, and the same image."""
    entries = history(seed, length)
    view = view_of(entries)
    journal = Journal()
    for number, each in enumerate(history(seed + 1, tried), start=1):
        apply_changes(view, each.changes, journal, revision=view.revision + number, at=view.at)
    journal.undo()

    assert pack(view) == pack(view_of(entries))
