"""Laws of world files over random worlds: round trip, plans, and what loading promises."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from remit_graph.laws.delegation import Bounds, check_delegation
from remit_graph.laws.ground import grounds_of
from remit_graph.laws.selectors import Selectors
from remit_graph.model.builtin import BUILTIN_TYPES
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.key import contains, overlap
from remit_graph.model.scope import Scope
from remit_graph.view.apply import apply_changes
from remit_graph.view.journal import Journal
from remit_graph.view.state import View
from remit_graph.world import (
    WorldRefused,
    changes_of,
    check_world,
    diff_worlds,
    dump_world,
    load_world,
    plan_world,
)
from remit_graph.world.graph import WorldGraph, cycles
from tests.support.any_world import any_world
from tests.support.worlds import WORLDS

if TYPE_CHECKING:
    from remit_graph.world import World

_EXAMPLE = (WORLDS / "example.yaml").read_text()
_segments = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=3).map(":".join)


@given(any_world())
@settings(max_examples=25)
def test_a_dump_loads_back_to_an_equal_world(world: World) -> None:
    """`load(dump(w)) == w`, and the bytes are stable."""
    text = dump_world(world)
    loaded = load_world(text)

    assert loaded == world
    assert dump_world(loaded) == text


@given(any_world())
@settings(max_examples=15)
def test_a_world_in_which_the_laws_hold_has_no_findings(world: World) -> None:
    """The check and the loader are of one mind."""
    assert check_world(world) == ()


@given(any_world())
@settings(max_examples=15)
def test_a_world_applied_to_itself_changes_nothing(world: World) -> None:
    """Equal worlds have no difference, and a plan for them no change."""
    plan = plan_world(world, world)

    assert (plan.differences, plan.changes, plan.refusals) == ((), (), ())


@given(any_world(), any_world())
@settings(max_examples=25)
def test_applying_a_plan_makes_its_result(before: World, after: World) -> None:
    """The changes of a plan turn a view of the one world into a view of the other, and then nothing is left to do."""
    plan = plan_world(before, after)
    if plan.refusals:
        assert plan.changes == ()
        return

    view = _view(before)
    apply_changes(view, plan.changes, Journal(keep=False), revision=2, at=2)

    edges = {edge_id: replace(edge, revision_from=0) for edge_id, edge in view.edges.items()}
    assert edges == dict(plan.result.edges)
    assert dict(view.principals) == dict(plan.result.principals)
    assert {name: view.types[name] for name in view.types if name not in BUILTIN_TYPES} == dict(
        plan.result.resource_types
    )
    assert view.authority_epoch == plan.result.epochs.authority
    assert plan_world(plan.result, after).differences == ()


@given(any_world(), any_world())
@settings(max_examples=15)
def test_differences_say_all_and_only_what_differs(one: World, other: World) -> None:
    """There is a difference exactly where worlds differ, and the way back mirrors it."""
    forth, back = diff_worlds(one, other), diff_worlds(other, one)

    assert (forth == ()) == (one == other)
    assert [(each.noun, each.id, each.before, each.after) for each in forth] == [
        (each.noun, each.id, each.after, each.before) for each in back
    ]


@given(any_world())
@settings(max_examples=15)
def test_no_edge_changes_a_version_it_had(world: World) -> None:
    """A version, once begun, never says something else: amendments have versions of their own."""
    amended = replace(world, edges={name: _amended(edge) for name, edge in world.edges.items()})

    plan = plan_world(world, amended)

    for name, edge in plan.result.edges.items():
        assert edge.version >= world.edges[name].version
        assert (edge == world.edges[name]) == (edge.version == world.edges[name].version)


@given(st.text(max_size=200))
def test_no_text_makes_loading_fail_otherwise(text: str) -> None:
    """Whatever is in a file, it is a world or a refusal."""
    try:
        loaded = load_world(text)
    except WorldRefused:
        return
    assert load_world(dump_world(loaded)) == loaded


_tokens = st.one_of(
    st.sampled_from(
        ["[]", "{}", "7", "true", '""', "null", "role:a", '"post:1"', "[[]]", "{a: b}", "*", "1.5", "remit:graph"]
    ),
    st.text(st.characters(codec="utf-8"), max_size=5),
)


@given(st.data())
@settings(max_examples=100)
def test_no_small_change_of_a_world_file_makes_loading_fail_otherwise(data: st.DataObject) -> None:
    """A world with a word replaced or a line taken out is a world or a refusal, never a traceback."""
    words = re.split(r"(\s+|[\[\]{},])", _EXAMPLE)
    place = data.draw(st.integers(0, len(words) - 1))
    words[place] = data.draw(_tokens)
    lines = "".join(words).split("\n")
    del lines[data.draw(st.integers(0, len(lines) - 1))]

    with contextlib.suppress(WorldRefused):
        load_world("\n".join(lines))


@given(st.lists(_segments, max_size=6), _segments)
def test_the_index_of_selectors_agrees_with_pairwise_comparison(selectors: list[str], asked: str) -> None:
    """What overlaps and what contains is what comparing each pair finds."""
    index: Selectors[str] = Selectors()
    for each in selectors:
        index.add(each, each)

    assert sorted(index.overlapping(asked)) == sorted(each for each in selectors if overlap(each, asked))
    assert sorted(index.containing(asked)) == sorted(each for each in selectors if contains(each, asked))


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.sampled_from("abcd"), max_size=3), max_size=4))
def test_a_graph_has_a_circle_exactly_where_one_is_found(links: dict[str, list[str]]) -> None:
    """Every circle that is named is one, and a graph without any can be put in order."""
    found = list(cycles(links))

    for circle in found:
        for one, other in zip(circle, [*circle[1:], circle[0]], strict=True):
            assert other in links[one]
    assert bool(found) == any(_reaches(links, start, start) for start in links)


_fields = st.one_of(st.none(), st.lists(st.sampled_from(["body", "title", "tags"]), unique=True).map(tuple))
_depths = st.one_of(st.none(), st.integers(0, 4))
_ends = st.one_of(st.none(), st.integers(0, 9))


@given(_fields, _fields, _depths, _depths, _ends, _ends)
def test_a_made_delegation_is_contained_in_its_parent(
    held: tuple[str, ...] | None,
    asked: tuple[str, ...] | None,
    depth: int | None,
    wanted: int | None,
    until: int | None,
    end: int | None,
) -> None:
    """Whatever is asked for, what is made is no wider, no longer and no deeper than what it rests on (S27)."""
    parent = _delegation("p", "role:a", "instance:b", scope=Scope(fields=held), depth=depth, until=until)
    child = _delegation("c", "instance:b", "instance:c", scope=Scope(fields=asked), depth=wanted, until=end)
    graph = WorldGraph([])
    graph.add(parent)

    made = check_delegation(child, grounds_of(child, graph), Bounds(max_depth=5, scales={}, actions={})).edge

    if made is not None:
        assert parent.scope.contains(made.scope, {})
        assert made.max_depth is not None
        assert made.max_depth < (5 if depth is None else depth)
        assert until is None or (made.valid_until is not None and made.valid_until <= until)
        assert made.under == "p@1"


def _delegation(edge_id: str, from_: str, to: str, *, scope: Scope, depth: int | None, until: int | None) -> Edge:
    return Edge(
        edge_id=edge_id,
        version=1,
        edge=EdgeType.DELEGATES,
        from_=from_,
        to=to,
        scope=scope,
        max_depth=depth,
        valid_until=until,
    )


def _reaches(links: dict[str, list[str]], start: str, goal: str) -> bool:
    found: set[str] = set()
    open_ends = list(links.get(start, []))
    while open_ends:
        each = open_ends.pop()
        if each not in found:
            found.add(each)
            open_ends.extend(links.get(each, []))
    return goal in found


def _amended(edge: Edge) -> Edge:
    return replace(edge, valid_until=8001 * 365 * 24 * 3600 * 1_000_000)


def _view(world: World) -> View:
    view = View()
    apply_changes(view, changes_of(world), Journal(keep=False), revision=1, at=1)
    return view
