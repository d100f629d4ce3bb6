"""The answer: how much of it an enforcement point takes and may see, and what a batch comes to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.questions import DENIED, EVALUATION, EVALUATIONS, PERMITTED

if TYPE_CHECKING:
    from tests.http.serving import Served


def ask(served: Served, key: str, question: dict[str, Any]) -> dict[str, Any]:
    """Return the answer that the enforcement point with this key gets."""
    reply = served.client(key).post(EVALUATION, json=question)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def test_a_permit_says_everything_it_rests_on(seo: Served) -> None:
    """The whole context of decision.md 6: outcome, obligations, epochs, revision, policy, proof and end."""
    answer = ask(seo, "gateway", PERMITTED)

    context = answer["context"]
    assert answer["decision"] is True
    assert (context["outcome"], context["reasons"], context["conflicts"]) == ("execute", [], [])
    assert context["obligations"] == [
        {"id": "precondition", "type": "precondition", "properties": {"expected_version": "rev_331"}},
        {"id": "restrict_fields", "type": "restrict_fields", "properties": {"fields": ["canonical"]}},
    ]
    assert context["epochs"] == {"policy": 1, "authority": 1, "ownership": {"canonical": 1}}
    assert context["determining"] == ["own-seo@1", "del_882@1", "acts_as:instance:seo-agent-7>role:seo-agent@1"]
    assert context["policy_revision"] == seo.point.policy_revision
    assert context["revision"] == seo.point.revision_token()
    assert context["not_after"] == "2099-01-01T00:00:00Z"
    assert "lease" not in context


def test_a_deny_names_the_edge(seo: Served) -> None:
    """One who sees the graph is told which edge refuses, and what of the request is outside of it."""
    reasons = ask(seo, "gateway", DENIED)["context"]["reasons"]

    assert [each["code"] for each in reasons] == ["scope_not_covered", "not_owner"]
    assert reasons[0]["edge"] == "del_882@1"
    assert "del_882@1" in reasons[0]["message"]


def test_one_who_may_not_see_the_graph_is_told_codes(seo: Served) -> None:
    """Same decision, outcome and codes in the same order; sentences are the codes' own, without names of others."""
    full = ask(seo, "gateway", DENIED)
    redacted = ask(seo, "edge", DENIED)

    assert redacted["decision"] is full["decision"]
    assert redacted["context"]["outcome"] == full["context"]["outcome"]
    assert redacted["context"]["reasons"] == [
        {"code": "scope_not_covered", "message": "The authority does not cover this request."},
        {"code": "not_owner", "message": "The authority does not come from the owner."},
    ]
    assert "del_882" not in json.dumps(redacted)


def test_reasons_come_with_what_has_to_be_done(seo: Served) -> None:
    """An enforcement point that takes reasons only still gets the obligations of a permit."""
    context = ask(seo, "edge", PERMITTED)["context"]

    assert set(context) == {"decision_id", "outcome", "reasons", "obligations"}
    assert [each["type"] for each in context["obligations"]] == ["precondition", "restrict_fields"]


@pytest.mark.parametrize(("question", "expected"), [(PERMITTED, True), (DENIED, False)])
def test_a_strict_client_gets_the_bare_boolean(seo: Served, question: dict[str, Any], expected: bool) -> None:  # noqa: FBT001
    """Nothing stands beside `decision` for an enforcement point that takes nothing else."""
    assert ask(seo, "strict", question) == {"decision": expected}


def test_an_explanation_comes_only_to_those_who_see_the_graph(seo: Served) -> None:
    """`explain: true` adds proof and near misses for one, and changes nothing for the other."""
    asked = {**DENIED, "context": {**DENIED["context"], "explain": True}}

    explained, redacted = ask(seo, "gateway", asked), ask(seo, "edge", asked)

    assert explained["context"]["explanation"]["near_misses"][0]["failed"] == "del_882@1"
    assert "explanation" not in redacted["context"]


def test_an_item_that_is_no_question_is_denied_alone(seo: Served) -> None:
    """The others stand, and the faulty one says what is wrong where (AuthZEN: lazily validated items)."""
    reply = seo.client("gateway").post(EVALUATIONS, json={**PERMITTED, "evaluations": [{}, {"resource": 7}, 7, {}]})

    answers = reply.json()["evaluations"]
    assert [each["decision"] for each in answers] == [True, False, False, True]
    assert answers[1]["context"] == {
        "outcome": "deny",
        "reasons": [
            {"code": "malformed_request", "message": "an object is required at `/resource`", "pointer": "/resource"}
        ],
        "error": {"status": 400, "message": "an object is required at `/resource`"},
    }
    assert answers[2]["context"]["reasons"][0]["code"] == "malformed_request"


def test_a_missing_type_or_id_is_taken_from_the_default(seo: Served) -> None:
    """Only `type` and `id` fall back; an entity is replaced as a whole otherwise, its properties too."""
    asked = {
        **PERMITTED,
        "evaluations": [{"resource": {"id": "1024"}}, {"resource": {"type": "wp:post"}}, {"action": {}}],
    }

    answers = seo.client("gateway").post(EVALUATIONS, json=asked).json()["evaluations"]

    assert [each["decision"] for each in answers] == [True, True, False]
    assert answers[2]["context"]["reasons"][0]["pointer"] == "/action/name"


@pytest.mark.parametrize(
    ("semantic", "expected"),
    [
        ("execute_all", [True, False, True]),
        ("deny_on_first_deny", [True, False]),
        ("permit_on_first_permit", [True]),
    ],
)
def test_semantics(seo: Served, semantic: str, expected: list[bool]) -> None:
    """A batch ends where its semantic says, and not one item later."""
    asked = {
        **PERMITTED,
        "options": {"evaluations_semantic": semantic},
        "evaluations": [{}, {"action": DENIED["action"]}, {}],
    }

    answers = seo.client("gateway").post(EVALUATIONS, json=asked).json()["evaluations"]

    assert [each["decision"] for each in answers] == expected


def test_a_batch_as_large_as_is_allowed(seo: Served) -> None:
    """A thousand items are answered in order."""
    items = [{"action": DENIED["action"]} if index % 7 == 0 else {} for index in range(1_000)]

    answers = seo.client("gateway").post(EVALUATIONS, json={**PERMITTED, "evaluations": items}).json()["evaluations"]

    assert [each["decision"] for each in answers] == [index % 7 != 0 for index in range(1_000)]


def test_a_token_of_the_answer_makes_the_next_answer_as_fresh(seo: Served) -> None:
    """The token of one answer is accepted as `at_least_as_fresh` of the next; a foreign one is named as such."""
    token = ask(seo, "gateway", PERMITTED)["context"]["revision"]

    fresh = {**PERMITTED, "context": {**PERMITTED["context"], "consistency": {"at_least_as_fresh": token}}}
    foreign = {**PERMITTED, "context": {**PERMITTED["context"], "consistency": {"at_least_as_fresh": "czoxLjE"}}}

    assert ask(seo, "gateway", fresh)["decision"] is True
    assert [each["code"] for each in ask(seo, "gateway", foreign)["context"]["reasons"]] == ["revision_foreign"]
