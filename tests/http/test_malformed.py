"""Bad input: each case of `fixtures/malformed` is a refusal that points at the place, never a failure or a permit."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.http.serving import Served

FOLDER = Path("fixtures/malformed")
BODIES = yaml.safe_load((FOLDER / "bodies.yaml").read_text(encoding="utf-8"))
KEYS = yaml.safe_load((FOLDER / "keys.yaml").read_text(encoding="utf-8"))
BASE = BODIES["base"]
EVALUATION = "/access/v1/evaluation"
ABSENT = object()


def changed(pointer: str, value: Any, base: dict[str, Any] | None = None) -> bytes:
    """Return the valid question with another value at `pointer`, or without it."""
    body = copy.deepcopy(base or BASE)
    *path, name = pointer.removeprefix("/").split("/")
    place = body
    for each in path:
        place = place.setdefault(each, {})
    if value is ABSENT:
        del place[name]
    else:
        place[name] = value
    return json.dumps(body).encode()


def raw_cases() -> Iterator[Any]:
    """Texts and bytes that are no JSON object."""
    for case in BODIES["raw"]:
        content = base64.b64decode(case["base64"]) if "base64" in case else case["text"].encode()
        yield pytest.param(content, case["pointer"], id=case["id"])
    for case in BODIES["deep"]:
        nested = b"[" * (case["levels"] - 2) + b"]" * (case["levels"] - 2)
        content = json.dumps(BASE).encode().replace(b'"risk": "LOW"', b'"a": ' + nested)
        yield pytest.param(content, case["pointer"], id=case["id"])


def changed_cases() -> Iterator[Any]:
    """A valid question with one member that is wrong, missing or too long."""
    for name, table in BODIES["wrong"].items():
        for at in table["at"]:
            for index, value in enumerate(table["values"]):
                yield pytest.param(changed(at, value), at, id=f"{name}{at}-{index}")
    for at in BODIES["dropped"]:
        yield pytest.param(changed(at, ABSENT), at, id=f"dropped{at}")
    for case in BODIES["put"]:
        value = "x" * case["repeat"] if "repeat" in case else case["value"]
        yield pytest.param(changed(case["at"], value), case["pointer"], id=case["id"])


CASES = [*raw_cases(), *changed_cases()]


def refused(reply: httpx.Response, pointer: str) -> None:
    """Assert that a reply is the problem of a malformed request at `pointer`."""
    problem = reply.json()
    assert (reply.status_code, problem["code"], problem["retryable"]) == (400, "malformed_request", False)
    assert reply.headers["content-type"] == "application/problem+json"
    assert [each["pointer"] for each in problem["errors"]] == [f"#{pointer}"]
    assert problem["detail"]
    assert "decision" not in problem


@pytest.mark.parametrize("path", [EVALUATION, "/access/v1/evaluations"])
@pytest.mark.parametrize(("content", "pointer"), CASES)
def test_a_malformed_body_is_refused_at_its_place(seo: Served, path: str, content: bytes, pointer: str) -> None:
    """Both routes of AuthZEN refuse the same bodies in the same way."""
    reply = seo.client("gateway").post(path, content=content, headers={"Content-Type": "application/json"})

    refused(reply, pointer)


@pytest.mark.parametrize(("content", "pointer"), [case for case in CASES if "consistency" not in str(case.id)])
def test_a_malformed_question_is_not_explained(seo: Served, content: bytes, pointer: str) -> None:
    """What is no question cannot be explained either; of freshness alone an explanation takes no notice."""
    reply = seo.client("gateway").post("/v1/explain", content=content, headers={"Content-Type": "application/json"})

    refused(reply, pointer)


@pytest.mark.parametrize("case", BODIES["content_types"], ids=lambda case: case["id"])
def test_another_content_type_is_refused(seo: Served, case: dict[str, Any]) -> None:
    """A body that does not say it is JSON is 400, as AuthZEN has it, and not 415."""
    headers = {} if case["value"] is None else {"Content-Type": case["value"]}

    reply = seo.client("gateway").post(EVALUATION, content=json.dumps(BASE), headers=headers)

    refused(reply, "")


@pytest.mark.parametrize("case", BODIES["batches"], ids=lambda case: case["id"])
def test_a_malformed_batch_is_refused_as_a_whole(seo: Served, case: dict[str, Any]) -> None:
    """What is wrong with the batch itself, not with an item, is a problem."""
    body = case.get("body") or {**BASE, "evaluations": [{}] * case["items"]}

    reply = seo.client("gateway").post("/access/v1/evaluations", json=body)

    refused(reply, case["pointer"])


@pytest.mark.parametrize("case", BODIES["explanations"], ids=lambda case: case["id"])
def test_a_malformed_moment_is_refused(seo: Served, case: dict[str, Any]) -> None:
    """An explanation of a moment that is none, ahead, or before everything is refused."""
    body = changed(case["at"], case["value"]) if "at" in case else json.dumps({**BASE, **case["value"]}).encode()

    reply = seo.client("gateway").post("/v1/explain", content=body, headers={"Content-Type": "application/json"})

    refused(reply, case["pointer"])


@pytest.mark.parametrize("case", KEYS["ids"], ids=lambda case: case["id"])
def test_a_malformed_key_is_denied_by_name(seo: Served, case: dict[str, Any]) -> None:
    """An id that makes no key is a deny with a reason of its own, and the reason shows no other key."""
    value = case.get("value") or ("x" * case["repeat"] if "repeat" in case else ":".join("x" * case["segments"]))

    headers = {"Content-Type": "application/json"}
    reply = seo.client("gateway").post(EVALUATION, content=changed("/resource/id", value), headers=headers)

    answer = reply.json()
    assert (reply.status_code, answer["decision"], answer["context"]["outcome"]) == (200, False, "deny")
    assert answer["context"]["reasons"][0]["code"] == "malformed_resource_key"


def test_there_are_more_than_two_hundred() -> None:
    """Bodies, keys and settings together are as many as the issue asks for, without the worlds."""
    settings = yaml.safe_load((FOLDER / "settings.yaml").read_text(encoding="utf-8"))
    more = [BODIES["content_types"], BODIES["batches"], BODIES["explanations"], KEYS["ids"], settings]

    assert len(CASES) + sum(map(len, more)) >= 200
