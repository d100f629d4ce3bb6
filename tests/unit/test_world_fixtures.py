"""The fixture worlds hold what the stories need, and the generated ones are what their generators write."""

from __future__ import annotations

import json

import pytest

from remit_graph.model.builtin import BUILTIN_ACTIONS, BUILTIN_TYPES, GRAPH_TYPE, Governance
from remit_graph.model.edge import EdgeType
from remit_graph.model.resource_type import Concurrency
from remit_graph.view.apply import apply_changes
from remit_graph.view.journal import Journal
from remit_graph.view.state import View
from remit_graph.world import World, changes_of, check_world, iter_changes, load_world_file
from tests.support.authzen_worlds import ROOT, worlds
from tests.support.big_world import big_world
from tests.support.delegation_worlds import delegation_cases
from tests.support.worlds import SCALES, WORLDS

SEO = load_world_file(WORLDS / "seo.yaml", scales=SCALES)


@pytest.mark.parametrize("name", sorted(worlds()))
def test_a_generated_world_is_what_its_generator_writes(name: str) -> None:
    """The file and the fixture tables never drift apart."""
    assert (WORLDS / name).read_text() == worlds()[name]


@pytest.mark.parametrize("name", ["authzen_todo", "authzen_search", "certification"])
def test_every_user_of_a_scenario_is_a_principal(name: str) -> None:
    """The subjects of the vectors are humans of the world."""
    fixture = json.loads((ROOT / "vectors" / f"{name}.json").read_text())["fixture"]
    people = fixture.get("users") or fixture["subjects"]

    loaded = load_world_file(WORLDS / f"{name}.yaml")

    assert {f"human:{each['id']}" for each in people} <= set(loaded.principals)
    assert loaded.realm.kind_of("user") == "human"
    assert loaded.realm.kind_of("robot") is None


@pytest.mark.feature("S04", "S46")
def test_the_demo_world_has_every_class_of_concurrency() -> None:
    """Each class has a resource type to show it on."""
    assert {each.concurrency for each in SEO.resource_types.values()} == set(Concurrency)


@pytest.mark.feature("S19")
def test_the_demo_world_has_every_kind_of_edge() -> None:
    """Nothing of the catalogue is left without an example."""
    assert {each.edge for each in SEO.edges.values()} == set(EdgeType)


@pytest.mark.feature("S51")
def test_every_write_of_the_demo_world_maps_to_a_domain() -> None:
    """An unmapped write would escalate at its first conflict."""
    fields = {name: spec for each in SEO.resource_types.values() for name, spec in each.fields.items()}
    unmapped = [
        each.name
        for each in SEO.actions.values()
        if each.writes and each.domain is None and not all(fields[name].domain for name in each.fields or ("none",))
    ]

    assert unmapped == []


@pytest.mark.feature("S50")
def test_a_template_affects_as_many_pages_as_the_story_says() -> None:
    """One large and one small impact."""
    counts = {each.from_: each.count for each in SEO.edges.values() if each.edge is EdgeType.AFFECTS}

    assert counts["wp:template:product"] == 12842
    assert counts["wp:template:about"] == 3
    assert SEO.resource_types["wp:template"].escalate_at == 100


@pytest.mark.feature("S10")
def test_every_workload_of_the_demo_world_is_a_verified_identity() -> None:
    """An instance without an identity could be anybody."""
    instances = [each for each in SEO.principals.values() if each.kind == "instance"]

    assert len(instances) == 21
    assert all(each.identities for each in instances)


@pytest.mark.feature("S42")
@pytest.mark.parametrize(
    "key",
    [
        "deployment:staging:storefront",
        "account:tenant-12",
        "git:branch:seo-workers:main",
        "ticket:4711",
        "window:2027-w02",
    ],
)
def test_the_forms_of_a_write_boundary_are_declared(key: str) -> None:
    """Durable ids a task can name as what it may change."""
    assert key in SEO.resources


def test_the_graph_itself_is_always_a_resource() -> None:
    """Governance is decided about like anything else, and no world has to say so."""
    assert set(BUILTIN_TYPES) == {"remit:graph"}
    assert GRAPH_TYPE.concurrency is Concurrency.WRITE_OPTIMISTIC
    assert set(BUILTIN_ACTIONS) == {each.value for each in Governance}
    assert [each.value for each in Governance] == sorted(each.value for each in Governance)
    assert {name for name, each in BUILTIN_ACTIONS.items() if not each.writes} == {"APPROVE", "READ_GRAPH"}
    assert all(each.domain == "PERMISSIONS" for each in BUILTIN_ACTIONS.values())


def test_every_delegation_vector_becomes_a_world() -> None:
    """All 144 cases can be put into a view, edges that Remit refuses to make included."""
    cases = delegation_cases()

    for case in cases:
        apply_changes(View(), case.changes, Journal(keep=False), revision=1, at=case.at)
    assert len(cases) == 144
    assert len({each.name for each in cases}) == 144
    assert sum(each.decision for each in cases) == 60
    assert all(bool(each.reasons) is not each.decision for each in cases)


def test_a_shown_chain_and_claims_travel_with_the_request() -> None:
    """The mapping keeps what the request says, as evidence or as mere claim."""
    cases = {each.name: each for each in delegation_cases()}

    assert cases["chain/nothing-shown"].request["context"] == {"proof": []}
    assert cases["narrow/claims-do-not-help"].request["subject"]["properties"]["role"] == "owner"
    assert cases["chain/look-alike-subject"].request["subject"]["type"] == "Instance"


@pytest.mark.parametrize("edges", [1, 50, 1000])
def test_a_big_world_has_exactly_the_edges_asked_for(edges: int) -> None:
    """The generator is deterministic and breaks no law."""
    made = big_world(edges)

    assert len(made.edges) == edges
    assert big_world(edges) == made
    assert check_world(made) == ()
    assert sum(each.kind == "edge.begin" for each in iter_changes(made)) == edges


@pytest.mark.parametrize("name", ["example", "seo"])
def test_a_view_takes_a_world_in(name: str) -> None:
    """The changes of a world make a view that holds it."""
    loaded = load_world_file(WORLDS / f"{name}.yaml")
    view = _view(loaded)

    assert view.realm == loaded.realm
    assert dict(view.edges) == dict(loaded.edges)
    assert dict(view.principals) == dict(loaded.principals)
    assert {key: each.attributes for key, each in view.resources.items()} == dict(loaded.resources)
    assert view.authority_epoch == loaded.epochs.authority


def _view(loaded: World) -> View:
    view = View()
    apply_changes(view, changes_of(loaded), Journal(keep=False), revision=0, at=0)
    return view
