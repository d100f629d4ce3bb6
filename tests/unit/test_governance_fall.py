"""What falls, moves or shrinks when edges end or are narrowed: small drawn graphs, and who is left standing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.laws.delegation import Bounds, check_delegation
from remit_graph.laws.ground import grounds_of
from remit_graph.model.change import Change
from remit_graph.model.edge import parse_edge
from remit_graph.view.fall import Fall, fall
from remit_graph.view.grounds import ViewGrounds
from remit_graph.world.dump import dump_world
from remit_graph.world.load import load_world
from remit_graph.world.of_view import world_of
from remit_graph.world.plan import plan_world
from tests.support.graphs import NOW, OWNER, edge, graph, owner_edges

if TYPE_CHECKING:
    from remit_graph.model.edge import Edge
    from remit_graph.view.state import View

A, B, C, ROLE = "instance:a", "instance:b", "instance:c", "role:r"


def right(edge_id: str, to: str, from_: str = OWNER, **more: Any) -> dict[str, Any]:
    """Return a MAY_DELEGATE of the owner."""
    return edge(edge_id, "MAY_DELEGATE", from_, to, **{"max_depth": 5, **more})


def given(edge_id: str, from_: str, to: str, under: str, **more: Any) -> dict[str, Any]:
    """Return a delegation made under a right or another delegation."""
    return edge(edge_id, "DELEGATES", from_, to, under=f"{under}@1", **{"issuer": from_, "max_depth": 3, **more})


BODY = {"fields": ["body"]}
BOTH = {"fields": ["body", "title"]}

LINE = [
    right("r", A, scope=BOTH),
    given("d1", OWNER, A, "r", scope=BOTH),
    given("d2", A, B, "d1", scope=BODY, max_depth=2),
    given("d3", B, C, "d2", scope=BODY, max_depth=1),
]
"""owner -> a -> b -> c."""


@dataclass(frozen=True)
class Case:
    """Edges, what ends, and what comes of it."""

    edges: list[dict[str, Any]]
    ends: list[str]
    ended: list[str]
    moved: dict[str, str] = field(default_factory=dict)


CASES = {
    "a line falls to its end": Case(LINE, ["d1"], ["d1", "d2", "d3"]),
    "what hangs above or beside stays": Case(
        [*LINE, given("side", A, ROLE, "d1", scope=BODY, max_depth=0)], ["d2"], ["d2", "d3"]
    ),
    "the right takes what was made under it": Case(LINE, ["r"], ["d1", "d2", "d3", "r"]),
    "another right carries the whole": Case([*LINE, right("r2", A)], ["r"], ["r"], {"d1": "r2@1"}),
    "another right that carries a part carries nothing": Case(
        [*LINE, right("r2", A, scope=BODY)], ["r"], ["d1", "d2", "d3", "r"]
    ),
    "a diamond keeps what its other side carries": Case(
        [*LINE, right("q", ROLE), given("e1", OWNER, ROLE, "q"), given("e2", ROLE, B, "e1", scope=BODY, max_depth=2)],
        ["d2"],
        ["d2"],
        {"d3": "e2@1"},
    ),
    "nobody is carried by what came from them": Case(
        [*LINE, right("q", C), given("e1", OWNER, C, "q"), given("e2", C, B, "e1", scope=BODY, max_depth=2)],
        ["d2"],
        ["d2", "d3"],
    ),
    "a right that is over carries nothing": Case(
        [*LINE, right("r2", A, valid_until=NOW)], ["r"], ["d1", "d2", "d3", "r"]
    ),
    "two that could carry each other fall together": Case(
        [
            right("r", A),
            right("q", B),
            given("d1", OWNER, A, "r"),
            given("e1", OWNER, B, "q"),
            given("d2", A, B, "d1", max_depth=2),
            given("e2", B, A, "e1", max_depth=2),
        ],
        ["d1", "e1"],
        ["d1", "d2", "e1", "e2"],
    ),
    "the grant takes what was handed on of it": Case(
        [
            edge("g", "MAY_WRITE", ROLE, "doc:1"),
            right("r", A, ROLE),
            given("d1", ROLE, A, "r", scope={"actions": ["WRITE"], "resources": ["doc:1"]}),
        ],
        ["g"],
        ["d1", "g"],
    ),
    "another grant of the delegator carries the whole": Case(
        [
            edge("g", "MAY_WRITE", ROLE, "doc:1"),
            edge("h", "MAY_WRITE", ROLE, "doc:*"),
            right("r", A, ROLE),
            given("d1", ROLE, A, "r", scope={"actions": ["WRITE"], "resources": ["doc:1"]}),
        ],
        ["g"],
        ["g"],
    ),
    "whoever no longer acts as the holder hands nothing on": Case(
        [
            right("r", ROLE),
            given("d1", OWNER, ROLE, "r"),
            edge("m", "ACTS_AS", A, ROLE),
            given("d2", A, B, "d1", max_depth=2),
        ],
        ["m"],
        ["d2", "m"],
    ),
    "what ended does not touch what merely cannot be used now": Case(
        [
            edge("g", "MAY_WRITE", ROLE, "doc:1"),
            edge("h", "MAY_WRITE", ROLE, "doc:2", valid_from=NOW + 9),
            right("r", A, ROLE),
            given("d1", ROLE, A, "r", scope={"actions": ["WRITE"], "resources": ["doc:2"]}),
        ],
        ["g"],
        ["g"],
    ),
}


def scales() -> dict[str, tuple[str, ...]]:
    """Return the scales of the laws."""
    return {"risk": ("LOW", "MEDIUM", "HIGH", "CRITICAL")}


def outcome(found: Fall) -> tuple[list[str], dict[str, str | None]]:
    """Return who ended, and under what those stay that moved."""
    return sorted(found.ended), {each: found.moved[each].under for each in sorted(found.moved)}


@pytest.mark.feature("S33")
@pytest.mark.parametrize("name", CASES)
def test_what_falls_when_an_edge_ends(name: str) -> None:
    """Exactly what rested on it alone ends with it; what something else carries whole stays, under that."""
    case = CASES[name]
    view = graph([*owner_edges(), *case.edges])

    found = fall(view, [view.edges[each] for each in case.ends], NOW, scales())
    backwards = fall(view, [view.edges[each] for each in reversed(case.ends)], NOW, scales())

    assert outcome(found) == (case.ended, case.moved)
    assert outcome(backwards) == outcome(found)
    assert not found.narrowed


def amended(view: View, edge_id: str, **more: Any) -> Edge:
    """Return the next version of an edge, with members replaced."""
    record = {**view.edges[edge_id].record(), **more}
    return replace(parse_edge(record), version=2)


@pytest.mark.feature("S27", "S28")
def test_a_narrowed_parent_narrows_what_reaches_beyond_it() -> None:
    """Of a line over body and title, narrowed to the body at its top, only what named the title is cut down."""
    wide = [
        *LINE[:2],
        given("d2", A, B, "d1", scope=BOTH, max_depth=2),
        given("d3", B, C, "d2", scope=BODY, max_depth=1),
    ]
    view = graph([*owner_edges(), *wide])

    found = fall(view, [], NOW, scales(), amended=[amended(view, "d1", scope=BODY)])

    assert (found.ended, found.moved) == ({}, {})
    assert {each: (edge.scope.fields, edge.under, edge.version) for each, edge in found.narrowed.items()} == {
        "d2": (("body",), "d1@2", 2)
    }


@pytest.mark.feature("S27", "S29")
def test_what_a_narrowed_parent_leaves_nothing_of_ends() -> None:
    """A line on the body ends below a parent that keeps the title alone, or may no longer be handed on."""
    view = graph([*owner_edges(), *LINE])
    other = fall(view, [], NOW, scales(), amended=[amended(view, "d1", scope={"fields": ["title"]})])
    flat = fall(view, [], NOW, scales(), amended=[amended(view, "d1", max_depth=0)])

    assert outcome(other) == (["d2", "d3"], {})
    assert outcome(flat) == (["d2", "d3"], {})


def test_a_shorter_window_and_a_smaller_depth_are_handed_down() -> None:
    """The whole line ends by the new end of its parent, and each hop allows one less below it."""
    view = graph([*owner_edges(), *LINE])

    found = fall(view, [], NOW, scales(), amended=[amended(view, "d1", valid_until=NOW + 5, max_depth=2)])

    assert {each: (edge.valid_until, edge.max_depth, edge.under) for each, edge in found.narrowed.items()} == {
        "d2": (NOW + 5, 1, "d1@2"),
        "d3": (NOW + 5, 0, "d2@2"),
    }


def test_a_narrowed_grant_narrows_what_was_handed_on_of_it() -> None:
    """A delegation keeps the resource that the grant keeps, and is filled with nothing else of it."""
    edges = [
        edge("g", "MAY_WRITE", ROLE, "doc", scope={"actions": ["WRITE", "PUBLISH"]}),
        right("r", A, ROLE),
        given("d1", ROLE, A, "r", scope={"actions": ["WRITE", "PUBLISH"]}),
    ]
    view = graph([*owner_edges(), *edges])

    found = fall(
        view, [], NOW, scales(), amended=[amended(view, "g", scope={"actions": ["WRITE"], "fields": ["body"]})]
    )

    assert {each: edge.scope.record() for each, edge in found.narrowed.items()} == {"d1": {"actions": ["WRITE"]}}


def test_what_a_wider_right_carries_moves_instead_of_shrinking() -> None:
    """Where another right contains the delegation whole, nothing of it is lost."""
    view = graph([*owner_edges(), *LINE, right("r2", A)])

    found = fall(view, [], NOW, scales(), amended=[amended(view, "r", scope=BODY)])

    assert outcome(found) == ([], {"d1": "r2@1"})
    assert found.narrowed == {}


@pytest.mark.feature("S27")
def test_a_graph_whose_parent_was_amended_is_exported_and_loads_again() -> None:
    """What still fits keeps its version and the name of the version it was made under; planning the export is empty."""
    epochs = Change("epoch.set", {"authority": 1})
    view = graph([*owner_edges(), *LINE], [epochs])
    view.edges["d1"] = amended(view, "d1", max_depth=4)
    before = world_of(view)

    again = load_world(dump_world(before), scales=scales())

    assert again.edges["d2"].under == "d1@1"
    assert again.edges == {each: replace(edge, revision_from=0) for each, edge in before.edges.items()}
    assert plan_world(before, again).changes == ()


@pytest.mark.feature("S27")
def test_a_window_that_would_be_empty_is_not_filled_in() -> None:
    """A delegation that ends before its right begins would never count: it is refused, and the other way round too."""
    late = graph([*owner_edges(), right("r", A, valid_from=NOW + 2)])
    early = graph([*owner_edges(), right("r", A, valid_until=NOW + 2)])
    bounds = Bounds(max_depth=5, scales=scales(), actions=late.actions)

    for view, more in ((late, {"valid_until": NOW + 1}), (early, {"valid_from": NOW + 2})):
        asked = parse_edge(edge("d", "DELEGATES", OWNER, A, issuer=OWNER, **more))
        judged = check_delegation(asked, grounds_of(asked, ViewGrounds(view=view, at=NOW, dormant=True)), bounds)
        assert judged.edge is None
        assert [each.code for each in judged.refusals] == ["attenuation_violated"]
