"""World files: what loads, and that every fault is named at once with file, line, rule and advice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remit_graph.model.edge import EdgeType
from remit_graph.world import WorldRefused, load_world, load_world_file
from tests.support.worlds import HEAD, HEAD_LINES, WORLDS, faults, messages, problems_of, world

if TYPE_CHECKING:
    from pathlib import Path

GRANT = 'grants:\n  - {edge_id: g, edge: MAY_WRITE, from: "role:editor", to: "post:*"'


def test_the_example_of_the_model_loads() -> None:
    """The example file says what the model says it says."""
    loaded = load_world_file(WORLDS / "example.yaml")

    assert loaded.realm.name == "acme"
    assert loaded.realm.root == ("organization:acme",)
    assert loaded.resource_types["wp:template"].escalate_at == 100
    assert loaded.aliases == {"wordpress:article:{id}": "wp:post:{id}"}
    assert loaded.resources["wp:post:1024"] == {"resource_type": "product_page"}
    delegation = loaded.edges["del_882"]
    assert (delegation.under, delegation.max_depth, delegation.issuer) == ("d-seo@1", 1, "controller:seo-control-plane")
    assert loaded.edges["g-editor"].rests_on == (("own-body", 1),)
    effect = next(each for each in loaded.edges.values() if each.edge is EdgeType.AFFECTS)
    assert (effect.count, effect.domains) == (12842, ("CONTENT_BODY", "SEO_METADATA"))
    assert loaded.enforcement_points["service:gateway"].visibility == "full"


def test_every_fault_of_a_file_is_named_at_once() -> None:
    """Faults of syntax, shape, reference and law are collected, ordered by line, and nothing is applied."""
    text = """\
realm: acme
root: ["organization:acme"]
ownz: []
resource_types:
  post: {key: "post:{id}", concurrency: SOMETIMES}
  page: {key: "page:{id}", concurrency: WRITE_OPTIMISTIC, fields: {body: {domain: CONTENT_BODY}}}
actions:
  READ: {class: reading}
principals:
  - {id: "organization:acme", trust: 1.5}
  - {id: "wizard:merlin"}
  - {id: "role:a", trust: "high"}
grants:
  - {edge_id: g1, edge: MAY_WRIT, from: "role:a", to: "post:*"}
  - {edge_id: g2, edge: MAY_READ, from: "role:b", to: "post:*"}
  - {edge_id: g3, edge: MAY_READ, from: "role:a", to: "book:*"}
"""

    found = [(each.line, each.code, each.message.partition(" ")[0]) for each in problems_of(text)]

    assert found == [
        (3, "malformed_request", "a"),
        (5, "malformed_request", "`SOMETIMES`"),
        (6, "malformed_request", "resource"),
        (8, "malformed_request", "`reading`"),
        (10, "malformed_request", "`1.5`"),
        (11, "malformed_request", "`wizard:merlin`:"),
        (12, "malformed_request", "`high`"),
        (14, "malformed_request", "`MAY_WRIT`"),
        (15, "unknown_subject", "`g2`:"),
        (16, "unknown_resource", "`book:*`"),
    ]


def test_a_problem_says_file_line_rule_and_what_to_do() -> None:
    """One problem is one line that a person can act on."""
    first = problems_of("realm: acme\nownz: []\n")[0]

    assert str(first).startswith("w.yaml:2: a world has no section `ownz` [malformed_request]; known are realm, root, ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "a world is a mapping"),
        ("realm: 7\n", "the number `7` is not the realm's name"),
        ("root: []\n", "a world needs `realm`"),
        ("realm: a\nroot: x\n", "`x` is not a list"),
        ("realm: a\nmax_delegation_depth: 65\n", "`max_delegation_depth` is a whole number from 1 to 64, not `65`"),
        (
            "realm: a\nsubject_types: {user: human, person: human}\n",
            "subject types map one to one to kinds of principals",
        ),
        ("realm: a\nresource_types: []\n", "a list is not a mapping"),
        ("realm: a\nprincipals: {}\n", "a mapping is not a list"),
    ],
)
def test_a_head_of_the_wrong_shape_is_refused(text: str, message: str) -> None:
    """The realm's own settings are as strict as everything else."""
    assert message in [each.message for each in problems_of(text)]


@pytest.mark.parametrize(
    "when", ["1767225600", "1767225600000", "1767225600000000", "1767225600000000000", '"1767225600"', "2027-01-01"]
)
def test_a_time_that_is_not_rfc_3339_is_refused(when: str) -> None:
    """Numbers of any unit and dates without a clock are no times (F020)."""
    assert faults(f"{GRANT}, valid_until: {when}}}\n") == [(2, "malformed_request")]


def test_a_time_without_offset_is_refused() -> None:
    """Two readers would take it for two moments (F022)."""
    assert faults(f"{GRANT}, valid_from: 2027-02-01T00:00:00}}\n") == [(2, "malformed_request")]


@pytest.mark.parametrize(
    "when",
    ["2027-02-01T00:00:00+09:00", '"2027-01-31T15:00:00Z"', "2027-01-31T07:00:00-08:00", "2027-01-31T15:00:00.000000Z"],
)
def test_equal_instants_in_any_notation_are_one(when: str) -> None:
    """The offset is a way to write an instant, not a part of it (F022)."""
    assert world(f"{GRANT}, valid_from: {when}}}\n").edges["g"].valid_from == 1_801_407_600_000_000


@pytest.mark.parametrize("resources", ["null", '[""]', '[":"]', '["post::1"]', '"post:1"', "[[[post]]]"])
def test_an_empty_or_bare_selector_is_refused(resources: str) -> None:
    """What might be read as 'everything' is not read at all (F031)."""
    assert faults(f"{GRANT}, scope: {{resources: {resources}}}}}\n") != []


def test_an_empty_list_is_kept_and_covers_nothing() -> None:
    """An empty list is a limit, not a missing one (F031)."""
    loaded = world(f"{GRANT}, scope: {{actions: []}}}}\n")

    assert loaded.edges["g"].scope.actions == ()
    assert loaded.edges["g"].scope.is_empty


@pytest.mark.feature("S19")
@pytest.mark.parametrize(
    ("section", "code"),
    [
        ('owns:\n  - {edge_id: o, from: "human:editor", to: "post:*"}\n', "malformed_request"),
        (
            'grants:\n  - {edge_id: g, edge: MAY_WRITE, from: "role:editor", to: "post:*", issuer: "instance:a"}\n',
            "not_owner",
        ),
        ('grants:\n  - {edge_id: g, edge: MAY_WRIT, from: "role:editor", to: "post:*"}\n', "malformed_request"),
        ('memberships:\n  - {edge: ACTS_AS, from: "role:agent", to: "role:editor"}\n', "malformed_request"),
        ('memberships:\n  - {edge: MEMBER_OF, from: "role:agent", to: "role:editor"}\n', "malformed_request"),
        ('coordinates:\n  - {from: "post:*", to: "site:a"}\n', "malformed_resource_key"),
        ('reports_to:\n  - {from: "human:editor", to: "human:editor"}\n', "delegation_cycle"),
        ('may_delegate:\n  - {edge_id: d, from: "controller:seo", to: "post:1"}\n', "malformed_request"),
    ],
)
def test_an_edge_of_a_shape_the_model_forbids_is_refused(section: str, code: str) -> None:
    """File, line and rule are named for each, and nothing is applied (F036)."""
    assert faults(section) == [(2, code)]


@pytest.mark.parametrize(
    ("scope", "code"),
    [
        ("{actions: [FLY]}", "unknown_action"),
        ("{fields: [colour]}", "unknown_field"),
        ("{where: {planet: [mars]}}", "condition_unknown"),
        ('{resources: ["book:1"]}', "unknown_resource"),
        ("{quota: 5}", "malformed_request"),
        ("{conditions: [{attribute: risk, at_most: ENORMOUS}]}", "condition_unknown"),
        ("{conditions: [{attribute: risk, below: HIGH}]}", "malformed_request"),
        ("{conditions: [{attribute: moon.phase, equals: full}]}", "malformed_request"),
        ("{conditions: [{attribute: risk, equals_attribute: moon.phase}]}", "condition_unknown"),
        ("{conditions: [{attribute: risk, equals: LOW, in: [LOW]}]}", "malformed_request"),
    ],
)
def test_a_scope_names_only_what_is_known(scope: str, code: str) -> None:
    """A name that means nothing is refused where it is written."""
    assert faults(f"{GRANT}, scope: {scope}}}\n") == [(2, code)]


def test_scale_values_are_not_checked_where_scales_are_not_known() -> None:
    """Scales are policy data: without them the value stands and is judged at use."""
    tail = f"{GRANT}, scope: {{conditions: [{{attribute: risk, at_most: ENORMOUS}}]}}}}\n"

    assert world(tail, scales=None).edges["g"].scope.conditions[0].value == "ENORMOUS"


@pytest.mark.parametrize(
    ("types", "line"),
    [
        ('  one: {key: "a:{id}"}\n  two: {key: "a:{name}"}\n', 3),
        ('  one: {key: "a:{path}"}\n  two: {key: "a:{x}:{y}"}\n', 3),
        ('  "remit:graph": {key: "x:{id}"}\n', 2),
        ('  one: {key: "remit:graph"}\n', 2),
        ('  one: {key: "{id}"}\n', 2),
        ('  one: {key: "a:{path}:b"}\n', 2),
        ('  one: {key: "a:{id}:{id}"}\n', 2),
        ("  one: {concurrency: READ_SHARED}\n", 2),
    ],
)
def test_types_that_tie_or_are_malformed_are_refused(types: str, line: int) -> None:
    """A key belongs to one type, and templates say which."""
    assert [each.line - 1 for each in problems_of(f"realm: a\nresource_types:\n{types}")] == [line]


def test_faulty_types_do_not_tie_with_each_other() -> None:
    """What cannot be read is reported as that, and not as something else too."""
    text = "realm: a\nresource_types:\n  one: {}\n  two: {stored: 1}\n"

    assert [(each.line, each.message) for each in problems_of(text)] == [
        (3, "a resource type needs `key`"),
        (4, "the number `1` is neither true nor false"),
        (4, "a resource type needs `key`"),
    ]


def test_a_faulty_effect_is_reported_once() -> None:
    """A section that is read in two steps names its faults once."""
    assert messages('keys:\n  affects:\n    - {from: "site:a", to: "post:1"}\n') == ["an effect needs `count`"]


def test_a_more_literal_template_is_no_tie() -> None:
    """`site:{id}:robots` stands beside `site:{id}:{section}`."""
    text = 'realm: a\nresource_types:\n  one: {key: "site:{id}:robots"}\n  two: {key: "site:{id}:{section}"}\n'

    assert set(load_world(text).resource_types) == {"one", "two"}


@pytest.mark.parametrize(
    ("aliases", "code"),
    [
        ('{"x:{id}": "book:{id}"}', "unknown_resource"),
        ('{"x:{id}": "post:{name}"}', "malformed_request"),
        ('{"post:{id}": "site:{id}"}', "malformed_resource_key"),
        ('{"x:{id}": "post:{id}", "x:{path}": "site:{path}"}', "malformed_resource_key"),
    ],
)
def test_an_alias_leads_to_one_registered_type(aliases: str, code: str) -> None:
    """An alias that ties, shadows a type or leads nowhere is refused."""
    assert faults(f"keys:\n  aliases: {aliases}\n") == [(2, code)]


@pytest.mark.feature("S48")
def test_an_edge_is_written_with_the_canonical_key() -> None:
    """An alias in an edge is refused, with the way to write it."""
    tail = """\
keys:
  aliases: {"article:{id}": "post:{id}"}
grants:
  - {edge_id: g, edge: MAY_READ, from: "role:agent", to: "article:1"}
"""

    found = problems_of(HEAD + tail)

    assert [(each.line - HEAD_LINES, each.code, each.advice) for each in found] == [
        (4, "malformed_resource_key", "write it as `post:{id}`")
    ]


def test_an_identity_belongs_to_one_principal() -> None:
    """The second owner of an identity is named."""
    text = """\
realm: a
principals:
  - {id: "instance:a", identities: ["key:x"]}
  - {id: "instance:b", identities: ["key:x"]}
"""

    assert [(each.line, each.code) for each in problems_of(text)] == [(4, "already_exists")]


def test_an_enforcement_point_may_share_its_identity_with_its_own_principal() -> None:
    """A service that asks and acts is one caller."""
    text = """\
realm: a
principals: [{id: "service:a", identities: ["key:x"]}]
enforcement_points: [{id: "service:a", identities: ["key:x"]}]
"""

    assert load_world(text).enforcement_points["service:a"].identities == ("key:x",)


@pytest.mark.parametrize(
    "section",
    [
        'principals:\n  - {id: "role:a"}\n  - {id: "role:a"}\n',
        'resources:\n  - {key: "remit:graph"}\n  - {key: "remit:graph"}\n',
        'enforcement_points:\n  - {id: "service:a"}\n  - {id: "service:a"}\n',
    ],
)
def test_a_name_is_declared_once(section: str) -> None:
    """The second declaration is refused."""
    assert (4, "already_exists") in [(each.line, each.code) for each in problems_of(f"realm: a\n{section}")]


@pytest.mark.parametrize(
    ("text", "line", "code"),
    [
        ('root: ["organization:x"]\n', 2, "unknown_subject"),
        ('enforcement_points: [{id: "service:x", speaks_for: ["human:nobody"]}]\n', 2, "unknown_subject"),
        ("actions: {A: {class: write, fields: [colour]}}\n", 2, "unknown_field"),
        ("actions: {GRANT: {class: write}}\n", 2, "already_exists"),
        ('resources: [{key: "book:1"}]\n', 2, "unknown_resource"),
        ("epochs: {authority: 3, minimum_authority: {read: 4}}\n", 2, "stale_authority_epoch"),
    ],
)
def test_a_dangling_reference_is_refused(text: str, line: int, code: str) -> None:
    """What is named is declared."""
    assert [(each.line, each.code) for each in problems_of(f"realm: a\n{text}")] == [(line, code)]


def test_stored_types_want_their_resources_declared() -> None:
    """A selector without wildcard that names an undeclared resource of a stored type is a dangling reference."""
    text = """\
realm: a
root: ["organization:a"]
resource_types: {record: {key: "record:{id}", stored: true}}
principals: [{id: "organization:a"}]
resources: [{key: "record:1"}]
grants:
  - {edge_id: g1, edge: MAY_READ, from: "organization:a", to: "record:1"}
  - {edge_id: g2, edge: MAY_READ, from: "organization:a", to: "record:*"}
  - {edge_id: g3, edge: MAY_READ, from: "organization:a", to: "record:2"}
"""

    assert [(each.line, each.code) for each in problems_of(text)] == [(9, "unknown_resource")]


def test_resource_edges_join_declared_resources() -> None:
    """A typing error in `part_of` is a dangling reference, not a new place."""
    assert messages('coordinates:\n  - {from: "post:1", to: "site:b"}\n') == [
        "`must_coordinate_with:post:1>site:b`: to `site:b` is not declared under `resources`"
    ]


def test_structure_does_not_run_in_circles() -> None:
    """A circle of memberships is named with all its ends, at the line that closes it."""
    tail = """\
memberships:
  - {edge: MEMBER_OF, from: "team:seo", to: "organization:acme"}
  - {edge: MEMBER_OF, from: "organization:acme", to: "team:seo"}
"""

    assert messages(tail) == ["MEMBER_OF runs in a circle: `organization:acme` -> `team:seo` -> `organization:acme`"]


def test_parts_do_not_run_in_circles() -> None:
    """What is part of itself over others is refused."""
    text = """\
realm: a
root: ["organization:a"]
resource_types: {thing: {key: "thing:{id}"}}
principals: [{id: "organization:a"}]
resources:
  - {key: "thing:1", part_of: ["thing:2"]}
  - {key: "thing:2", part_of: ["thing:1"]}
"""

    assert [each.message for each in problems_of(text)] == [
        "PART_OF runs in a circle: `thing:1` -> `thing:2` -> `thing:1`"
    ]


def test_a_floor_of_faults_does_not_hide_the_count() -> None:
    """A file with more faults than are kept says how many were left out."""
    text = "realm: a\n" + "".join(f"x{n}: 1\n" for n in range(250))

    with pytest.raises(WorldRefused) as refused:
        load_world(text)

    assert len(refused.value.problems) == 200
    assert refused.value.message.endswith("and 50 more")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are a fault of the file, not a traceback."""
    path = tmp_path / "w.yaml"
    path.write_bytes(b"realm: a\nroot: \xff\n")

    with pytest.raises(WorldRefused) as refused:
        load_world_file(path)

    assert refused.value.message == (
        f"{path}:2: not UTF-8: invalid start byte at byte 15 [malformed_request]; save it as UTF-8"
    )
