"""Masking: names that policy data masks are not in a record, wherever they stand, and their places are listed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from remit_service.decision.caller import Caller
from remit_service.decision.decision import Decision
from remit_service.decision.request import Entity, Evaluation
from remit_service.evidence.decision_log.mask import Masker
from remit_service.evidence.decision_log.scribe import SHIPPED_MASK, Scribe

CALLER = Caller(point=None)
SECRET = "hunter2"
FACTS = {
    "request": {
        "context": {"token": SECRET, "risk": "LOW", "nested": {"password": SECRET, "keep": 1}},
        "action": {"name": "READ", "properties": {"email": SECRET}},
        "resource": {"type": "wp:post", "id": "1", "properties": {"ownerID": "a"}},
    },
    "subject": {"principal": "human:ana", "attributes": {"email": SECRET, "department": "seo"}},
    "resource": {"key": "wp:post:1", "attributes": {"phone": SECRET}},
    "action": {"name": "READ"},
}


def evaluation(**context: Any) -> Evaluation:
    """A question with this context, whose entities say what is masked."""
    return Evaluation(
        subject=Entity(type="human", id="ana", properties={"email": SECRET, "team": "north"}),
        action="READ",
        action_properties={"soft": True},
        resource=Entity(type="wp:post", id="1", properties={"owner": {"phone": SECRET, "name": "ana"}}),
        context=context,
    )


def recorded(asked: Evaluation, scribe: Scribe | None = None) -> dict[str, Any]:
    """The record of a decision about `asked`."""
    decision = Decision(
        decision_id="dec_1", effect="deny", outcome="deny", reasons=(), at=0, revision=1, record_input=FACTS
    )
    return dict(json.loads((scribe or Scribe({})).decision(decision, asked, CALLER, {})))


def test_what_is_masked_is_nowhere_in_the_record() -> None:
    """Context, nested members, lists, properties and attributes, in the question and in the policy input."""
    asked = evaluation(token=SECRET, a={"secret": SECRET, "b": [{"cookie": SECRET}, {"c": 1}]}, risk="LOW")

    record = recorded(asked)

    assert SECRET not in json.dumps(record)
    assert record["context"] == {"a": {"b": [{}, {"c": 1}]}, "risk": "LOW"}
    assert record["subject"]["properties"] == {"team": "north"}
    assert record["resource"]["properties"] == {"owner": {"name": "ana"}}
    assert record["input"]["request"]["context"] == {"risk": "LOW", "nested": {"keep": 1}}
    assert record["input"]["subject"] == {"principal": "human:ana", "attributes": {"department": "seo"}}
    assert sorted(record["masked"]) == [
        "/context/a/b/0/cookie",
        "/context/a/secret",
        "/context/token",
        "/input/request/action/properties/email",
        "/input/request/context/nested/password",
        "/input/request/context/token",
        "/input/resource/attributes/phone",
        "/input/subject/attributes/email",
        "/resource/properties/owner/phone",
        "/subject/properties/email",
    ]


def test_what_was_asked_is_not_changed() -> None:
    """Masking copies: the values of the decision and of the question stay as they are."""
    asked = evaluation(token=SECRET, a={"secret": SECRET})
    before = json.dumps(FACTS)

    recorded(asked)

    assert asked.context == {"token": SECRET, "a": {"secret": SECRET}}
    assert json.dumps(FACTS) == before


def test_names_are_written_as_pointers() -> None:
    """A slash or tilde in a name is escaped, so that the place can be found."""
    record = recorded(evaluation(**{"a/b~c": {"token": SECRET}}))

    assert "/context/a~1b~0c/token" in record["masked"]


def test_what_nests_too_deep_is_left_out_whole() -> None:
    """Below the depth that is looked at nothing is shown."""
    deep: Any = {"token": SECRET}
    for _ in range(12):
        deep = {"x": deep}

    record = recorded(evaluation(deep=deep))

    assert SECRET not in json.dumps(record["context"])


def test_nothing_masked_is_nothing_copied() -> None:
    """The usual record shares what it is made of, and lists no places."""
    context = {"risk": "LOW", "lease": {"lease_id": "l", "fencing_token": 7}}
    masked: list[str] = []

    shown = Masker(SHIPPED_MASK).request({"subject": {}, "action": {}, "resource": {}, "context": context}, masked)

    assert shown["context"] is context
    assert masked == []


def test_the_policy_in_force_says_what_is_masked() -> None:
    """Other names from the next record on, without a restart."""
    scribe = Scribe({})
    names = {"context": ["risk"], "attributes": []}
    scribe.follow(lambda: names)

    record = recorded(evaluation(risk="LOW", token="shown"), scribe)

    assert record["context"] == {"token": "shown"}


def test_before_a_policy_is_known_the_shipped_names_are_masked() -> None:
    """What is assumed at the start is what the shipped data says."""
    data = yaml.safe_load(Path("policy/remit/config/data.yaml").read_text(encoding="utf-8"))

    assert {name: list(values) for name, values in SHIPPED_MASK.items()} == data["masked"]
