"""The laws about chains, epochs, revocation and search on random graphs of up to 2,000 edges of every shape.

The same laws, under the same names, hold on every small graph (`test_decision_laws`, `test_search_laws`) and for lawful
delegations (`test_revocation_laws`); that both stores give back the same graph is `contract/test_stores_agree`.
"""

# ruff: noqa: S311 - graphs are random, not secret

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from remit_graph.model.change import Change
from tests.support.any_graphs import SHAPES, any_edges, any_questions, declared, people_of, shapes_of, view_of
from tests.support.graphs import KEYS, NOW, OWNER, Question, ask, edge, graph
from tests.support.searching import decided_one_by_one, searched

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.graphs import Record

LARGEST = 2_000
ASKED = 8
"""Questions put to one graph."""


def law(test: Callable[[int, int], None]) -> Callable[[], None]:
    """Try a law on graphs of 20 to 2,000 edges; one of 2,000 is always among them."""
    sizes = st.sampled_from([20, 60, 60, 200, 200, 600, LARGEST])
    tried = given(seed=st.integers(0, 2**32 - 1), size=sizes)(test)
    return settings(max_examples=8, deadline=None)(example(seed=5, size=LARGEST)(tried))


def verdict(decision: Any) -> tuple[Any, ...]:
    """Return what two equal verdicts share."""
    return decision.effect, decision.outcome, decision.codes, decision.determining


def asked_of(random: Random, edges: list[Record], size: int, count: int = ASKED) -> list[tuple[Question, Any]]:
    """Return questions with what they are answered, some of them permits."""
    view = view_of(edges, size)
    return [(each, ask(view, each)) for each in any_questions(random, edges, count)]


def permitted_of(random: Random, edges: list[Record], size: int) -> list[tuple[Question, Any]]:
    """Return up to three questions that are permitted, with their answers."""
    found = [each for each in asked_of(random, edges, size, 24) if each[1].effect == "permit"][:3]
    event(f"{size} edges, {'some' if found else 'no'} permits")
    return found


@pytest.mark.parametrize("seed", range(3))
def test_graphs_reach_two_thousand_edges_of_every_shape(seed: int) -> None:
    """What the laws are tried on: exactly so many edges, cycles and all; and questions of both answers."""
    random = Random(seed)
    edges = any_edges(random, LARGEST)

    assert len({each["edge_id"] for each in edges}) == LARGEST
    assert shapes_of(edges) == SHAPES
    effects = [decision.effect for _, decision in asked_of(random, edges, LARGEST, 60)]
    assert min(effects.count("permit"), effects.count("deny")) >= 5


@pytest.mark.feature("S20")
@law
def test_no_authority_without_a_root(seed: int, size: int) -> None:
    """Delegations and memberships alone give nothing, however many there are."""
    random = Random(seed)
    edges = [each for each in any_edges(random, size) if each["edge"] in ("DELEGATES", "ACTS_AS", "MEMBER_OF")]

    assert {decision.effect for _, decision in asked_of(random, edges, size)} == {"deny"}


@pytest.mark.feature("S02")
@law
def test_order_of_edges_is_irrelevant(seed: int, size: int) -> None:
    """Any order of insertion gives the same verdict, reasons and proof."""
    random = Random(seed)
    edges = any_edges(random, size)
    asked = asked_of(random, edges, size)
    other = view_of(random.sample(edges, k=len(edges)), size)

    for question, decision in asked:
        assert verdict(ask(other, question)) == verdict(decision)


@pytest.mark.feature("S27", "S28")
@law
def test_delegated_is_contained_in_parent(seed: int, size: int) -> None:
    """Whoever handed authority on along a proof could have acted itself, at the same instant."""
    random = Random(seed)
    edges = any_edges(random, size)
    known, view = {each["edge_id"]: each for each in edges}, view_of(edges, size)

    for question, decision in permitted_of(random, edges, size):
        hops = [known[each.rpartition("@")[0]] for each in decision.determining]
        for hop in hops:
            if hop["edge"] == "DELEGATES":
                upper = Question(hop["from"], question.action, question.key, question.context)
                assert ask(view, upper).effect == "permit"
        assert hops[0]["edge"] != "DELEGATES"


@pytest.mark.feature("S22")
@law
def test_expired_beats_valid_on_its_own_chain_only(seed: int, size: int) -> None:
    """Dead edges beside a chain change no verdict; a dead edge on it takes the chain away and no other."""
    random = Random(seed)
    edges = any_edges(random, size)
    dead: list[dict[str, Any]] = [{"valid_until": 1}, {"valid_from": 1 << 60}, {"revoked": True}, {"valid_until": NOW}]
    extra = [
        edge(f"x{number}", "DELEGATES", OWNER, person, epoch=2, **random.choice(dead))
        for number, person in enumerate(people_of(size))
    ]
    beside = view_of([*edges, *extra], size)

    for question, decision in permitted_of(random, edges, size):
        after = ask(beside, question)
        assert (after.effect, after.determining) == (decision.effect, decision.determining)
        gone = random.choice(decision.determining).rpartition("@")[0]
        expired = [{**each, "valid_until": NOW} if each["edge_id"] == gone else each for each in edges]
        without = [each for each in edges if each["edge_id"] != gone]
        assert ask(view_of(expired, size), question).effect == ask(view_of(without, size), question).effect


@pytest.mark.feature("S33")
@law
def test_revoking_any_hop_denies_what_rested_on_it_alone(seed: int, size: int) -> None:
    """Whatever still permits after a hop is gone does not rest on that hop."""
    random = Random(seed)
    edges = any_edges(random, size)

    for question, decision in permitted_of(random, edges, size):
        position = random.choice(decision.determining)
        gone = position.rpartition("@")[0]
        left = [{**each, "revoked": True} if each["edge_id"] == gone else each for each in edges]
        after = ask(view_of(left, size), question)

        assert position not in after.determining
        assert after.effect == ask(view_of([each for each in edges if each["edge_id"] != gone], size), question).effect


@pytest.mark.feature("S21")
@law
def test_reports_to_gives_nothing(seed: int, size: int) -> None:
    """The organisation chart changes no decision."""
    random = Random(seed)
    edges = any_edges(random, size)
    people = [OWNER, *people_of(size)]
    chart = [edge(f"rep{each}", "REPORTS_TO", *random.sample(people, k=2)) for each in range(size // 10)]
    charted = view_of([*edges, *chart], size)

    for question, decision in asked_of(random, edges, size):
        assert verdict(ask(charted, question)) == verdict(decision)


@pytest.mark.feature("S34")
@law
def test_a_floor_is_as_if_what_is_older_were_gone(seed: int, size: int) -> None:
    """A floor of the realm for writes, or of one principal, kills older edges for that class and at no other place."""
    random = Random(seed)
    edges = any_edges(random, size)
    write_floor = Change("epoch.set", {"authority": 2, "minimum_authority": {"write": 2}})
    young = [each for each in edges if each["epoch"] >= 2]
    raised, without = graph(edges, [*declared(size), write_floor]), view_of(young, size)
    plain = view_of(edges, size)

    for question in any_questions(random, edges, ASKED):
        expected = ask(plain if question.action == "READ" else without, question)
        assert ask(raised, question).effect == expected.effect
    for question, decision in permitted_of(random, edges, size)[:1]:
        own = Change("principal.put", {"id": question.subject, "trust": 3, "minimum_epoch": 2})
        of_one = graph(edges, [*declared(size), own])
        left = [each for each in edges if each["epoch"] >= 2 or question.subject not in (each["from"], each["to"])]
        assert ask(of_one, question).effect == ask(view_of(left, size), question).effect
        assert decision.effect == "permit"


@pytest.mark.feature("S20", "S27")
@law
def test_search_results_equal_single_decisions(seed: int, size: int) -> None:
    """Each search lists what would be permitted, in order; of hundreds of subjects, its first page does."""
    random = Random(seed)
    edges = any_edges(random, size)
    view = view_of(edges, size)
    question = any_questions(random, edges, 1)[0]
    kind, _, name = question.subject.partition(":")
    subject, resource = {"type": kind, "id": name}, {"type": "key", "id": question.key}
    action, context = {"name": question.action}, dict(question.context)
    everybody = [each.partition(":")[2] for each in view.principals if each.startswith("instance:")]

    people = {"subject": {"type": "instance"}, "action": action, "resource": resource, "context": context}
    page = decided_one_by_one(view, "subject", people, everybody, limit=10)
    assert searched(view, "subject", people, limit=10) == page
    keys = {"subject": subject, "action": action, "resource": {"type": "key"}, "context": context}
    assert searched(view, "resource", keys) == decided_one_by_one(view, "resource", keys, KEYS)
    actions = {"subject": subject, "resource": resource, "context": context}
    assert searched(view, "action", actions) == decided_one_by_one(view, "action", actions, list(view.actions))
