"""Edges of world files: short forms, ids, and the stamps that a file may leave out."""

from __future__ import annotations

import pytest

from remit_graph.model.edge import EdgeType
from remit_graph.model.key import check_name
from remit_graph.world import WorldRefused, load_world
from remit_graph.world.names import edge_id_of
from tests.support.worlds import faults, messages, world

STRUCTURE = """\
memberships:
  - {edge: ACTS_AS, from: "human:editor", to: "role:editor", valid_from: 2027-01-01T00:00:00Z, edge_id: m1}
  - {edge: MEMBER_OF, from: "role:agent", to: "team:seo", epoch: 0}
reports_to:
  - {from: "human:editor", to: "controller:content"}
coordinates:
  - {from: "post:1", to: "site:a"}
keys:
  affects:
    - {from: "site:a", to: "post:1", count: 12, domains: [CANONICAL]}
"""


def test_a_short_form_has_a_readable_id_that_follows_from_its_ends() -> None:
    """The same line is the same edge for ever."""
    loaded = world()

    assert list(loaded.edges) == [
        "acts_as:instance:a>role:agent",
        "member_of:instance:b>team:seo",
        "part_of:post:1>site:a",
    ]
    assert loaded.edges["part_of:post:1>site:a"].edge is EdgeType.PART_OF


def test_the_long_forms_say_more() -> None:
    """Window, epoch and id of a membership are given where they matter."""
    edges = world(STRUCTURE).edges

    assert edges["m1"].valid_from == 1_798_761_600_000_000
    assert edges["member_of:role:agent>team:seo"].epoch == 0
    assert edges["reports_to:human:editor>controller:content"].edge is EdgeType.REPORTS_TO
    assert edges["must_coordinate_with:post:1>site:a"].edge is EdgeType.MUST_COORDINATE_WITH
    assert (edges["affects:site:a>post:1"].count, edges["affects:site:a>post:1"].domains) == (12, ("CANONICAL",))


def test_a_short_form_may_be_a_mapping() -> None:
    """A link with a window is written in place."""
    text = """\
realm: a
root: ["organization:a"]
principals:
  - {id: "organization:a"}
  - {id: "role:r"}
  - {id: "instance:i", acts_as: ["role:r", {to: "role:r", edge_id: again, valid_until: "2030-01-01T00:00:00Z"}]}
"""
    edges = load_world(text).edges

    assert list(edges) == ["acts_as:instance:i>role:r", "again"]
    assert edges["again"].valid_until == 1_893_456_000_000_000


@pytest.mark.parametrize(
    ("from_", "to"), [(":".join("a" * 9), ":".join("b" * 9)), ("x" * 200, "y" * 200), ("instance:a", "role:b")]
)
def test_a_derived_id_is_always_an_id(from_: str, to: str) -> None:
    """Where the readable form would break the rules of an id, a digest stands in for it."""
    edge_id = edge_id_of(EdgeType.PART_OF, from_, to)

    assert check_name(edge_id) == edge_id
    assert edge_id.startswith("part_of:")
    assert edge_id == edge_id_of(EdgeType.PART_OF, from_, to)
    assert edge_id != edge_id_of(EdgeType.PART_OF, to, from_)


def test_an_edge_id_is_taken_once() -> None:
    """Ids are one space over all sections, derived ones included."""
    tail = """\
grants:
  - {edge_id: x, edge: MAY_READ, from: "role:agent", to: "post:*"}
may_revoke:
  - {edge_id: x, from: "role:editor", to: "role:agent"}
  - {edge_id: "part_of:post:1>site:a", from: "role:editor", to: "role:agent"}
"""

    assert faults(tail) == [(4, "already_exists"), (5, "already_exists")]


def test_issuer_and_epoch_default_to_the_root_and_now() -> None:
    """A delegation is made in its delegator's name, everything else in the first root's."""
    tail = """\
epochs: {authority: 7}
owns:
  - {edge_id: own, from: "controller:seo", to: "post:*", fields: [canonical]}
may_delegate:
  - {edge_id: right, from: "controller:seo", to: "role:agent"}
delegations:
  - {delegation_id: del, from: "controller:seo", to: "role:agent"}
"""
    edges = world(tail).edges

    assert [(edges[each].issuer, edges[each].epoch) for each in ("own", "right", "del")] == [
        ("organization:acme", 7),
        ("organization:acme", 7),
        ("controller:seo", 7),
    ]
    assert edges["own"].ownership_epoch == 1


def test_no_edge_is_newer_than_the_authority_epoch() -> None:
    """An epoch from the future would survive the next bump."""
    assert faults('reports_to:\n  - {from: "human:editor", to: "role:editor", epoch: 2}\n') == [
        (2, "stale_authority_epoch")
    ]


def test_without_a_root_an_edge_needs_an_issuer() -> None:
    """There is nobody in whose name it could have been made."""
    text = 'realm: a\nprincipals: [{id: "role:a"}, {id: "instance:b", acts_as: ["role:a"]}]\n'
    with pytest.raises(WorldRefused, match="has no issuer and the realm no root"):
        load_world(text)


def test_members_beside_the_scope_stand_for_members_in_it() -> None:
    """`fields` of an ownership and `conditions` of a preemption may be written for short, and not twice."""
    tail = """\
owns:
  - {edge_id: own, from: "controller:seo", to: "post:*", fields: [canonical], scope: {actions: [UPDATE_CANONICAL]}}
may_preempt:
  - {edge_id: p, from: "role:editor", to: "role:agent", conditions: [{attribute: incident.severity, at_least: SEV1}]}
"""
    edges = world(tail).edges

    assert edges["own"].scope.record() == {"actions": ["UPDATE_CANONICAL"], "fields": ["canonical"]}
    assert edges["p"].scope.record() == {"conditions": [{"attribute": "incident.severity", "at_least": "SEV1"}]}
    twice = 'owns:\n  - {edge_id: own, from: "controller:seo", to: "post:*", fields: [body], scope: {fields: [body]}}\n'
    assert messages(twice) == ["`own` gives `fields` twice, beside `scope` and in it"]


def test_domains_of_an_effect_are_domains_of_the_world() -> None:
    """A domain that no field or action has would lock nothing."""
    tail = 'keys:\n  affects:\n    - {from: "site:a", to: "post:1", count: 1, domains: [WEATHER]}\n'

    assert faults(tail) == [(3, "conflict_unknown")]
