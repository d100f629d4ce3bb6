"""The certification scenario of AuthZEN 1.0 over HTTP, check by check, on both engines."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    import httpx

    from tests.http.serving import Served

VECTORS = json.loads(Path("fixtures/vectors/certification.json").read_text(encoding="utf-8"))
CHECKS = VECTORS["checks"]


def send(client: httpx.Client, check: dict[str, Any]) -> httpx.Response:
    """Send what a check says, byte for byte."""
    headers = dict(check.get("headers") or {})
    if check.get("content_type") is not None:
        headers["Content-Type"] = check["content_type"]
    if "raw_body" in check:
        content = check["raw_body"].encode()
    elif "raw_body_base64" in check:
        content = base64.b64decode(check["raw_body_base64"])
    else:
        content = json.dumps(check["body"]).encode() if "body" in check else b""
    return client.request(check["method"], check["path"], content=content, headers=headers)


def test_there_are_as_many_checks_as_were_published() -> None:
    """The file is whole: 231 checks, each with a name of its own, and every one of them is sent below."""
    assert len({f"{each['level']}/{each['id']}" for each in CHECKS}) == len(CHECKS) == 231


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check['level']}/{check['id']}")
def test_certification(certification: Served, check: dict[str, Any]) -> None:
    """Each exchange of the scenario is answered as certification demands."""
    client = certification.client("harness")
    asked = followed(check, client) if "after" in check else check

    for _ in range(check.get("repeat", 1)):
        judge(check, send(client, asked), client)


def followed(check: dict[str, Any], client: httpx.Client) -> dict[str, Any]:
    """Return a check with the page token of the earlier one in it."""
    before = next(each for each in CHECKS if each["id"] == check["after"])
    token = send(client, before).json().get("page", {}).get("next_token")
    assert token
    return {**check, "body": json.loads(json.dumps(check["body"]).replace("{{next_token}}", token))}


def judge(check: dict[str, Any], reply: httpx.Response, client: httpx.Client) -> None:
    """Compare a reply with everything its check expects."""
    expect = check["expect"]
    assert reply.status_code == expect["status"], reply.text
    if "content_type" in expect:
        assert reply.headers["content-type"].partition(";")[0] == expect["content_type"]
    for name, value in (expect.get("headers") or {}).items():
        assert reply.headers[name] == value
    if "decision" in expect:
        judge_decision(reply.json(), expect["decision"])
    if "evaluations" in expect:
        answers = reply.json()["evaluations"]
        assert len(answers) == len(expect["evaluations"])
        for answer, wanted in zip(answers, expect["evaluations"], strict=True):
            judge_decision(answer, wanted)
    if "metadata" in expect:
        judge_metadata(reply.json(), expect["metadata"], client)
    if check["endpoint"] in ("subject", "resource", "action") and reply.status_code == 200:
        judge_search(reply.json(), expect, client)


def judge_search(answer: dict[str, Any], expect: dict[str, Any], client: httpx.Client) -> None:
    """Results are entities with exactly the keys that runners compare, and a page comes first where there is one."""
    results = answer["results"]
    assert isinstance(results, list)
    assert [each for each in expect.get("results_include", ()) if each not in results] == []
    assert {tuple(each) for each in results} <= {tuple(expect.get("result_keys", ("type", "id"))), ("name",)}
    if "results_all_of_type" in expect:
        assert {each["type"] for each in results} <= {expect["results_all_of_type"]}
    if "results_exact" in expect:
        assert results == expect["results_exact"]
    if "same_results_as" in expect:
        other = next(each for each in CHECKS if each["id"] == expect["same_results_as"])
        assert results == send(client, other).json()["results"]
    if expect.get("page"):
        assert next(iter(answer)) == "page"
    if "page" in answer:
        assert isinstance(answer["page"]["next_token"], str)


def judge_decision(answer: dict[str, Any], wanted: bool | str) -> None:  # noqa: FBT001
    """A decision is a boolean, and its context an object."""
    assert isinstance(answer["decision"], bool)
    assert isinstance(answer.get("context", {}), dict)
    if wanted != "any-boolean":
        assert answer["decision"] is wanted


def judge_metadata(document: dict[str, Any], expect: dict[str, Any], client: httpx.Client) -> None:
    """Metadata names the configured address, without empty members."""
    if "same_as" in expect:
        assert document == client.get("/.well-known/authzen-configuration").json()
        return
    assert set(expect["required"]) <= set(document)
    assert document["policy_decision_point"] == "https://remit.example.com"
    for name, value in document.items():
        assert value not in (None, "", [], {})
        if name.endswith("_endpoint"):
            assert urlsplit(value)[:2] == ("https", "remit.example.com")


def test_opa_gave_every_answer_itself(certification: Served) -> None:
    """On the OPA engine no answer came from the engine in process that stands by."""
    engine = certification.point.policy.engine

    assert getattr(engine, "answered_by_standby", 0) == 0
