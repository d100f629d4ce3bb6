"""The laws by which a delegation is made: right, attenuation, window, depth, and no handing back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remit_graph.laws.delegation import Bounds, check_delegation, reanchored
from remit_graph.laws.ground import Ground, grounds_of
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.scope import Scope
from remit_graph.world import load_world_file
from remit_graph.world.document import parse_document
from remit_graph.world.edges import read_edges
from remit_graph.world.graph import WorldGraph
from remit_graph.world.source import Problems
from tests.support.worlds import WORLDS, faults, messages, world

if TYPE_CHECKING:
    from remit_graph.laws.refusal import Refusal

RIGHTS = """\
owns:
  - {edge_id: own, from: "controller:seo", to: "post:*", fields: [canonical], max_depth: 4}
may_delegate:
  - {edge_id: right, from: "controller:seo", to: "role:agent", max_depth: 2, valid_from: 2027-01-01T00:00:00Z,
     valid_until: 2028-01-01T00:00:00Z, scope: {actions: [UPDATE_CANONICAL], where: {environment: [production]}}}
delegations:
"""
LINES = RIGHTS.count("\n")


def delegation(members: str, *, to: str = "role:agent") -> str:
    """Return the section with one delegation from the SEO control plane."""
    return f'{RIGHTS}  - {{delegation_id: del, from: "controller:seo", to: "{to}"{members}}}\n'


@pytest.mark.feature("S26")
def test_what_a_delegation_leaves_open_is_filled_in_from_its_right() -> None:
    """A stored delegation stands for itself: scope, window and depth come from what it was made under."""
    made = world(delegation(', scope: {resources: ["post:1"]}')).edges["del"]

    assert made.under == "right@1"
    assert made.scope.record() == {
        "actions": ["UPDATE_CANONICAL"],
        "resources": ["post:1"],
        "where": {"environment": ["production"]},
    }
    assert (made.valid_from, made.valid_until) == (1_798_761_600_000_000, 1_830_297_600_000_000)
    assert made.max_depth == 1
    assert made.issuer == "controller:seo"


@pytest.mark.feature("S27", "S28")
@pytest.mark.parametrize(
    ("members", "dimension", "offending"),
    [
        (", scope: {actions: [UPDATE_BODY]}", "actions", ("UPDATE_BODY",)),
        (', scope: {resources: ["site:a"]}', "resources", ("site:a",)),
        (", scope: {fields: [body]}", "fields", ("body",)),
        (", scope: {where: {environment: [staging, production]}}", "environment", ("staging",)),
        (", valid_until: 2028-01-01T00:00:01Z", "valid_until", ("2028-01-01T00:00:01Z",)),
        (", valid_from: 2026-12-31T23:59:59Z", "valid_from", ("2026-12-31T23:59:59Z",)),
    ],
)
def test_a_delegation_wider_than_what_it_rests_on_is_refused(
    members: str, dimension: str, offending: tuple[str, ...]
) -> None:
    """The refusal names the dimension and the values outside it, at the delegation's line."""
    assert faults(delegation(members)) == [(LINES + 1, "attenuation_violated")]
    judged = judge(members)
    assert [(each.dimension, each.offending) for each in judged] == [(dimension, offending)]


def judge(members: str) -> tuple[Refusal, ...]:
    """Return the refusals of one delegation in the world of `RIGHTS`."""
    problems = Problems("w")
    root = parse_document(delegation(members), problems)
    assert root is not None
    edges = {draft.edge.edge_id: draft.edge for draft in read_edges(root, problems)}
    asked = edges.pop("del")
    bounds = Bounds(max_depth=5, scales={}, actions={})
    judgement = check_delegation(asked, grounds_of(asked, WorldGraph(edges.values())), bounds)
    assert judgement.edge is None
    return judgement.refusals


@pytest.mark.feature("S29")
@pytest.mark.parametrize(("depth", "code"), [(0, None), (1, None), (2, "depth_exceeded"), (5, "depth_exceeded")])
def test_a_delegation_goes_less_deep_than_its_right(depth: int, code: str | None) -> None:
    """A right with 2 allows delegations with 1 at most."""
    tail = delegation(f", max_depth: {depth}")

    if code is None:
        assert world(tail).edges["del"].max_depth == depth
    else:
        assert faults(tail) == [(LINES + 1, code)]


def test_a_grant_bounds_the_depth_too() -> None:
    """At most `max_depth` delegations stand after an ownership."""
    tail = delegation(", max_depth: 1").replace("max_depth: 4", "max_depth: 1")

    assert faults(tail) == [(LINES + 1, "depth_exceeded")]


@pytest.mark.feature("S29")
def test_the_realm_bounds_what_names_no_depth() -> None:
    """Without a depth anywhere, a chain has as many delegations as the realm allows."""
    tail = """\
max_delegation_depth: 2
owns:
  - {edge_id: own, from: "controller:seo", to: "post:*"}
may_delegate:
  - {edge_id: right, from: "controller:seo", to: "role:agent"}
delegations:
  - {delegation_id: d1, from: "controller:seo", to: "role:agent"}
  - {delegation_id: d2, from: "role:agent", to: "instance:b"}
  - {delegation_id: d3, from: "instance:b", to: "instance:c"}
"""

    assert faults(tail) == [(9, "depth_exceeded")]
    assert messages(tail) == ["`d3` asks for `max_depth` 0, and `d2@1` allows no further delegation"]


@pytest.mark.feature("S31")
@pytest.mark.parametrize(
    ("from_", "to", "reason"),
    [
        ("controller:seo", "role:editor", "no right to that delegate"),
        ("controller:content", "role:agent", "no right of that delegator"),
        ("instance:c", "instance:b", "nothing at all"),
    ],
)
def test_delegating_needs_a_right_and_authority(from_: str, to: str, reason: str) -> None:
    """Who holds neither hands on nothing."""
    tail = f'{RIGHTS}  - {{delegation_id: del, from: "{from_}", to: "{to}"}}\n'

    assert faults(tail) == [(LINES + 1, "no_authority")], reason


def test_the_right_may_name_what_the_delegate_acts_as_or_belongs_to() -> None:
    """`instance:a` acts as the role that the right names."""
    assert world(delegation("", to="instance:a")).edges["del"].under == "right@1"
    assert faults(delegation("", to="instance:b")) == [(LINES + 1, "no_authority")]


def test_a_delegator_hands_on_what_it_acts_as_not_what_it_belongs_to() -> None:
    """ACTS_AS hands on, MEMBER_OF only uses."""
    acts = 'delegations:\n  - {delegation_id: d, from: "instance:a", to: "instance:c"}\n'
    belongs = 'delegations:\n  - {delegation_id: d, from: "instance:b", to: "instance:c"}\n'
    for holder, section, ok in (("role:agent", acts, True), ("team:seo", belongs, False)):
        tail = f"""\
grants:
  - {{edge_id: g, edge: MAY_WRITE, from: "{holder}", to: "post:*"}}
may_delegate:
  - {{edge_id: r, from: "{holder}", to: "instance:c"}}
{section}"""
        if ok:
            assert world(tail).edges["d"].under == "r@1"
        else:
            assert faults(tail) == [(6, "no_authority")]


def test_a_grant_hands_on_its_own_class_alone() -> None:
    """MAY_WRITE conveys no read, so it hands none on."""
    tail = """\
grants:
  - {edge_id: g, edge: MAY_WRITE, from: "role:editor", to: "post:*"}
may_delegate:
  - {edge_id: r, from: "role:editor", to: "role:agent"}
delegations:
  - {delegation_id: d, from: "role:editor", to: "role:agent", scope: {actions: [READ, UPDATE_BODY]}}
"""

    assert messages(tail) == ["`d` names actions `READ`, not covered by `g@1`"]


def test_what_was_transferred_away_is_not_handed_on() -> None:
    """An exception of the ownership is outside of what it gives."""
    tail = """\
owns:
  - {edge_id: own, from: "controller:seo", to: "post", except: ["post:1"]}
may_delegate:
  - {edge_id: r, from: "controller:seo", to: "role:agent"}
delegations:
  - {delegation_id: d, from: "controller:seo", to: "role:agent", scope: {resources: ["post:1", "post:2"]}}
"""

    assert messages(tail) == ["`d` names resources `post:1`, not covered by `own@1`"]


def test_conditions_are_contained_by_implication() -> None:
    """A stricter bound on the same attribute is inside, another is not."""
    head = """\
grants:
  - {edge_id: g, edge: MAY_WRITE, from: "role:editor", to: "post:*"}
may_delegate:
  - {edge_id: r, from: "role:editor", to: "role:agent", scope: {conditions: [{attribute: risk, at_most: MEDIUM}]}}
"""
    scope = "scope: {conditions: [{attribute: risk, at_most: %s}]}"
    made = f'{{delegation_id: d, from: "role:editor", to: "role:agent", {scope}}}'

    assert world(f"{head}delegations:\n  - {made % 'LOW'}\n").edges["d"].scope.conditions[0].value == "LOW"
    assert faults(f"{head}delegations:\n  - {made % 'HIGH'}\n") == [(6, "attenuation_violated")]


@pytest.mark.feature("S30")
def test_delegations_may_stand_in_any_order() -> None:
    """A chain is resolved from its root, wherever its links are written."""
    tail = """\
grants:
  - {edge_id: g, edge: MAY_WRITE, from: "role:editor", to: "post:*"}
may_delegate:
  - {edge_id: r, from: "role:editor", to: "role:agent", max_depth: 4}
delegations:
  - {delegation_id: a3, from: "instance:b", to: "instance:c"}
  - {delegation_id: b2, from: "role:agent", to: "instance:b"}
  - {delegation_id: c1, from: "role:editor", to: "role:agent", scope: {fields: [body]}}
"""
    edges = world(tail).edges

    assert [(edges[each].under, edges[each].max_depth) for each in ("c1", "b2", "a3")] == [
        ("r@1", 3),
        ("c1@1", 2),
        ("b2@1", 1),
    ]
    assert edges["a3"].scope.fields == ("body",)


def test_a_stated_right_is_the_one_that_is_used() -> None:
    """Of several rights the file may choose, and a wrong choice is refused even if another would do."""
    tail = """\
grants:
  - {edge_id: g, edge: MAY_WRITE, from: "role:editor", to: "post:*"}
may_delegate:
  - {edge_id: r1, from: "role:editor", to: "role:agent", scope: {fields: [body]}}
  - {edge_id: r2, from: "role:editor", to: "role:agent", scope: {fields: [canonical]}}
delegations:
  - {delegation_id: d, from: "role:editor", to: "role:agent", under: UNDER, scope: {fields: [canonical]}}
"""

    assert world(tail.replace("UNDER", "r2")).edges["d"].under == "r2@1"
    assert world(tail.replace("under: UNDER, ", "")).edges["d"].under == "r2@1"
    assert faults(tail.replace("UNDER", "r1")) == [(7, "attenuation_violated")]
    assert faults(tail.replace("UNDER", '"r2@2"')) == [(7, "no_authority")]
    assert faults(tail.replace("UNDER", "r3")) == [(7, "no_authority")]


def test_a_ring_of_delegations_rests_on_nothing() -> None:
    """Authority comes from a root, never from a circle (F032)."""
    tail = """\
delegations:
  - {delegation_id: ab, from: "instance:a", to: "instance:b"}
  - {delegation_id: bc, from: "instance:b", to: "instance:c"}
  - {delegation_id: ca, from: "instance:c", to: "instance:a"}
"""

    assert faults(tail) == [(2, "delegation_cycle"), (3, "delegation_cycle"), (4, "delegation_cycle")]


def test_nobody_is_handed_back_what_came_from_them() -> None:
    """A delegation to a principal above it on the same chain is a circle (F032)."""
    tail = """\
grants:
  - {edge_id: g, edge: MAY_WRITE, from: "role:editor", to: "post:*"}
may_delegate:
  - {edge_id: r, from: "role:editor", to: "instance:b", max_depth: 4}
delegations:
  - {delegation_id: d1, from: "role:editor", to: "instance:b"}
  - {delegation_id: d2, from: "instance:b", to: "instance:c"}
  - {delegation_id: d3, from: "instance:c", to: "instance:b"}
  - {delegation_id: d4, from: "instance:c", to: "role:editor"}
"""

    assert faults(tail) == [(8, "delegation_cycle"), (9, "delegation_cycle")]


def test_what_rests_on_a_refused_delegation_says_so() -> None:
    """The cause is named once, and its consequence points at it."""
    tail = delegation(", scope: {fields: [body]}") + '  - {delegation_id: x, from: "role:agent", to: "instance:b"}\n'

    assert messages(tail)[1] == "`x` rests on `del`, which is refused itself"


def test_a_delegation_moves_to_another_right_only_as_it_is() -> None:
    """Re-anchoring neither fills in nor narrows."""
    bounds = Bounds(max_depth=5, scales={}, actions={})
    held = _edge("p", EdgeType.DELEGATES, "controller:seo", "instance:a", fields=("body", "canonical"), depth=3)
    stored = _edge("d", EdgeType.DELEGATES, "instance:a", "instance:b", fields=("body",), depth=1, under="gone@1")
    above = frozenset({"controller:seo", "instance:a"})

    moved = reanchored(stored, [Ground(right=held, authority=held, above=above)], bounds)
    assert moved is not None
    assert moved.under == "p@1"
    deeper = _edge("d", EdgeType.DELEGATES, "instance:a", "instance:b", fields=("body",), depth=3, under="gone@1")
    assert reanchored(deeper, [Ground(right=held, authority=held, above=above)], bounds) is None
    limited = _edge("q", EdgeType.DELEGATES, "x", "instance:a", fields=("body",), depth=3, until=9)
    assert reanchored(stored, [Ground(right=limited, authority=limited, above=above)], bounds) is None
    assert reanchored(stored, [], bounds) is None


def _edge(
    edge_id: str,
    edge: EdgeType,
    from_: str,
    to: str,
    *,
    fields: tuple[str, ...],
    depth: int,
    under: str | None = None,
    until: int | None = None,
) -> Edge:
    return Edge(
        edge_id=edge_id,
        version=1,
        edge=edge,
        from_=from_,
        to=to,
        scope=Scope(fields=fields),
        max_depth=depth,
        under=under,
        valid_until=until,
    )


@pytest.mark.feature("S32")
def test_the_orchestrator_hands_on_parts_and_never_the_whole() -> None:
    """The five delegations of the demo world together do not cover the orchestrator's authority."""
    edges = load_world_file(WORLDS / "seo.yaml").edges
    parts = [edges[each] for each in edges if each.startswith("del-fan-")]
    whole = [edges["del-orchestrator-seo"], edges["del-orchestrator-content"]]

    assert len(parts) == 5
    assert all(not part.scope.contains(each.scope, {}) for part in parts for each in whole)
    fields = [set(part.scope.fields or ()) for part in parts]
    assert all(one.isdisjoint(other) for one in fields for other in fields if one is not other)
    assert {each.under for each in parts} == {"del-orchestrator-seo@1", "del-orchestrator-content@1"}
