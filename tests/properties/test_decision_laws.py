"""The laws of decision.md section 9 that need no lease, each under its name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from remit_graph.model.change import Change
from remit_service.asking import ask_now
from remit_service.decision.decide import Fault
from tests.support.graphs import OWNER, PEOPLE, ROOT, Question, Record, ask, edge, edges, graph, questions
from tests.support.scenario.stage import policy_with

if TYPE_CHECKING:
    from remit_service.policy import Policy

LAWS = settings(max_examples=50)


def verdict(decision: Any) -> tuple[Any, ...]:
    """Return what two equal verdicts share."""
    return decision.effect, decision.outcome, decision.codes, decision.determining


@pytest.mark.feature("S02")
@given(question=questions())
@LAWS
def test_default_deny(question: Question) -> None:
    """A graph without edges permits nothing."""
    assert ask(graph([]), question).effect == "deny"


@pytest.mark.feature("S20")
@given(found=edges(with_owner=False), question=questions())
@LAWS
def test_no_authority_without_a_root(found: list[Record], question: Question) -> None:
    """Delegations and memberships alone give nothing, however they are tied together."""
    rootless = [each for each in found if each["edge"] in ("DELEGATES", "ACTS_AS", "MEMBER_OF")]

    assert ask(graph(rootless), question).effect == "deny"


@pytest.mark.feature("S02")
@given(found=edges(), question=questions(), data=st.data())
@LAWS
def test_order_of_edges_is_irrelevant(found: list[Record], question: Question, data: st.DataObject) -> None:
    """Any order of insertion gives the same verdict, reasons and proof."""
    shuffled = data.draw(st.permutations(found))

    assert verdict(ask(graph(shuffled), question)) == verdict(ask(graph(found), question))


@pytest.mark.feature("S02")
@given(found=edges(), question=questions())
@LAWS
def test_decide_is_pure(found: list[Record], question: Question) -> None:
    """Asking twice gives the same verdict, and asking changes nothing that the next answer could read."""
    view = graph(found)
    first = verdict(ask(view, question))

    assert verdict(ask(view, question)) == first
    assert verdict(ask(graph(found), question)) == first


@pytest.mark.feature("S27")
@given(found=edges(), question=questions(), data=st.data())
@LAWS
def test_adding_a_restriction_never_turns_deny_into_permit(
    found: list[Record], question: Question, data: st.DataObject
) -> None:
    """Narrowing any edge, or ending it earlier, never permits what was denied."""
    if not found or ask(graph(found), question).effect == "permit":
        return
    index = data.draw(st.integers(0, len(found) - 1))
    narrowed = dict(found[index])
    how = data.draw(st.sampled_from(["actions", "fields", "window", "revoked", "depth"]))
    if how in ("actions", "fields"):
        scope = dict(narrowed.get("scope") or {})
        scope[how] = scope.get(how, ["READ", "body"])[:1]
        narrowed["scope"] = scope
    elif how == "window":
        narrowed["valid_until"] = min(narrowed.get("valid_until", 1 << 60), 1)
    elif how == "revoked":
        narrowed["revoked"] = True
    else:
        narrowed["max_depth"] = 0
    changed = [*found[:index], narrowed, *found[index + 1 :]]

    assert ask(graph(changed), question).effect == "deny"


@pytest.mark.feature("S27", "S28")
@given(found=edges(), question=questions())
@LAWS
def test_delegated_is_contained_in_parent(found: list[Record], question: Question) -> None:
    """Whoever handed authority on along a proof could have acted itself, at the same instant."""
    view = graph(found)
    decision = ask(view, question)
    if decision.effect == "deny":
        return
    known = {each["edge_id"]: each for each in found}
    for position in decision.determining:
        hop = known[position.rpartition("@")[0]]
        if hop["edge"] == "DELEGATES":
            upper = Question(hop["from"], question.action, question.key, question.context)
            assert ask(view, upper).effect == "permit"


@pytest.mark.feature("S28")
@given(question=questions())
@LAWS
def test_no_union_of_chains(question: Question) -> None:
    """Two chains that each cover a part never add up to the whole."""
    halves = [
        edge("own", "OWNS", OWNER, "doc", ownership_epoch=1),
        edge("d1", "DELEGATES", OWNER, "instance:a", scope={"actions": ["WRITE", "PUBLISH"], "fields": ["body"]}),
        edge("d2", "DELEGATES", OWNER, "instance:a", scope={"actions": ["WRITE", "PUBLISH"], "fields": ["title"]}),
    ]
    both = Change("action.put", {"name": "BOTH", "class": "write", "fields": ["body", "title"]})
    wide = Question("instance:a", "BOTH", question.key, question.context)
    with_action = [
        {**each, "scope": {**each["scope"], "actions": ["BOTH"]}} if "scope" in each else each for each in halves
    ]

    assert ask(graph(with_action, [both]), wide).codes == ("scope_not_covered",)


@pytest.mark.feature("S22")
@given(found=edges(), question=questions(), kind=st.sampled_from(["expired", "future", "stale"]))
@LAWS
def test_expired_beats_valid_on_its_own_chain_only(found: list[Record], question: Question, kind: str) -> None:
    """A dead chain beside the others changes no verdict that another chain gives."""
    before = ask(graph(found), question)
    dead: dict[str, Any] = {"expired": {"valid_until": 1}, "future": {"valid_from": 1 << 60}, "stale": {}}[kind]
    extra = edge("zz", "DELEGATES", OWNER, question.subject, **dead) if question.subject != OWNER else None
    if extra is None:
        return
    if kind == "stale":
        extra["revoked"] = True
    after = ask(graph([*found, extra]), question)

    assert (after.effect, after.determining) == (before.effect, before.determining)


@pytest.mark.feature("S33")
@given(found=edges(), question=questions())
@LAWS
def test_revoking_any_hop_denies_what_rested_on_it_alone(found: list[Record], question: Question) -> None:
    """Whatever still permits after a hop is gone does not rest on that hop."""
    decision = ask(graph(found), question)
    for position in decision.determining:
        gone = position.rpartition("@")[0]
        left = [{**each, "revoked": True} if each["edge_id"] == gone else each for each in found]
        after = ask(graph(left), question)

        assert position not in after.determining
        assert after.effect == ask(graph([each for each in found if each["edge_id"] != gone]), question).effect


@pytest.mark.feature("S21")
@given(found=edges(), question=questions(), data=st.data())
@LAWS
def test_reports_to_gives_nothing(found: list[Record], question: Question, data: st.DataObject) -> None:
    """The organisation chart changes no decision."""
    people = st.sampled_from([ROOT, OWNER, "role:r", "instance:a", "instance:b"])
    chart = [
        edge(f"rep{index}", "REPORTS_TO", data.draw(people), data.draw(people))
        for index in range(data.draw(st.integers(1, 4)))
    ]

    assert verdict(ask(graph([*found, *chart]), question)) == verdict(ask(graph(found), question))


PERSON = "human:a"
AGENT = "instance:a"


def swapped(value: Any) -> Any:
    """Return edges or names with the agent and the person in each other's place."""
    if isinstance(value, dict):
        return {name: swapped(each) for name, each in value.items()}
    if isinstance(value, list):
        return [swapped(each) for each in value]
    return {AGENT: PERSON, PERSON: AGENT}.get(value, value) if isinstance(value, str) else value


@pytest.mark.feature("S14")
@given(found=edges(), more=edges(with_owner=False, max_size=4), question=questions())
@LAWS
def test_a_human_is_no_superuser(found: list[Record], more: list[Record], question: Question) -> None:
    """With the edges of the agent a person is answered as the agent is, and the agent as the person."""
    both = [*found, *({**swapped(each), "edge_id": f"of-{each['edge_id']}"} for each in more)]
    extra = [Change("principal.put", {"id": PERSON, "trust": 3})]
    asked = replace(question, subject=AGENT) if question.subject in PEOPLE else question

    here = ask(graph(both, extra), asked)
    there = ask(graph(swapped(both), extra), replace(asked, subject=swapped(asked.subject)))

    assert verdict(here) == verdict(there)


DENY_PUBLISH = """package custom

# METADATA
# description: refusals of the site
# scope: document
deny contains {"rule": "no_publishing", "code": "frozen", "message": "nothing is published today"} if {
	input.action.name == "PUBLISH"
}

# METADATA
# description: what the rules read
# scope: document
requires[rule] := {"/action/name": "string"} if rule := "no_publishing"
"""
SITE = (("custom/no_publishing.rego", DENY_PUBLISH),)


@pytest.mark.feature("S02")
@given(found=edges(), question=questions())
@LAWS
def test_a_deny_rule_never_widens(found: list[Record], question: Question) -> None:
    """A rule of the site refuses what it names, whatever the graph says, and permits nothing that was denied."""
    view = graph(found)
    plain, ruled = ask(view, question), ask(view, question, policy_files=SITE)

    if question.action == "PUBLISH":
        assert ruled.effect == "deny"
        assert "policy_denied" in ruled.codes
    else:
        assert verdict(ruled) == verdict(plain)


MEMBERS = ["request", "identity", "subject", "action", "resource", "chains", "coordination"]


@pytest.mark.feature("S02")
@given(found=edges(), question=questions(), missing=st.sampled_from(MEMBERS))
@LAWS
def test_undefined_is_deny(found: list[Record], question: Question, missing: str) -> None:
    """Whatever member of the input that the question reads is missing: a deny or a fault, never a permit."""
    # What others hold is no question of a read (rules.md 6), except where a type is read by one at a time.
    assume(missing != "coordination" or question.action != "READ")
    policy = policy_with(())
    document = dict(ask(graph(found), question).record_input)
    del document[missing]

    assert effect_of(policy, msgspec.json.encode(document)) != "permit"


def effect_of(policy: Policy, encoded: bytes) -> str:
    """Return the effect the policy gives, or the code of the fault that takes its place."""
    try:
        return ask_now(policy, encoded).effect
    except Fault as fault:
        return fault.code
