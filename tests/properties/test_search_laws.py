"""The law of search: a list is the set of single decisions that permit, in all three directions (F044)."""

from __future__ import annotations

import copy
import random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings

from remit_graph.model.change import Change
from remit_service.engines.ports import DECISION
from remit_service.search.likeness import shape_of
from tests.support.graphs import ACTIONS, KEYS, OWNER, PEOPLE, ROOT, Question, Record, edge, edges, graph, questions
from tests.support.policy_inputs import policy_input
from tests.support.scenario.stage import policy_with
from tests.support.searching import JUDGE, Judge, decided_one_by_one, searched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.view.state import View
    from remit_service.decision.decide import Prepared
    from remit_service.policy import Policy

DECLARED = [Change("resource.put", {"key": each}) for each in KEYS]
EVERYBODY = [ROOT, OWNER, *PEOPLE]


def directions(
    question: Question, view: View, principals: list[str], keys: list[str]
) -> Iterator[tuple[str, Any, list[str]]]:
    """Turn a question around: kind of search, body, and all there is of the kind."""
    kind, _, name = question.subject.partition(":")
    subject, resource = {"type": kind, "id": name}, {"type": "key", "id": question.key}
    action, context = {"name": question.action}, dict(question.context)
    namesakes = [each.partition(":")[2] for each in principals if each.startswith(f"{kind}:")]
    yield "subject", {"subject": {"type": kind}, "action": action, "resource": resource, "context": context}, namesakes
    yield "resource", {"subject": subject, "action": action, "resource": {"type": "key"}, "context": context}, keys
    yield "action", {"subject": subject, "resource": resource, "context": context}, list(view.actions)


@pytest.mark.feature("S20", "S27")
@given(found=edges(), question=questions())
@settings(max_examples=60)
def test_search_results_equal_single_decisions(found: list[Record], question: Question) -> None:
    """Whatever the graph, each search lists exactly what would be permitted, in order."""
    view = graph(found, DECLARED)

    for kind, body, everything in directions(question, view, EVERYBODY, KEYS):
        assert searched(view, kind, body) == decided_one_by_one(view, kind, body, everything)


def keys_of(chance: random.Random) -> list[str]:
    """Return 40 keys: short names, which stand in other facts too, or long ones, of which many are alike."""
    if chance.random() < 0.5:
        return [chance.choice([f"doc:{number}", f"doc:{number % 8}:part{number}"]) for number in range(40)]
    return [chance.choice([f"doc:paper-{number:03}", f"doc:{number % 3}:chapter-{number:03}"]) for number in range(40)]


def large_graph(chance: random.Random) -> tuple[View, list[str], list[str]]:
    """Return a graph of up to 40 principals and 40 resources with every kind of edge that carries authority."""
    people = [f"{chance.choice(['instance', 'role', 'team', 'human'])}:p{number}" for number in range(40)]
    keys = keys_of(chance)
    declared = [Change("principal.put", {"id": each, "trust": chance.choice([0, 3])}) for each in people]
    tiers = ["a", "a", "b", *(each.rpartition(":")[2] for each in chance.sample(keys, 2))]
    declared += [Change("resource.put", {"key": each, "attributes": {"tier": chance.choice(tiers)}}) for each in keys]
    own = edge("own", "OWNS", OWNER, "doc", issuer=ROOT, ownership_epoch=1)
    found = [any_edge(chance, f"e{number}", people, keys) for number in range(chance.randrange(20, 120))]
    return graph([own, *found], declared), [ROOT, OWNER, *PEOPLE, *people], keys


def any_edge(chance: random.Random, edge_id: str, people: list[str], keys: list[str]) -> Record:
    """Return an edge of a random kind between random ends, cycles included."""
    kind = chance.choice(["DELEGATES"] * 3 + ["ACTS_AS", "MEMBER_OF", "MAY_WRITE", "MAY_READ"])
    window = chance.choice([{}, {}, {}, {"valid_until": 1_000_000}, {"valid_from": 999_999}, {"valid_from": 1_000_001}])
    if kind in ("ACTS_AS", "MEMBER_OF"):
        return edge(edge_id, kind, chance.choice(people), chance.choice(people), **window)
    scope: dict[str, Any] = {}
    if chance.random() < 0.4:
        tail = chance.choice(keys).rpartition(":")[2]
        scope["conditions"] = [{"attribute": "resource.tier", "equals": chance.choice(["a", "a", tail])}]
    if chance.random() < 0.2:
        narrow = chance.choice(keys)
        scope["resources"] = [chance.choice([narrow, f"doc:*:{narrow.rpartition(':')[2]}", "doc:*"])]
    if chance.random() < 0.4:
        scope["actions"] = chance.sample(ACTIONS, 2)
    if kind == "DELEGATES":
        more = {"max_depth": chance.randrange(4)} if chance.random() < 0.3 else {}
        return edge(
            edge_id, kind, chance.choice([OWNER, *people]), chance.choice(people), scope=scope, **window, **more
        )
    rests = [{"edge_id": "own", "ownership_epoch": 1}]
    to = chance.choice(["doc:*", chance.choice(keys)])
    return edge(edge_id, kind, chance.choice(people), to, issuer=OWNER, rests_on=rests, scope=scope, **window)


def compare(seed: int) -> None:
    """Search a large graph in all directions, for a few questions."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    view, principals, keys = large_graph(chance)
    for subject in chance.sample(principals, 2):
        question = Question(subject, chance.choice(ACTIONS), chance.choice(keys), {"risk": "LOW"})
        for kind, body, everything in directions(question, view, principals, keys):
            assert searched(view, kind, body) == decided_one_by_one(view, kind, body, set(everything))


@pytest.mark.feature("S20")
def test_candidates_that_are_alike_are_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred resources with a grant each are one question; whose name stands in its facts is asked about alone."""
    keys = [f"doc:paper-{number:03}" for number in range(100)]
    names = [{"key": each, "attributes": {"copy_of": "paper-007"} if each.endswith("7") else {}} for each in keys]
    grants = [edge(f"grant-{each}", "MAY_READ", "instance:a", each) for each in keys]
    view = graph(grants, [Change("resource.put", each) for each in names])
    asked: list[str] = []
    judge = JUDGE.judge

    def counted(prepared: Prepared) -> Any:
        asked.append(prepared.facts.document["resource"]["key"])
        return judge(prepared)

    monkeypatch.setattr(JUDGE, "judge", counted)
    body = {"subject": {"type": "instance", "id": "a"}, "action": {"name": "READ"}, "resource": {"type": "doc"}}

    assert searched(view, "resource", body) == [f"paper-{number:03}" for number in range(100)]
    # One for all without the attribute, one for all with it, and the one that the attribute names.
    assert asked == ["doc:paper-000", "doc:paper-007", "doc:paper-017"]


def renamed(document: dict[str, Any]) -> dict[str, Any]:
    """Return the same facts about a resource of another name, under edges of other ids."""
    other = copy.deepcopy(document)
    key = other["resource"]["key"]
    new = key.removesuffix("1024") + "quite-another-name"
    other["request"]["resource"]["id"] = other["request"]["resource"]["id"].removesuffix("1024") + "quite-another-name"
    other["resource"] |= {"key": new, "coordination_key": new, "ancestors": [new, *other["resource"]["ancestors"][1:]]}
    ids: dict[str, str] = {}
    for chain in [*other["chains"], *other["near_misses"]]:
        for hop in chain["hops"]:
            if hop["to"] == key:
                hop["to"] = new
                hop["edge_id"] = ids.setdefault(hop["edge_id"], f"other-{len(ids)}")
        if "failed_hop" in chain:
            edge_id, _, version = chain["failed_hop"].rpartition("@")
            chain["failed_hop"] = f"{ids.get(edge_id, edge_id)}@{version}"
    return other


@pytest.mark.feature("S20")
def test_names_mean_nothing_to_the_shipped_policy() -> None:
    """Facts of one shape come to one outcome, whatever the resource and its grants are called."""
    policy = policy_with(())
    compared, outcomes = 0, set()
    for seed in range(1_200):
        document = policy_input(seed)
        # Policy inputs name everything; a shape is only there where the name stands nowhere else.
        for chain in [*document["chains"], *document["near_misses"]]:
            for number, hop in enumerate(chain["hops"]):
                if hop["to"] in ("wp:*:1024", "wp:post:1024:x"):
                    hop["to"] = "wp:post:1024" if number % 2 else "wp:post:*"
        for miss in document["near_misses"]:
            failed = miss["hops"][-1] if miss["hops"] else {"edge_id": "none", "version": 1}
            miss["failed_hop"] = f"{failed['edge_id']}@{failed['version']}"
        shape = _shape(document)
        if shape is None:
            continue
        other = renamed(document)
        one, two = (_decided(policy, each) for each in (document, other))
        assert shape == _shape(other)
        assert one["outcome"] == two["outcome"]
        assert one["reasons"] == two["reasons"]
        outcomes.add(one["outcome"])
        compared += 1
    assert compared > 100
    assert len(outcomes) > 3


def _decided(policy: Policy, document: dict[str, Any]) -> Any:
    return policy.embedded.evaluate_now(DECISION, msgspec.json.encode(document))


def _shape(document: dict[str, Any]) -> bytes | None:
    prepared: Any = SimpleNamespace(facts=SimpleNamespace(document=document))
    return shape_of(prepared)


@pytest.mark.feature("S20")
def test_a_site_that_reads_names_is_asked_about_each() -> None:
    """Where a rule of the site denies one key by name, that one is missing and all others are listed."""
    rule = """package custom

requires[rule] := {"/resource/key": "string"} if rule := "closed"

deny contains {"rule": "closed", "code": "closed", "message": "closed"} if input.resource.key == "doc:paper-003"
"""
    keys = [f"doc:paper-{number:03}" for number in range(6)]
    view = graph(
        [edge("g", "MAY_READ", "instance:a", "doc:*")], [Change("resource.put", {"key": each}) for each in keys]
    )
    judge = Judge((("custom/custom.rego", rule),))
    body = {"subject": {"type": "instance", "id": "a"}, "action": {"name": "READ"}, "resource": {"type": "doc"}}

    assert searched(view, "resource", body, judge) == [f"paper-{number:03}" for number in range(6) if number != 3]


@pytest.mark.feature("S20")
@pytest.mark.parametrize("seed", range(40))
def test_searches_of_large_graphs_equal_single_decisions(seed: int) -> None:
    """Forty principals and forty resources with expired, membership, cyclic and conditional edges differ nowhere."""
    compare(seed)


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_searches_of_a_thousand_graphs_equal_single_decisions() -> None:
    """A thousand such graphs differ nowhere either (F044)."""
    for seed in range(1_000):
        compare(seed)
