"""The pure parts of the Neo4j ledger: properties, digests, names of nodes, references, waves of a plan, proposals."""

from __future__ import annotations

from typing import Any

import pytest

from remit_graph.errors import LedgerUnavailable, ModelError
from remit_graph.model.change import Change
from remit_graph.neo4j.database import Database
from remit_graph.neo4j.nouns import is_noun, label_of, named_by, noun_of
from remit_graph.neo4j.options import Neo4jOptions
from remit_graph.neo4j.place import MAX_ROWS, first_place, last_place, place_of, revision_of
from remit_graph.neo4j.plan import Step, Wave, plan
from remit_graph.neo4j.properties import (
    MODULUS,
    OF_EDGES,
    OF_ENTITIES,
    digest_of,
    digest_of_end,
    flatten,
    full_digest,
)
from remit_graph.neo4j.proposal import proposed
from remit_graph.neo4j.references import proofs_of, references_of
from remit_graph.neo4j.store import require_server
from tests.contract.ledger_commands import edge_begin, edges_end

SCOPE = {
    "actions": ["UPDATE_CANONICAL"],
    "resources": ["wp:post:*"],
    "fields": [],
    "where": {"environment": ["production"]},
    "conditions": [{"attribute": "risk", "at_most": "LOW"}, {"attribute": "context.n", "in": [1, "two"]}],
}


@pytest.mark.parametrize(
    ("record", "properties"),
    [
        ({"a": "x", "b": 1, "c": True, "d": None}, {"a": "x", "b": 1, "c": True}),
        ({"a": ["x"], "b": [1, 2], "c": [], "d": [True]}, {"a": ["x"], "b": [1, 2], "c": [], "d": [True]}),
        ({"a": [1, "x"], "b": [True, 1], "c": [None]}, {"a": '[1,"x"]', "b": "[true,1]", "c": "[null]"}),
        ({"a": {"b": {"c": 1}}, "d": [["x"]]}, {"a": '{"b":{"c":1}}', "d": '[["x"]]'}),
        ({"a": 2**63, "b": [2**64], "c": -(2**63)}, {"a": str(2**63), "b": f"[{2**64}]", "c": -(2**63)}),
        (
            {"attributes": {"team": "seo", "n": [1]}},
            {"attributes": '{"n":[1],"team":"seo"}', "attribute_team": "seo", "attribute_n": [1]},
        ),
        ({"attributes": ["x"]}, {"attributes": ["x"]}),
    ],
    ids=["scalars", "lists", "mixed lists", "nested", "beyond 64 bits", "attributes", "attributes of another kind"],
)  # fmt: skip
def test_a_record_is_flattened_without_loss(record: dict[str, Any], properties: dict[str, Any]) -> None:
    """What Neo4j can hold keeps name and value, all else is JSON under its name."""
    assert flatten(record) == properties


def test_a_scope_stands_in_full_and_as_filters() -> None:
    """Cypher can filter on each dimension; one that does not narrow is absent, an empty one is an empty list."""
    found = flatten({"scope": SCOPE})

    assert found.pop("scope").startswith('{"actions":["UPDATE_CANONICAL"],')
    assert found == {
        "scope_actions": ["UPDATE_CANONICAL"],
        "scope_resources": ["wp:post:*"],
        "scope_fields": [],
        "where_environment": ["production"],
        "scope_conditions": ["risk at_most LOW", 'context.n in [1,"two"]'],
    }


def test_a_scope_of_several_lists_shows_all_selectors() -> None:
    """Where each of several lists must cover, the filter is wider than the truth, which stands in `scope`."""
    found = flatten({"scope": {"resources": [["b:*"], ["a", "b:*"]], "volume": 3}})

    assert (found["scope_resources"], found["scope_unknown"]) == (["a", "b:*"], ["volume"])


def test_a_digest_is_the_same_after_the_store() -> None:
    """It covers every property but those that only the store knows, and grows by what ends an element."""
    properties = {"id": "l-1", "n": 1, "tags": ["a"]}
    ended = {"revision_to": 7, "ended_status": "RELEASED"}
    before, added = digest_of(properties, OF_ENTITIES), digest_of_end(ended)

    stored = {**properties, "ref": "lease/l-1", "revision_from": 3, "row_digest": before}
    assert full_digest(stored, OF_ENTITIES) == before
    assert full_digest({**stored, **ended}, OF_ENTITIES) == (before + added) % MODULUS
    assert digest_of_end(properties) == 0
    assert 0 <= before < MODULUS


@pytest.mark.parametrize("edit", [{"n": 2}, {"n": "1"}, {"n": True}, {"tags": []}, {"more": 1}, {"id": 1.5}])
def test_any_edit_changes_a_digest(edit: dict[str, Any]) -> None:
    """Another value, another kind of value, one more: also values that the ledger never writes."""
    properties = {"id": "l-1", "n": 1, "tags": ["a"]}

    assert digest_of({**properties, **edit}, OF_EDGES) != digest_of(properties, OF_EDGES)


def test_places_order_all_rows() -> None:
    """One number for each row, in the order of revision and sequence."""
    places = [place_of(1, 0), place_of(1, 7), place_of(2, 0), place_of(2, MAX_ROWS - 1), place_of(3, 0)]

    assert places == sorted(places)
    assert [revision_of(each) for each in places] == [1, 1, 2, 2, 3]
    assert (first_place(2), last_place(2)) == (places[2], places[3])
    with pytest.raises(ModelError):
        place_of(2, MAX_ROWS)


@pytest.mark.parametrize(
    ("noun", "label"), [("lease", "Lease"), ("resource_type", "ResourceType"), ("api_key", "ApiKey")]
)
def test_nouns_and_labels_go_both_ways(noun: str, label: str) -> None:
    """A label names its noun, current or ended."""
    assert (label_of(noun), noun_of(label), noun_of(f"Was{label}")) == (label, noun, noun)


@pytest.mark.parametrize("noun", ["", "edge", "head", "change", "part", "Lease", "a b", "a-b", "a__b", "entity"])
def test_a_noun_that_would_meet_the_ledgers_own_labels_is_none(noun: str) -> None:
    """Nothing that is appended can pose as a node of the ledger itself."""
    assert not is_noun(noun)


def test_a_record_that_does_not_name_itself_has_no_node() -> None:
    """It stays in the log alone."""
    assert [named_by("lease", each) for each in ({}, {"id": None}, {"id": True}, {"id": ["x"]})] == [None] * 4
    assert named_by("resource", {"key": "wp:post:1", "id": "x"}) == (
        "resource/wp:post:1",
        "Resource",
        {"key": "wp:post:1"},
    )


def test_members_that_name_things_become_relationships() -> None:
    """Each is found by its ref, in the order of the members; what names nothing known is left alone."""
    lease = {
        "id": "l-1",
        "holder": "instance:seo-7",
        "resource_key": "wp:post:1",
        "keys": [{"key": "site:1"}, "site:2"],
    }
    receipt = {
        "id": "r-1",
        "lease_id": "l-1",
        "coordination_id": "c-1",
        "principal": "nobody",
        "approvers": ["human:a"],
    }
    own = [named_by("lease", lease), named_by("receipt", receipt)]
    assert own[0] is not None
    assert own[1] is not None

    found = [references_of(lease, own[0]), references_of(receipt, own[1])]

    assert [[(each["type"], each["ref"]) for each in some] for some in found] == [
        [
            ("HOLDER", "principal/instance:seo-7"),
            ("KEYS", "resource/site:1"),
            ("KEYS", "resource/site:2"),
            ("RESOURCE", "resource/wp:post:1"),
        ],
        [("APPROVERS", "principal/human:a"), ("COORDINATION", "operation/c-1"), ("LEASE", "lease/l-1")],
    ]


def test_a_thing_does_not_refer_to_itself() -> None:
    """A lease that repeats its id as `lease_id` has no relationship to itself."""
    lease = {"id": "l-1", "lease_id": "l-1"}
    own = named_by("lease", lease)
    assert own is not None

    assert references_of(lease, own) == []


def test_a_proof_lists_positions_in_their_order() -> None:
    """As texts or as objects, root first."""
    found = proofs_of({"proof": ["own@1", {"edge_id": "d", "version": 2}, "no position", 7], "chain": "x@1"})

    assert [(each["position"], each["ordinal"]) for each in found] == [("own@1", 0), ("d@2", 1)]


def _steps(*changes: Change) -> list[Step]:
    return [Step(5, 1_000, change) for change in changes]


def _shape(wave: Wave) -> tuple[int, int, int, int]:
    return len(wave.edge_ends), len(wave.entity_ends), len(wave.entity_puts), len(wave.edge_begins)


PUT = Change("principal.put", {"id": "instance:seo-7"})
END = Change("principal.end", {"id": "instance:seo-7"})


@pytest.mark.parametrize(
    ("changes", "waves"),
    [
        ([], []),
        ([Change("anchor", {"n": 1}), Change("thing.renew", {"id": "x"})], []),
        ([edges_end(("g-1", 1)), edge_begin("g-1", 2)], [(1, 0, 0, 1)]),
        ([edge_begin("g-1"), edges_end(("g-1", 1)), edge_begin("g-1", 2)], [(0, 0, 0, 1), (1, 0, 0, 1)]),
        ([END, PUT], [(0, 1, 1, 0)]),
        ([PUT, END], [(0, 0, 1, 0), (0, 1, 0, 0)]),
        ([PUT, PUT], [(0, 0, 1, 0)]),
        ([edge_begin("g-1"), END], [(0, 0, 0, 1), (0, 1, 0, 0)]),
        ([edge_begin("g-1"), PUT], [(0, 0, 1, 1)]),
        ([Change("lease.put", {"id": "l", "holder": "instance:seo-7"}), END], [(0, 0, 1, 0), (0, 1, 0, 0)]),
    ],
    ids=["nothing", "not in the graph", "amend", "begin, end, begin", "end, put", "put, end", "put twice",
         "begin, end of its end", "begin, put of its end", "refer, end"],
)  # fmt: skip
def test_changes_become_as_few_waves_as_their_order_allows(
    changes: list[Change], waves: list[tuple[int, int, int, int]]
) -> None:
    """What would run too early in the fixed order of a wave opens the next one."""
    assert [_shape(each) for each in plan(_steps(*changes))] == waves


@pytest.mark.parametrize(
    "change",
    [
        Change("edge.begin", {"version": 1}),
        Change("edge.begin", {"edge_id": "g-1"}),
        Change("edges.end", {"edges": ["g"]}),
    ],
    ids=["no id", "no version", "no pair"],
)  # fmt: skip
def test_a_change_of_edges_says_which(change: Change) -> None:
    """The ledger checks no law, but uniqueness needs the names."""
    with pytest.raises(ModelError):
        plan(_steps(change))


def test_an_edge_of_no_known_type_joins_nothing() -> None:
    """F036: it is unique like every edge and can be read, and no relationship of Cypher's shows it as authority."""
    waves = plan(
        _steps(Change("edge.begin", {"edge_id": "g-1", "version": 1, "edge": "MAY_WRIT", "from": "a", "to": "b"}))
    )

    assert [(each.query, each.label) for each in waves[0].edge_begins] == [("edges_begin_unjoined", "Unjoined")]


def test_a_proposal_prefers_what_was_edited() -> None:
    """Of an edge that has both, the filters count if they say other than the full scope; conditions stay."""
    properties = flatten({"edge_id": "g-1", "version": 2, "scope": SCOPE})
    row = {"type": "MAY_WRITE", "from": "role:a", "to": "wp:post:*", "properties": properties}

    assert proposed(row)["scope"] == SCOPE
    properties["scope_actions"] = ["DELETE_POST"]
    assert proposed(row)["scope"] == {**SCOPE, "actions": ["DELETE_POST"]}
    properties["scope"] = "no JSON"
    shown = {name: value for name, value in SCOPE.items() if name != "conditions"}
    assert proposed(row)["scope"] == {**shown, "actions": ["DELETE_POST"]}


class _Answering(Database):
    """A database that answers from a table instead of a server."""

    def __init__(self, **answers: list[dict[str, Any]]) -> None:
        self.options = Neo4jOptions(url="neo4j://host", password="pass-w0rd")
        self.url = self.options.url
        self._answers = answers

    async def alone(self, name: str, /, **_parameters: Any) -> list[dict[str, Any]]:
        return self._answers.get(name, [])


@pytest.mark.parametrize("version", ["4.4.38", "5.25.1", "5.9-aura"])
async def test_an_older_server_is_refused(version: str) -> None:
    """The error names both versions."""
    with pytest.raises(LedgerUnavailable, match=r"needs 5\.26 or later") as caught:
        await require_server(_Answering(server=[{"version": version, "edition": "community"}]))

    assert caught.value.facts["version"] == version


@pytest.mark.parametrize("version", ["5.26.28", "5.27-aura", "2026.10.1"])
async def test_a_later_server_is_accepted(version: str) -> None:
    """Neo4j numbers its versions by year since 2025."""
    await require_server(_Answering(server=[{"version": version, "edition": "enterprise"}]))


@pytest.mark.parametrize(("access", "writer"), [("read-only", True), ("read-write", False)])
async def test_a_member_that_takes_no_writes_is_refused(access: str, *, writer: bool) -> None:
    """A database that was set to read-only and a member that only follows are told at the start."""
    database = _Answering(
        server=[{"version": "5.26.28", "edition": "enterprise"}],
        may_write=[{"access": access, "writer": writer, "status": "online"}],
    )

    with pytest.raises(LedgerUnavailable, match="takes no writes") as caught:
        await require_server(database)

    assert "read_only" in caught.value.advice
