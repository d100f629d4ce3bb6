"""What falls, found in slices: whoever changes the view during a pause breaks nothing of the search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.change import GENESIS, Change, Entry
from remit_graph.view.apply import apply
from remit_graph.view.fall import SLICE, Fall, fall, falling
from remit_graph.view.journal import Journal
from tests.support.graphs import NOW, OWNER, edge, graph, owner_edges

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_graph.view.state import View

A, B, C, ROLE = "instance:a", "instance:b", "instance:c", "role:r"
WIDE = 3 * SLICE
"""Delegations side by side: more than are looked at between two pauses."""


def right(edge_id: str, to: str, from_: str = OWNER, **more: Any) -> dict[str, Any]:
    """Return a MAY_DELEGATE."""
    return edge(edge_id, "MAY_DELEGATE", from_, to, **{"max_depth": 5, **more})


def given(edge_id: str, from_: str, to: str, under: str, max_depth: int = 3) -> dict[str, Any]:
    """Return a delegation made under a right or another delegation."""
    return edge(edge_id, "DELEGATES", from_, to, under=f"{under}@1", issuer=from_, max_depth=max_depth)


def fan(from_: str, under: str) -> list[dict[str, Any]]:
    """Return many delegations under one."""
    return [given(f"w{number:04}", from_, B, under, 2) for number in range(WIDE)]


@dataclass(frozen=True)
class Case:
    """Edges, and what ends."""

    edges: list[dict[str, Any]]
    ends: str


LINE = [right("r", A), given("d1", OWNER, A, "r")]
BELOW = [given("e1", B, C, "w0000", 1), given("e2", B, C, f"w{WIDE - 1:04}", 1)]

CASES = {
    "all that was made under it": Case([*LINE, *fan(A, "d1")], "d1"),
    "all below what falls with it": Case([*LINE, *fan(A, "d1"), *BELOW], "r"),
    "all below what stays under another right": Case([*LINE, right("r2", A), *fan(A, "d1"), *BELOW], "r"),
    "all that was handed on of a grant": Case(
        [edge("g", "MAY_WRITE", ROLE, "doc:1"), right("r", B, ROLE), *fan(ROLE, "r"), *BELOW], "g"
    ),
    "all that a member handed on or was given": Case(
        [
            *LINE,
            right("q", ROLE),
            given("d2", OWNER, ROLE, "q"),
            edge("m", "ACTS_AS", A, ROLE),
            *fan(A, "d2"),
            *(given(f"i{number:04}", OWNER, A, "r") for number in range(WIDE)),
        ],
        "m",
    ),
}


def found_in_slices(view: View, ends: str, between: Callable[[int], None]) -> tuple[Fall, int]:
    """Return what falls, and at how many pauses `between` was called."""
    steps, pauses = falling(view, [view.edges[ends]], NOW, {}), 0
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: Fall = stop.value
            return result, pauses
        between(pauses)
        pauses += 1


def moving(view: View, pause: int) -> Entry:
    """Return the next revision, which ends some of the fan and begins others beside it."""
    some = [[f"w{number:04}", 1] for number in range(pause, WIDE, 7)]
    new = [given(f"n{pause}-{number}", A, B, under, 2) for number, under in enumerate(("d1", "d2", "r"))]
    changes = [Change("edges.end", {"edges": some, "cause": "revoked"}), *(Change("edge.begin", each) for each in new)]
    return Entry(
        revision=view.revision + 1, at=NOW - 5, action="T", actor="system", changes=tuple(changes), hash=GENESIS
    )


@pytest.mark.parametrize("name", CASES)
def test_a_command_that_is_tried_during_a_pause_changes_nothing_of_a_fall(name: str) -> None:
    """It is taken back before the search goes on, and what is found is what falls at once."""
    case = CASES[name]
    view = graph([*owner_edges(), *case.edges])
    expected = fall(view, [view.edges[case.ends]], NOW, {})

    def tried(pause: int) -> None:
        journal = Journal()
        apply(view, moving(view, pause), journal)
        journal.undo()

    found, pauses = found_in_slices(view, case.ends, tried)

    assert (found, pauses > 1) == (expected, True)


@pytest.mark.parametrize("name", CASES)
def test_a_graph_that_moves_during_every_pause_ends_no_search_with_an_error(name: str) -> None:
    """What is found then counts for nothing, and is for the caller to throw away."""
    case = CASES[name]
    view = graph([*owner_edges(), *case.edges])

    found, pauses = found_in_slices(view, case.ends, lambda pause: apply(view, moving(view, pause)))

    assert (case.ends in found.ended, pauses > 1) == (True, True)
