"""Export: a world as text, byte-stable, and as JSON for programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from remit_graph.world import (
    Epochs,
    diff_worlds,
    dump_world,
    load_world,
    load_world_file,
    schema,
    summary,
    world_schema,
)
from remit_graph.world.flow import flow
from tests.support.worlds import WORLDS, world

NAMES = sorted(each.stem for each in WORLDS.glob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_a_world_loads_back_from_its_dump(name: str) -> None:
    """`load(dump(w)) == w` for every world of the fixtures, and the bytes are stable."""
    loaded = load_world_file(WORLDS / f"{name}.yaml")
    text = dump_world(loaded)

    again = load_world(text, file=name)

    assert again == loaded
    assert dump_world(again) == text


TAIL = """\
owns:
  - {edge_id: own, from: "controller:seo", to: "post:*", fields: [canonical]}
grants:
  - {edge_id: z, edge: MAY_READ, from: "role:editor", to: "post:*", valid_until: 2030-01-01T01:00:00+01:00}
  - {edge_id: a, edge: MAY_WRITE, from: "role:editor", to: "post:1", issuer: "controller:seo", scope: {fields: []}}
may_delegate:
  - {edge_id: r, from: "controller:seo", to: "role:agent", scope: {fields: [canonical]}}
delegations:
  - {delegation_id: d, from: "controller:seo", to: "role:agent"}
keys: {aliases: {"article:{id}": "post:{id}"}, affects: [{from: "site:a", to: "post:1", count: 2}]}
"""

DUMP = """\
realm: acme
root: ["organization:acme"]
dimensions: [environment, resource_type, site]
resource_types:
  post:
    key: "post:{id}"
    concurrency: WRITE_OPTIMISTIC
    lock_rank: 30
    fields:
      body: {domain: CONTENT_BODY, merge: exclusive, managed: true}
      canonical: {domain: CANONICAL, merge: exclusive, managed: true}
  site:
    key: "site:{id}"
    concurrency: WRITE_EXCLUSIVE
    lock_rank: 30
actions:
  READ: {class: read, risk: LOW, reversible: false}
  UPDATE_BODY: {class: write, risk: LOW, reversible: false, fields: [body]}
  UPDATE_CANONICAL: {class: write, risk: LOW, reversible: false, fields: [canonical]}
principals:
  - {id: "controller:content"}
  - {id: "controller:seo"}
  - {id: "human:editor"}
  - {id: "instance:a", acts_as: ["role:agent"]}
  - {id: "instance:b", member_of: ["team:seo"]}
  - {id: "instance:c"}
  - {id: "organization:acme"}
  - {id: "role:agent"}
  - {id: "role:editor"}
  - {id: "team:seo"}
resources:
  - {key: "post:1", part_of: ["site:a"]}
  - {key: "site:a"}
keys:
  aliases:
    "article:{id}": "post:{id}"
  affects:
    - {from: "site:a", to: "post:1", count: 2}
owns:
  - {edge_id: own, from: "controller:seo", to: "post:*", fields: [canonical]}
grants:
  - {edge_id: a, edge: MAY_WRITE, from: "role:editor", to: "post:1", scope: {fields: []}, issuer: "controller:seo"}
  - {edge_id: z, edge: MAY_READ, from: "role:editor", to: "post:*", valid_until: "2030-01-01T00:00:00Z"}
may_delegate:
  - {edge_id: r, from: "controller:seo", to: "role:agent", scope: {fields: [canonical]}}
delegations:
  - {delegation_id: d, from: "controller:seo", to: "role:agent", scope: {fields: [canonical]}, under: r, max_depth: 4}
"""


def test_a_dump_is_sorted_and_leaves_defaults_out() -> None:
    """One entry a line, in the order of the grammar, nothing that the loader fills in by itself."""
    assert dump_world(world(TAIL)) == DUMP


def test_stamps_that_are_not_the_usual_ones_are_written() -> None:
    """An export of a graph with a past says what a file would not: epochs, versions, foundations."""
    loaded = world("""\
epochs: {authority: 4, minimum_authority: {write: 3}}
owns:
  - {edge_id: own, from: "controller:seo", to: "post:*", ownership_epoch: 5, version: 2}
grants:
  - {edge_id: g, edge: MAY_READ, from: "role:editor", to: "post:*", epoch: 2,
     rests_on: [{edge_id: own, ownership_epoch: 4}]}
memberships:
  - {edge: ACTS_AS, from: "human:editor", to: "role:editor", epoch: 3, edge_id: m}
""")
    text = dump_world(loaded)

    assert "epochs: {authority: 4, minimum_authority: {read: 0, write: 3}}\n" in text
    assert '  - {edge_id: own, from: "controller:seo", to: "post:*", ownership_epoch: 5, version: 2}\n' in text
    assert "rests_on: [{edge_id: own, ownership_epoch: 4}], epoch: 2}\n" in text
    assert 'acts_as: [{to: "role:editor", edge_id: m, epoch: 3}]' in text
    assert load_world(text) == loaded


@pytest.mark.parametrize(
    "value",
    [
        "",
        "no",
        "Yes",
        "null",
        "1",
        "007",
        "1e3",
        "2027-01-01",
        "~",
        "a b",
        "a: b",
        "#",
        'q"\\',
        "\u2028",
        "\x7f\x00",
        "\U0001f600\u202e",
    ],
)
def test_any_string_is_read_back_by_any_reader(value: str) -> None:
    """What could be taken for something else is quoted."""
    assert yaml.safe_load(flow({"a": [value]})) == {"a": [value]}


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (-7, "-7"), ((), "[]"), ({}, "{}"), ("a-b.c_d", "a-b.c_d")]
)
def test_plain_values_are_written_plainly(value: object, text: str) -> None:
    """Names need no quotes."""
    assert flow(value) == text


def test_differences_are_listed_for_people_and_programs() -> None:
    """A line for people names the members that changed; the record has both sides."""
    before = world(
        'grants:\n  - {edge_id: g, edge: MAY_READ, from: "role:editor", to: "post:*", scope: {actions: [READ]}}\n'
    )
    after = replace(world(), epochs=Epochs(authority=2), resources={"site:a": {"environment": "production"}})

    differences = diff_worlds(before, after)

    assert [str(each) for each in differences] == [
        "~ epochs authority: authority 1 -> 2",
        "- resource post:1",
        "~ resource site:a: attributes none -> {'environment': 'production'}",
        "- edge g: MAY_READ role:editor -> post:*",
    ]
    assert differences[1].record() == {
        "kind": "removed",
        "noun": "resource",
        "id": "post:1",
        "before": {"key": "post:1"},
    }
    assert summary(differences) == "none to add, 2 to change, 2 to remove"


def test_the_published_schema_is_that_of_the_grammar() -> None:
    """The file that editors read is written from the grammar that the loader reads by."""
    published = Path(schema.__file__).with_name("world.schema.json")

    assert published.read_text() == schema.schema_text()


@pytest.mark.parametrize("name", NAMES)
def test_the_published_schema_accepts_every_world(name: str) -> None:
    """Editors find no fault in what the loader accepts."""
    document = yaml.load((WORLDS / f"{name}.yaml").read_text(), Loader=_strings_for_times())  # noqa: S506 - a safe loader

    assert list(jsonschema_rs.validator_for(world_schema()).iter_errors(document)) == []


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"realm": "a", "ownz": []},
        {"realm": "a", "grants": [{"edge_id": "g", "edge": "MAY_WRIT", "from": "role:a", "to": "post:1"}]},
        {"realm": "a", "grants": [{"edge": "MAY_READ", "from": "role:a", "to": "post:1"}]},
        {"realm": "a", "principals": [{"id": "role:a", "trust": 1.5}]},
        {"realm": "a", "resource_types": {"x": {"key": "x:{id}", "concurrency": "SOMETIMES"}}},
    ],
)
def test_the_published_schema_refuses_what_the_loader_refuses(document: object) -> None:
    """Unknown keys, missing members and closed sets are marked while typing."""
    assert not jsonschema_rs.validator_for(world_schema()).is_valid(document)


def _strings_for_times() -> type[yaml.SafeLoader]:
    """Return a loader that leaves times as the strings that were written, as editors do."""
    resolvers = {
        first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return type("Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": resolvers})
