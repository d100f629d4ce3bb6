"""Laws of ownership and of issuing: one owner for a field, and grants by roots and owners alone."""

from __future__ import annotations

import pytest

from remit_graph.laws.grant import check_grant
from remit_graph.laws.owns import check_owns, next_ownership_epoch, owns_overlap
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.scope import Scope
from tests.support.worlds import faults, messages, world


def owns(edge_id: str, to: str, *fields: str, epoch: int = 1, except_: tuple[str, ...] = ()) -> Edge:
    """Return an OWNS edge of `controller:<edge_id>`, of every field where none is named."""
    scope = Scope(fields=fields or None)
    return Edge(
        edge_id=edge_id,
        version=1,
        edge=EdgeType.OWNS,
        from_=f"controller:{edge_id}",
        to=to,
        scope=scope,
        issuer="organization:acme",
        ownership_epoch=epoch,
        except_=except_,
    )


@pytest.mark.feature("S38", "S39")
@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        (owns("a", "post:*", "body"), owns("b", "post:*", "canonical"), False),
        (owns("a", "post:*", "body"), owns("b", "post:1", "body"), True),
        (owns("a", "post:*"), owns("b", "post:1:part", "body"), True),
        (owns("a", "post:1"), owns("b", "post:2"), False),
        (owns("a", "post:*:x"), owns("b", "post:1"), True),
        (owns("a", "*:1"), owns("b", "post:*"), True),
        (owns("a", "post", except_=("post:1",)), owns("b", "post:1"), False),
        (owns("a", "post", except_=("post:1:x",)), owns("b", "post:1"), True),
        (owns("b", "post:1:y"), owns("a", "post", except_=("post:1",)), False),
    ],
)
def test_two_owners_overlap_in_resources_and_fields(one: Edge, other: Edge, *, overlap: bool) -> None:
    """A common resource and a common field make a conflict, and what was given away makes none."""
    assert owns_overlap(one, other) is overlap
    assert owns_overlap(other, one) is overlap


def test_the_second_owner_of_a_field_is_refused() -> None:
    """The later edge is named, with the field."""
    tail = """\
owns:
  - {edge_id: one, from: "controller:seo", to: "post:*", fields: [canonical]}
  - {edge_id: two, from: "controller:content", to: "post:1", fields: [body, canonical]}
"""

    assert faults(tail) == [(3, "ownership_conflict")]
    assert messages(tail) == ["`two` and `one` both own fields `canonical` under `post:1` and `post:*`"]


def test_owners_that_meet_over_part_of_are_refused() -> None:
    """A site's owner reaches the posts that are part of it, so it must leave their fields alone."""
    tail = """\
owns:
  - {edge_id: one, from: "controller:seo", to: "post:*", fields: [canonical]}
  - {edge_id: two, from: "controller:content", to: "site:a"}
"""

    assert messages(tail) == ["`canonical` of `post:1` has 2 owners: `one`, `two`"]
    assert world(tail.replace('"site:a"}', '"site:a", fields: [body]}')).edges["two"].scope.fields == ("body",)
    assert world(tail.replace('"site:a"}', '"site:a", except: ["post:*"]}')).edges["two"].except_ == ("post:*",)


def test_ownership_is_issued_by_a_root() -> None:
    """Nobody makes itself an owner."""
    tail = 'owns:\n  - {edge_id: o, from: "controller:seo", to: "post:*", issuer: "controller:seo"}\n'

    assert messages(tail) == ["`o`: OWNS is issued by a root principal, and `controller:seo` is none"]


def test_only_an_ownership_can_be_checked_as_one() -> None:
    """The wrong edge is a mistake of the caller."""
    with pytest.raises(ValueError, match="is MAY_READ and no OWNS edge"):
        check_owns(Edge(edge_id="g", version=1, edge=EdgeType.MAY_READ, from_="role:a", to="post:1"), [], ())


@pytest.mark.feature("S36")
def test_an_ownership_epoch_is_one_more_than_any_before() -> None:
    """Ended owners count, and owners of something else do not."""
    others = [owns("a", "post:*", "body", epoch=4), owns("b", "post:1", "body", epoch=9), owns("c", "site", epoch=20)]

    assert next_ownership_epoch(owns("new", "post:1", "body"), others) == 10
    assert next_ownership_epoch(owns("new", "post:2", "body"), others) == 5
    assert next_ownership_epoch(owns("new", "post:2", "canonical"), others) == 1


OWNERS = """\
owns:
  - {edge_id: own-seo, from: "controller:seo", to: "post:*", fields: [canonical]}
  - {edge_id: own-body, from: "controller:content", to: "post:*", fields: [body]}
"""


@pytest.mark.parametrize(
    ("target", "issuer", "scope", "message"),
    [
        (
            "post:*",
            "controller:seo",
            "{fields: [body]}",
            "`g` is issued by `controller:seo`, which does not own `body` of `post:*`",
        ),
        (
            "post:*",
            "controller:seo",
            "{}",
            "`g` is issued by `controller:seo`, which does not own all fields of `post:*`",
        ),
        (
            "post",
            "controller:seo",
            "{fields: [canonical]}",
            "`g`: MAY_WRITE is issued by `controller:seo`, which is neither root nor owner of `post`",
        ),
        (
            "post:*",
            "instance:a",
            "{fields: [canonical]}",
            "`g`: MAY_WRITE is issued by `instance:a`, which is neither root nor owner of `post:*`",
        ),
    ],
)
def test_a_grant_is_issued_by_a_root_or_the_owner_of_all_of_it(
    target: str, issuer: str, scope: str, message: str
) -> None:
    """An owner issues nothing beyond its fields and resources."""
    grant = f'{{edge_id: g, edge: MAY_WRITE, from: "role:editor", to: "{target}", issuer: "{issuer}", scope: {scope}}}'

    assert messages(f"{OWNERS}grants:\n  - {grant}\n") == [message]


def test_the_owner_of_several_fields_issues_them_together() -> None:
    """Ownership may be held in several edges over one target."""
    seo = [owns("x", "post:*", "canonical"), owns("x", "post:1", "body")]
    grant = Edge(
        edge_id="g",
        version=1,
        edge=EdgeType.MAY_WRITE,
        from_="role:a",
        to="post:1",
        issuer="controller:x",
        scope=Scope(fields=("body", "canonical")),
    )

    assert check_grant(grant, seo, (), {}) == []
    assert [each.offending for each in check_grant(grant, seo[:1], (), {})] == [("body",)]


def test_an_owner_in_one_environment_issues_for_that_one() -> None:
    """The owner's own limits must stand in the grant."""
    owner = owns("x", "post:*")
    narrowed = Edge(
        edge_id="x",
        version=1,
        edge=EdgeType.OWNS,
        from_=owner.from_,
        to="post:*",
        scope=Scope(where=(("environment", ("staging",)),)),
    )
    grant = Edge(
        edge_id="g",
        version=1,
        edge=EdgeType.MAY_WRITE,
        from_="role:a",
        to="post:1",
        issuer="controller:x",
        scope=Scope(),
    )
    inside = Edge(
        edge_id="g",
        version=1,
        edge=EdgeType.MAY_WRITE,
        from_="role:a",
        to="post:1",
        issuer="controller:x",
        scope=Scope(where=(("environment", ("staging",)),)),
    )

    assert [each.code for each in check_grant(grant, [narrowed], (), {})] == ["not_owner"]
    assert check_grant(inside, [narrowed], (), {}) == []


def test_a_right_is_issued_by_a_root_or_for_what_its_issuer_owns() -> None:
    """A right to delegate that names no resources can only come from a root."""
    tail = """\
owns:
  - {edge_id: own, from: "controller:seo", to: "post:*"}
may_delegate:
  - {edge_id: r1, from: "role:agent", to: "role:editor", issuer: "controller:seo"}
  - {edge_id: r2, from: "role:agent", to: "role:editor", issuer: "controller:seo", scope: {resources: ["post:1"]}}
  - {edge_id: r3, from: "role:agent", to: "role:editor", issuer: "controller:seo", scope: {resources: ["site:a"]}}
"""

    assert faults(tail) == [(4, "not_owner"), (6, "not_owner")]


@pytest.mark.feature("S40")
def test_a_grant_rests_on_every_owner_of_what_it_covers() -> None:
    """Owners over segments and over PART_OF are stamped, in the fields of the grant alone."""
    tail = """\
owns:
  - {edge_id: own-part, from: "controller:seo", to: "site:a", fields: [canonical]}
  - {edge_id: own-body, from: "controller:content", to: "post:*", fields: [body], ownership_epoch: 3}
grants:
  - {edge_id: g1, edge: MAY_WRITE, from: "role:editor", to: "post:*"}
  - {edge_id: g2, edge: MAY_WRITE, from: "role:editor", to: "post:1", scope: {fields: [canonical]}}
  - {edge_id: g3, edge: MAY_WRITE, from: "role:editor", to: "post:2", scope: {fields: [canonical]}}
  - {edge_id: g5, edge: MAY_WRITE, from: "role:editor", to: "site:a"}
  - {edge_id: g4, edge: MAY_WRITE, from: "role:editor", to: "post:1", rests_on: [{edge_id: old, ownership_epoch: 1}]}
"""
    edges = world(tail).edges

    assert edges["g1"].rests_on == (("own-body", 3), ("own-part", 1))
    assert edges["g2"].rests_on == (("own-part", 1),)
    assert edges["g3"].rests_on == ()
    assert edges["g5"].rests_on == (("own-body", 3), ("own-part", 1))
    assert edges["g4"].rests_on == (("old", 1),)
