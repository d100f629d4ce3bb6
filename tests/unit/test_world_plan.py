"""Plans: what applying a world to a graph changes, and what it never changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.realm import Realm
from remit_graph.world import Epochs, World, changes_of, load_world, load_world_file, plan_world
from tests.support.worlds import HEAD, WORLDS, world

if TYPE_CHECKING:
    from collections.abc import Iterable

BASE = """\
owns:
  - {edge_id: own, from: "controller:seo", to: "post:*", fields: [canonical]}
grants:
  - {edge_id: g, edge: MAY_WRITE, from: "role:editor", to: "post:*", scope: {fields: [canonical]}}
may_delegate:
  - {edge_id: right, from: "controller:seo", to: "role:agent", max_depth: 3}
delegations:
  - {delegation_id: d1, from: "controller:seo", to: "role:agent", max_depth: 2}
  - {delegation_id: d2, from: "role:agent", to: "instance:b", max_depth: 1}
  - {delegation_id: d3, from: "instance:b", to: "instance:c", max_depth: 0}
"""


@dataclass
class Past:
    """A history with what has ended in it."""

    ended: tuple[Edge, ...] = ()

    def last_version(self, edge_id: str) -> int:
        """Return the highest version that has ended."""
        return max((each.version for each in self.ended if each.edge_id == edge_id), default=0)

    def past_owns(self) -> Iterable[Edge]:
        """Return the ended OWNS."""
        return [each for each in self.ended if each.edge is EdgeType.OWNS]


def planned(current: World, wanted: World) -> tuple[list[str], list[tuple[str, object]]]:
    """Return differences as lines, and changes as (kind, what)."""
    plan = plan_world(current, wanted)
    assert plan.refusals == ()
    return [str(each) for each in plan.differences], [(each.kind, _what(each.body)) for each in plan.changes]


def _what(body: object) -> object:
    assert isinstance(body, dict)
    if "edges" in body:
        return (body["cause"], body["edges"])
    return (
        (body["edge_id"], body["version"]) if "edge_id" in body else body.get("id", body.get("key", body.get("name")))
    )


@pytest.mark.parametrize("name", ["authzen_search", "authzen_todo", "certification", "example", "seo"])
def test_equal_worlds_need_nothing(name: str) -> None:
    """A world applied to itself is an empty plan."""
    loaded = load_world_file(WORLDS / f"{name}.yaml")

    plan = plan_world(loaded, loaded)

    assert (plan.differences, plan.changes, plan.refusals, plan.result) == ((), (), (), loaded)
    assert str(plan) == "none to add, none to change, none to remove"


@pytest.mark.parametrize("name", ["authzen_todo", "example", "seo"])
def test_a_world_on_an_empty_graph_is_made_from_the_ground(name: str) -> None:
    """The plan for a fresh store is the world's own changes, in their order."""
    loaded = load_world_file(WORLDS / f"{name}.yaml")

    plan = plan_world(World(realm=Realm(name="empty"), epochs=Epochs(authority=0)), loaded)

    assert list(plan.changes) == changes_of(loaded)
    assert {each.kind for each in plan.differences} == {"added", "changed"}


def test_changes_stand_after_what_they_need() -> None:
    """Nodes come before edges, owners before grants, parents before their delegations."""
    kinds = [each.kind for each in changes_of(world(BASE))]
    begun = [each.body["edge_id"] for each in changes_of(world(BASE)) if each.kind == "edge.begin"]

    assert kinds[0] == "realm.set"
    assert kinds.index("epoch.set") == len(kinds) - len(begun) - 1
    assert begun == [
        "part_of:post:1>site:a",
        "member_of:instance:b>team:seo",
        "acts_as:instance:a>role:agent",
        "own",
        "g",
        "right",
        "d1",
        "d2",
        "d3",
    ]


def test_an_amendment_ends_one_version_and_begins_the_next() -> None:
    """Who rests on the old version is re-anchored to the new one in the same command."""
    narrower = BASE.replace("max_depth: 2}", "max_depth: 2, valid_until: 2030-01-01T00:00:00Z}")
    lines, changes = planned(world(BASE), world(narrower))

    assert lines == [
        "~ edge d1: valid_until none -> 1893456000000000; version 1 -> 2",
        "~ edge d2: under d1@1 -> d1@2; valid_until none -> 1893456000000000; version 1 -> 2",
        "~ edge d3: under d2@1 -> d2@2; valid_until none -> 1893456000000000; version 1 -> 2",
    ]
    assert changes == [
        ("edges.end", ("amended", [["d1", 1], ["d2", 1], ["d3", 1]])),
        ("edge.begin", ("d1", 2)),
        ("edge.begin", ("d2", 2)),
        ("edge.begin", ("d3", 2)),
    ]


def test_what_a_file_no_longer_says_ends_with_all_below_it() -> None:
    """A removed right takes its delegations with it, and the counts say so."""
    without = BASE[: BASE.index("may_delegate")]
    plan = plan_world(world(BASE), world(without))

    assert [(each.kind, each.body) for each in plan.changes] == [
        ("edges.end", {"edges": [["d1", 1], ["d2", 1], ["d3", 1], ["right", 1]], "cause": "removed"})
    ]
    assert str(plan).endswith("none to add, none to change, 4 to remove")


def test_a_principal_ends_after_its_edges() -> None:
    """Nothing hangs on a principal that is gone."""
    wanted = load_world(HEAD.replace('  - {id: "instance:a", acts_as: ["role:agent"]}\n', ""))
    lines, changes = planned(world(), wanted)

    assert lines == [
        "- principal instance:a",
        "- edge acts_as:instance:a>role:agent: ACTS_AS instance:a -> role:agent",
    ]
    assert changes == [
        ("edges.end", ("removed", [["acts_as:instance:a>role:agent", 1]])),
        ("principal.end", "instance:a"),
    ]


def test_every_noun_is_put_and_ended() -> None:
    """Types, actions, principals, resources, aliases and enforcement points come and go."""
    more = """\
keys: {aliases: {"article:{id}": "post:{id}"}}
enforcement_points: [{id: "service:gateway"}]
"""
    _, added = planned(world(), world(more))
    plan = plan_world(world(more), world())

    assert added == [("alias.put", "post:{id}"), ("enforcement_point.put", "service:gateway")]
    assert [(each.kind, each.body) for each in plan.changes] == [
        ("enforcement_point.end", {"id": "service:gateway"}),
        ("alias.end", {"alias": "article:{id}"}),
    ]
    smaller = load_world('realm: acme\nroot: ["organization:acme"]\nprincipals: [{id: "organization:acme"}]\n')
    kinds = [each.kind for each in plan_world(world(), smaller).changes]
    assert sorted(set(kinds)) == ["action.end", "edges.end", "principal.end", "resource.end", "resource_type.end"]


def test_a_silent_file_leaves_epochs_alone() -> None:
    """Edges keep the epoch they have: applying a file renews nothing that a floor has killed."""
    old = world(BASE)
    later = replace(old, epochs=Epochs(authority=6, minimum_write=6))

    plan = plan_world(later, world(BASE))

    assert (plan.differences, plan.refusals) == ((), ())
    assert plan.result.epochs == later.epochs
    assert plan.result.edges["g"].epoch == 1


def test_what_killed_the_edges_of_a_principal_is_not_lowered() -> None:
    """A bump of one principal stands, whatever a file of before it says: silent about it, or an older number."""
    first = world(BASE)
    name = "role:agent"

    def raised(epoch: int) -> World:
        principals = {**first.principals, name: replace(first.principals[name], minimum_epoch=epoch)}
        return replace(first, principals=principals)

    silent = plan_world(raised(5), first)
    lower = plan_world(raised(5), raised(4))
    higher = plan_world(raised(5), raised(6))

    assert (silent.differences, silent.refusals, silent.result.principals[name].minimum_epoch) == ((), (), 5)
    assert [(each.code, each.message) for each in lower.refusals] == [
        ("stale_authority_epoch", "`role:agent`: minimum_epoch is 5 and cannot go back to 4")
    ]
    assert [(each.kind, each.body.get("minimum_epoch")) for each in higher.changes] == [("principal.put", 6)]


def test_a_new_edge_is_of_the_epoch_of_now() -> None:
    """What is added or amended after a bump is stamped with the new epoch, and an older one stays older."""
    later = replace(world(BASE), epochs=Epochs(authority=6))
    wanted = world(
        BASE + "memberships:\n"
        '  - {edge: MEMBER_OF, from: "role:agent", to: "team:seo"}\n'
        '  - {edge: MEMBER_OF, from: "role:editor", to: "team:seo", epoch: 0}\n'
    )

    edges = plan_world(later, wanted).result.edges

    assert edges["member_of:role:agent>team:seo"].epoch == 6
    assert edges["member_of:role:editor>team:seo"].epoch == 0


@pytest.mark.parametrize(
    ("epochs", "codes"),
    [
        ("{authority: 7}", []),
        ("{authority: 5}", ["stale_authority_epoch"]),
        ("{authority: 6, minimum_authority: {read: 2, write: 3}}", []),
        ("{authority: 6, minimum_authority: {read: 1}}", ["stale_authority_epoch"]),
    ],
)
def test_epochs_only_grow(epochs: str, codes: list[str]) -> None:
    """A file that states a lower epoch than the graph has is refused; one that is silent is not."""
    current = replace(world(), epochs=Epochs(authority=6, minimum_read=2, minimum_write=3))

    plan = plan_world(current, world(f"epochs: {epochs}\n"))

    assert [each.code for each in plan.refusals] == codes
    assert plan.result.epochs.authority >= 6
    assert plan.result.epochs.minimum_write == 3


@pytest.mark.feature("S40")
@pytest.mark.parametrize(("edge_id", "target"), [("own", "post:*"), ("other", "post:*"), ("other", "post:1")])
def test_ownership_moves_by_transfer_alone(edge_id: str, target: str) -> None:
    """A file that names another owner for what is owned is refused, whatever it calls the edge."""
    line = f'  - {{edge_id: {edge_id}, from: "controller:content", to: "{target}", fields: [canonical]}}\n'

    plan = plan_world(world(BASE), world(f"owns:\n{line}"))

    assert [(each.code, each.offending) for each in plan.refusals] == [("invalid_transition", ("controller:seo",))]
    assert plan.changes == ()


def test_an_owner_keeps_its_epoch_and_a_new_one_gets_the_next() -> None:
    """An ownership epoch is never reused, over ended owners too."""
    current = world(
        'owns:\n  - {edge_id: own, from: "controller:seo", to: "post:1", fields: [canonical], ownership_epoch: 4}\n'
    )
    past = Past(tuple(replace(current.edges["own"], edge_id="was", to="post:2", ownership_epoch=9) for _ in "x"))
    same = world('owns:\n  - {edge_id: own, from: "controller:seo", to: "post:1", fields: [canonical]}\n')
    wider = world('owns:\n  - {edge_id: own, from: "controller:seo", to: "post:*", fields: [canonical]}\n')
    other = world('owns:\n  - {edge_id: new, from: "controller:content", to: "post:2", fields: [canonical]}\n')

    assert plan_world(current, same, history=past).differences == ()
    assert plan_world(current, wider, history=past).result.edges["own"].ownership_epoch == 10
    assert plan_world(current, other, history=past).result.edges["new"].ownership_epoch == 10


def test_a_grant_is_issued_again_under_a_new_owner() -> None:
    """A field that gets an owner makes the grants on it rest on that owner."""
    grants = BASE[BASE.index("grants") : BASE.index("may_delegate")]

    lines, changes = planned(world(grants), world(BASE[: BASE.index("may_delegate")]))

    assert lines == [
        "~ edge g: rests_on none -> [{'edge_id': 'own', 'ownership_epoch': 1}]; version 1 -> 2",
        "+ edge own: OWNS controller:seo -> post:*",
    ]
    assert changes == [
        ("edges.end", ("amended", [["g", 1]])),
        ("edge.begin", ("own", 1)),
        ("edge.begin", ("g", 2)),
    ]


def test_an_exported_stale_grant_stays_stale() -> None:
    """What a grant was issued under is stated in an export, and applying it renews nothing."""
    current = world(BASE)
    stale = replace(current, edges={**current.edges, "g": replace(current.edges["g"], rests_on=(("gone", 1),))})

    assert plan_world(stale, stale).differences == ()


def test_an_edge_id_used_before_goes_on_with_the_next_version() -> None:
    """(edge id, version) is unique over everything that ever was."""
    current, wanted = world(), world(BASE)
    past = Past((replace(wanted.edges["g"], version=3),))

    assert plan_world(current, wanted, history=past).result.edges["g"].version == 4


def test_a_world_of_another_realm_is_refused() -> None:
    """Two realms never meet in one ledger."""
    plan = plan_world(world(), load_world("realm: other\n"))

    assert [each.code for each in plan.refusals] == ["revision_foreign"]


@pytest.mark.parametrize(("limit", "codes"), [(4, []), (3, ["limit_exceeded"])])
def test_a_plan_has_a_limit(limit: int, codes: list[str]) -> None:
    """Consequences count, and above the limit nothing is changed."""
    without = BASE[: BASE.index("may_delegate")]

    plan = plan_world(world(BASE), world(without), limit=limit)

    assert [each.code for each in plan.refusals] == codes
    assert bool(plan.changes) is not bool(codes)
    assert [each["code"] for each in plan.record()["refusals"]] == codes
    assert len(plan.record()["differences"]) == 4


def test_many_ended_edges_are_ended_in_rows() -> None:
    """One row of the ledger ends a thousand edges at most."""
    grants = "".join(
        f'  - {{edge_id: g{n}, edge: MAY_READ, from: "role:editor", to: "post:{n}"}}\n' for n in range(2500)
    )

    plan = plan_world(world(f"grants:\n{grants}"), world())

    assert [len(each.body["edges"]) for each in plan.changes] == [1000, 1000, 500]
