"""`check_world`: what got into a store otherwise is found and named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.principal import Principal
from remit_graph.model.scope import Scope, parse_scope
from remit_graph.world import check_world, load_world_file
from remit_graph.world.confusable import skeleton
from tests.support.worlds import SCALES, WORLDS, world


def raw(
    edge_id: str, edge: EdgeType, from_: str, to: str, *, scope: Scope | None = None, issuer: str | None = None
) -> Edge:
    """Return an edge that no law has seen."""
    return Edge(
        edge_id=edge_id,
        version=1,
        edge=edge,
        from_=from_,
        to=to,
        scope=scope or Scope(),
        epoch=1,
        issuer=issuer or "organization:acme",
    )


@pytest.mark.parametrize("name", sorted(each.stem for each in WORLDS.glob("*.yaml")))
def test_a_world_that_loads_has_no_findings(name: str) -> None:
    """The check asks nothing that loading has not asked."""
    assert check_world(load_world_file(WORLDS / f"{name}.yaml"), scales=SCALES) == ()


def test_edges_of_forbidden_shapes_are_listed() -> None:
    """An owner that cannot own, a grant by a stranger, and a wide delegation are each named (F036)."""
    base = world('may_delegate:\n  - {edge_id: r, from: "controller:seo", to: "role:agent", scope: {fields: [body]}}\n')
    edges = {
        **base.edges,
        "bad-owner": raw("bad-owner", EdgeType.OWNS, "human:editor", "post:2"),
        "bad-issuer": raw("bad-issuer", EdgeType.MAY_WRITE, "role:editor", "post:*", issuer="instance:a"),
        "bad-scope": raw("bad-scope", EdgeType.MAY_READ, "role:editor", "post:*", scope=parse_scope({"quota": 1})),
        "own": raw("own", EdgeType.OWNS, "controller:seo", "post:1"),
        "wide": replace(raw("wide", EdgeType.DELEGATES, "controller:seo", "role:agent"), under="r@1", max_depth=1),
    }
    edges["wide"] = replace(edges["wide"], scope=Scope(fields=("canonical",)))

    found = check_world(replace(base, edges=edges))

    assert [(each.id, each.code) for each in found] == [
        ("bad-issuer", "not_owner"),
        ("bad-owner", "malformed_request"),
        ("bad-scope", "condition_unknown"),
        ("wide", "attenuation_violated"),
    ]
    assert found[0].record() == {
        "noun": "edge",
        "id": "bad-issuer",
        "code": "not_owner",
        "message": "`bad-issuer`: MAY_WRITE is issued by `instance:a`, which is neither root nor owner of `post:*`",
    }


def test_names_that_look_alike_are_flagged() -> None:
    """A Cyrillic letter makes another resource, and a person is told (F038)."""
    base = world()
    twin = "post:p\u0430ge"
    resources = {**base.resources, "post:page": {}, twin: {}, "post:\u043f\u0440": {}}
    principals = {**base.principals, "role:\u0435ditor": Principal(id="role:\u0435ditor")}

    found = check_world(replace(base, resources=resources, principals=principals))

    assert [(each.noun, each.id, each.code) for each in found] == [
        ("principal", "role:\u0435ditor", "confusable"),
        ("resource", twin, "confusable"),
    ]
    assert found[1].message == f"`{twin}` looks like `post:page` and is not the same"


def test_a_stored_name_that_was_never_normalised_is_reported() -> None:
    """Old rows are named, never silently changed (F038)."""
    base = world()
    decomposed = "post:gru\u0308n"

    found = check_world(replace(base, resources={**base.resources, decomposed: {}}))

    assert [(each.id, each.code) for each in found] == [(decomposed, "malformed_resource_key")]


def test_letters_of_one_script_look_like_nothing_else() -> None:
    """Only letters that pass for Latin ones are mapped."""
    assert skeleton("\u0440\u0430\u0443") == "pay"
    assert skeleton("\u0416\u03a9") == "\u0416\u03a9"
    assert skeleton("\uff41") == "a"
