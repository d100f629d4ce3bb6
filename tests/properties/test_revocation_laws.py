"""The laws of handing on and taking back, on random lawful graphs of up to 2,000 edges."""

# ruff: noqa: S311 - graphs are random, not secret

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_graph.model.edge import Edge, EdgeType
from remit_graph.view.fall import fall
from remit_graph.view.grounds import ViewGrounds
from remit_graph.world.dump import dump_world
from remit_graph.world.load import load_world
from remit_graph.world.of_view import world_of
from tests.support.graphs import ACTIONS, KEYS, NOW, Question, ask
from tests.support.lawful_graphs import SCALES, after, carried, delegations, lawful

if TYPE_CHECKING:
    from remit_graph.view.state import View

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.sampled_from([30, 60, 120, 300])
LAWS = settings(max_examples=25, deadline=None)
LARGE = 2_000


def chosen(random: Random, view: View) -> list[Edge]:
    """Return one to three current edges of any kind that carries something."""
    kinds = {EdgeType.DELEGATES, EdgeType.MAY_DELEGATE, EdgeType.MAY_WRITE, EdgeType.ACTS_AS, EdgeType.OWNS}
    edges = sorted((each for each in view.edges.values() if each.edge in kinds), key=lambda each: each.edge_id)
    return random.sample(edges, k=min(len(edges), random.randint(1, 3)))


def questions(random: Random, view: View, count: int) -> list[Question]:
    """Return questions about anybody in the graph."""
    people = sorted(view.principals)
    return [
        Question(random.choice(people), random.choice(ACTIONS), random.choice(KEYS), {"risk": "LOW"})
        for _ in range(count)
    ]


@pytest.mark.feature("S27", "S28", "S29")
@given(seed=SEEDS, size=SIZES)
@LAWS
def test_delegations_made_are_contained_in_their_parent(seed: int, size: int) -> None:
    """Whatever the law lets be made lies in the right it names: in scope, window and depth."""
    view = lawful(Random(seed), edges=size)

    assert [each.position for each in delegations(view) if not carried(view, each)] == []


@pytest.mark.feature("S33")
@given(seed=SEEDS, size=SIZES)
@LAWS
def test_what_survives_has_a_ground(seed: int, size: int) -> None:
    """After a revocation every delegation that is left lies in the right it names, which is left too."""
    random = Random(seed)
    view = lawful(random, edges=size)
    done = after(view, fall(view, chosen(random, view), NOW, SCALES))

    assert [each.position for each in delegations(done) if not carried(done, each)] == []


@pytest.mark.feature("S33")
@given(seed=SEEDS, size=SIZES)
@LAWS
def test_what_moved_has_a_live_ground_and_keeps_its_scope(seed: int, size: int) -> None:
    """A re-anchored delegation differs in nothing but the right it names, and that one is live."""
    random = Random(seed)
    view = lawful(random, edges=size)
    found = fall(view, chosen(random, view), NOW, SCALES)
    done = after(view, found)
    graph = ViewGrounds(view=done, at=NOW)

    for edge_id, moved in found.moved.items():
        before = view.edges[edge_id]
        assert replace(moved, under=before.under, version=before.version) == before
        assert moved.under != before.under
        parent = graph.parent(moved)
        assert parent is not None
        assert graph.live(parent)


@pytest.mark.feature("S33")
@given(seed=SEEDS, size=SIZES)
@LAWS
def test_a_fall_is_independent_of_order(seed: int, size: int) -> None:
    """Naming the same edges in another order, in a graph whose edges came in another order, ends and moves the same."""
    random = Random(seed)
    view = lawful(random, edges=size)
    named = chosen(random, view)
    found = fall(view, named, NOW, SCALES)
    items = list(view.edges.items())
    random.shuffle(items)
    view.edges = dict(items)
    other = after(view, replace(found, ended={}, moved={}, narrowed={}))

    again = fall(other, [other.edges[each.edge_id] for each in reversed(named)], NOW, SCALES)

    assert sorted(again.ended) == sorted(found.ended)
    assert {each: edge.under for each, edge in again.moved.items()} == {
        each: edge.under for each, edge in found.moved.items()
    }


@pytest.mark.feature("S33")
@given(seed=SEEDS, size=st.sampled_from([30, 60, 120]))
@LAWS
def test_revoking_never_widens_and_uses_nothing_that_ended(seed: int, size: int) -> None:
    """Whoever may after a revocation might before, and no proof holds an edge that ended."""
    random = Random(seed)
    view = lawful(random, edges=size)
    found = fall(view, chosen(random, view), NOW, SCALES)
    done = after(view, found)

    for question in questions(random, view, 6):
        later = ask(done, question)
        if later.effect == "permit":
            assert ask(view, question).effect == "permit"
            used = {each.rpartition("@")[0] for each in later.determining}
            assert used.isdisjoint(found.ended)


@pytest.mark.feature("S27", "S28")
@given(seed=SEEDS, size=st.sampled_from([30, 60, 120]))
@LAWS
def test_narrowing_a_parent_never_widens_and_leaves_all_contained(seed: int, size: int) -> None:
    """What was made under an amended edge lies in it afterwards, the export loads again, and nobody gained."""
    random = Random(seed)
    view = lawful(random, edges=size)
    parents = [each for each in delegations(view) if view.under.get(each.edge_id)]
    if not parents:
        return
    parent = random.choice(parents)
    less = replace(parent.scope, actions=("WRITE",)) if random.random() < 0.5 else parent.scope
    if not parent.scope.contains(less, SCALES):
        return
    narrow = replace(parent, version=2, scope=less, max_depth=random.randint(0, parent.max_depth or 0))
    found = fall(view, [], NOW, SCALES, amended=[narrow])
    done = after(view, found, [narrow])

    assert [each.position for each in delegations(done) if not carried(done, each)] == []
    load_world(dump_world(world_of(done)), scales=SCALES)
    for question in questions(random, view, 4):
        if ask(done, question).effect == "permit":
            assert ask(view, question).effect == "permit"


@pytest.mark.feature("S33")
def test_the_laws_hold_on_two_thousand_edges() -> None:
    """One large graph, ten revocations of its rights: what is left lies in what it names."""
    random = Random(7)
    view = lawful(random, edges=LARGE)
    assert len(view.edges) == LARGE

    for _ in range(10):
        done = after(view, fall(view, chosen(random, view), NOW, SCALES))
        assert [each.position for each in delegations(done) if not carried(done, each)] == []
