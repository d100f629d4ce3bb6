"""The law of search: a list is the set of single decisions that permit, in all three directions (F044)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings

from remit_graph.model.change import Change
from tests.support.graphs import ACTIONS, KEYS, OWNER, PEOPLE, ROOT, Question, Record, edge, edges, graph, questions
from tests.support.searching import decided_one_by_one, searched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.view.state import View

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


def large_graph(chance: random.Random) -> tuple[View, list[str], list[str]]:
    """Return a graph of up to 40 principals and 40 resources with every kind of edge that carries authority."""
    people = [f"{chance.choice(['instance', 'role', 'team', 'human'])}:p{number}" for number in range(40)]
    keys = [chance.choice([f"doc:{number}", f"doc:{number % 8}:part{number}"]) for number in range(40)]
    declared = [Change("principal.put", {"id": each, "trust": chance.choice([0, 3])}) for each in people]
    declared += [Change("resource.put", {"key": each, "attributes": {"tier": chance.choice("ab")}}) for each in keys]
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
        scope["conditions"] = [{"attribute": "resource.tier", "equals": "a"}]
    if chance.random() < 0.4:
        scope["actions"] = chance.sample(ACTIONS, 2)
    if kind == "DELEGATES":
        more = {"max_depth": chance.randrange(4)} if chance.random() < 0.3 else {}
        return edge(
            edge_id, kind, chance.choice([OWNER, *people]), chance.choice(people), scope=scope, **window, **more
        )
    rests = [{"edge_id": "own", "ownership_epoch": 1}]
    to = chance.choice(["doc:*", *keys])
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
