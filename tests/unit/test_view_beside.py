"""A large revision made ready beside the view: the same state as change by change, and unseen until it is entered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_graph.errors import ModelError
from remit_graph.model.change import GENESIS, Change, Entry
from remit_graph.view.apply import apply, applying
from remit_graph.view.beside import LARGE, beside, is_large
from remit_graph.view.journal import Journal
from remit_graph.view.sorting import sorted_in_steps
from tests.support.graphs import KEYS, NOW, OWNER, PEOPLE, edge, edges, graph
from tests.support.view_state import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from remit_graph.view.beside import Beside
    from remit_graph.view.state import View

T = TypeVar("T")


def entry_of(changes: list[Change]) -> Entry:
    """Return changes as the revision after that of `graph`."""
    return Entry(revision=3, at=NOW, action="T", actor="system", changes=tuple(changes), hash=GENESIS, request_id="r")


def finished(steps: Generator[None, None, T], between: Callable[[], None] = lambda: None) -> tuple[T, int]:
    """Return what steps come to and how often they paused; `between` is called at each pause."""
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result, pauses
        pauses += 1
        between()


def made_ready(view: View, entry: Entry, between: Callable[[], None] = lambda: None) -> Beside:
    """Make an entry ready beside a view."""
    return finished(beside(view, entry.changes, revision=entry.revision, at=entry.at), between)[0]


@st.composite
def _changes(draw: st.DrawFn, current: list[dict[str, Any]]) -> list[Change]:
    """Draw what one revision may do to the edges of a graph, and to what stands around them."""
    found: list[Change] = []
    parts = [edge(f"p{each}", "PART_OF", "doc:1", to) for each, to in enumerate(KEYS[1:])]
    known = [*current, *parts]
    for number in range(draw(st.integers(0, 12))):
        one = draw(st.sampled_from(known))
        version = draw(st.sampled_from([one["version"], one["version"], 7]))
        cause = draw(st.sampled_from(["revoked", "amended"]))
        pairs = [[one["edge_id"], version], *([[known[0]["edge_id"], 1]] if draw(st.booleans()) else [])]
        other = {**draw(st.sampled_from(known)), "edge_id": one["edge_id"], "version": 2 + number}
        found += draw(
            st.sampled_from(
                [
                    [Change("edges.end", {"edges": pairs, "cause": cause})],
                    [Change("edges.end", {"edges": pairs, "cause": cause}), Change("edge.begin", other)],
                    [Change("edge.begin", other)],
                    [Change("edge.begin", {**one, "edge_id": f"n{number}"})],
                    [Change("principal.put", {"id": draw(st.sampled_from(PEOPLE)), "trust": 1})],
                    [Change("principal.end", {"id": draw(st.sampled_from(PEOPLE))})],
                    [Change("resource.put", {"key": draw(st.sampled_from(KEYS)), "attributes": {"environment": "x"}})],
                    [Change("epoch.set", {"authority": 2})],
                ]
            )
        )
    return found


@st.composite
def _cases(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[Change]]:
    current = draw(edges())
    return current, draw(_changes([each for each in current if not each.get("revoked")]))


@given(case=_cases())
@settings(max_examples=60, deadline=None)
def test_it_comes_to_the_same_as_change_by_change(case: tuple[list[dict[str, Any]], list[Change]]) -> None:
    """Whatever a revision does: the same tables, nothing seen before it is entered, and a way back that is whole."""
    current, changes = case
    entry = entry_of(changes)
    plain, view = graph(current), graph(current)
    before = state_of(graph(current))
    apply(plain, entry)

    def unseen() -> None:
        assert state_of(view) == before

    made = made_ready(view, entry, unseen)
    unseen()
    journal = Journal()
    apply(view, entry, journal, made=made)

    assert state_of(view) == state_of(plain)
    journal.flip()
    unseen()
    journal.flip()
    assert state_of(view) == state_of(plain)
    journal.undo()
    unseen()


@given(case=_cases())
@settings(max_examples=20, deadline=None)
def test_a_view_that_nobody_reads_is_brought_along_in_parts(case: tuple[list[dict[str, Any]], list[Change]]) -> None:
    """Loading a revision with pauses comes to the same, and arrives at it with its last part."""
    current, changes = case
    entry = entry_of([*changes, *changes])
    plain, view = graph(current), graph(current)
    apply(plain, entry)

    assert {view.revision for _ in applying(view, entry)} <= {2}
    assert state_of(view) == state_of(plain)


def test_what_came_before_it_can_be_taken_back_through_it() -> None:
    """Journals of earlier entries hold the tables that were replaced: one after the other, all is as it was."""
    view = graph([edge("g", "MAY_WRITE", PEOPLE[0], "doc:*"), edge("d", "DELEGATES", PEOPLE[0], PEOPLE[1])])
    first = state_of(view)
    journals = [Journal(), Journal(), Journal()]
    one = Change("edge.begin", edge("e", "DELEGATES", PEOPLE[1], PEOPLE[2]))
    apply(view, entry_of([one]), journals[0])
    second = replace(entry_of([Change("edges.end", {"edges": [["d", 1]], "cause": "revoked"})]), revision=4)
    apply(view, second, journals[1], made=made_ready(view, second))
    apply(view, replace(entry_of([Change("edge.begin", edge("f", "MAY_READ", OWNER, "doc"))]), revision=5), journals[2])
    last = state_of(view)

    for journal in reversed(journals):
        journal.flip()
    assert state_of(view) == first
    for journal in journals:
        journal.flip()
    assert state_of(view) == last


def test_what_is_malformed_leaves_the_view_alone() -> None:
    """An edge of no kind is refused while it is made ready."""
    view = graph([])
    before = state_of(view)

    with pytest.raises(ModelError, match="is no kind of edge"):
        made_ready(view, entry_of([Change("edge.begin", {**edge("x", "DELEGATES", OWNER, OWNER), "edge": "LIKES"})]))

    assert state_of(view) == before


def test_only_many_edges_are_made_ready() -> None:
    """The bound counts edges, not rows; what names no edges is none."""
    ids = [[f"e{number}", 1] for number in range(LARGE + 1)]
    many = Change("edges.end", {"edges": ids, "cause": "revoked"})
    few = Change("edges.end", {"edges": ids[:-1], "cause": "revoked"})

    assert (is_large([many]), is_large([few]), is_large([few, Change("edge.begin", {})])) == (True, False, True)
    assert not is_large([Change("edges.end", {"edges": None}), Change("principal.put", {"id": "role:r"})])


@pytest.mark.parametrize("count", [0, 1, 4_096, 4_097, 10_000])
def test_sorting_in_steps_sorts(count: int) -> None:
    """The same list as at once, with pauses where it is long."""
    ids = [f"e{number * 7919 % 10_007}" for number in range(count)]
    found, pauses = finished(sorted_in_steps(ids))

    assert found == sorted(ids)
    assert (pauses > 0) == (count > 4_096)
