"""F008: two questions whose parts joined read the same are two questions, wherever parts are joined."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.change import digest_parts
from remit_service.decision.caller import Caller
from remit_service.decision.request import RequestError
from remit_service.http.idempotency import key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.http.serving import Served

ODD = ["", "a", "b", ":", "a:b", "\x00", "\n", "%3A", "\x00a", "a\n", "aa", "é", "1", "11"]
"""Parts that joined with any separator give what other parts joined give."""


def test_f008_no_two_lists_of_parts_share_a_digest() -> None:
    """100,000 lists of parts made of separators and of each other: as many digests as lists."""
    chance = random.Random(8)  # noqa: S311 - test data
    lists = {tuple(chance.choices(ODD, k=chance.randint(4, 9))) for _ in range(130_000)}
    lists = {(), ("",), ("", ""), *sorted(lists)[:99_997]}

    assert len(lists) == 100_000
    assert len({digest_parts(each) for each in lists}) == 100_000


def test_f008_no_two_calls_share_an_idempotency_key() -> None:
    """Callers, keys, paths and bodies that joined read the same: each pair is kept apart, or its key is refused."""

    def known(name: str, key: str, *, path: str = "/v1/grants", body: Any = None) -> tuple[str, str]:
        exchange = SimpleNamespace(headers={b"idempotency-key": key.encode()}, scope={"method": "POST"}, path=path)
        found = key_of(exchange, Caller(point=None, identity=name), body or {})  # type: ignore[arg-type]
        assert found is not None
        return found.request_id, found.fingerprint

    callers: Sequence[tuple[str, str]] = [
        ("a", "b"), ("ab", "x"), ("a", "bx"), ("a\n", "b"), ("a\nb", "x"), ("a:b", "c"), ("a", "b:c"), ("a:", "b:c"),
        ("a", '"b"'), ("a%3A", "b"), ("a", "%3Ab"),
    ]  # fmt: skip
    # A quoted key is the bare one, as the draft has it.
    assert len({known(*each)[0] for each in callers}) == len(callers) - 1
    assert known("a", '"b"') == known("a", "b")

    calls = [("/v1/grants", {"a": "b"}), ("/v1/grants", {"a": "b", "c": 1}), ("/v1/grant", {"s": 1}),
             ('/v1/grants\n{"a":"b"}', {}), ("/v1/grants", {'a":"b","c': 1}), ("/v1/grants", {"a": '":1'})]  # fmt: skip
    assert len({known("a", "k", path=path, body=body)[1] for path, body in calls}) == len(calls)
    for key in ("", "a\nb", "a\x00b", '"a"b"', "a b"):
        with pytest.raises(RequestError):
            known("a", key)


PAIRS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"subject": {"type": "instance", "id": "b:c"}},
        {"subject": {"type": "instance:b", "id": "c"}},
    ),
    (
        {"resource": {"type": "site", "id": "example.com:robots"}},
        {"resource": {"type": "site:example.com", "id": "robots"}},
    ),
    (
        {"resource": {"type": "wp:post", "id": "1024"}},
        {"resource": {"type": "wp", "id": "post:1024"}},
    ),
    ({"resource": {"type": "wp:post", "id": "1024\x00"}}, {"resource": {"type": "wp:post", "id": "1024"}}),
    ({"resource": {"type": "wp:post", "id": "1024\n"}}, {"resource": {"type": "wp:post", "id": "1024"}}),
    ({"resource": {"type": "wp:post", "id": "a%3Ab"}}, {"resource": {"type": "wp:post", "id": "a:b"}}),
    (
        {"subject": {"type": "instance", "id": "seo-agent-7\x00"}},
        {"subject": {"type": "instance", "id": "seo-agent-7"}},
    ),
]


@pytest.mark.parametrize("pair", PAIRS, ids=[str(number) for number in range(len(PAIRS))])
def test_f008_two_questions_are_never_one(seo: Served, pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Asked one after the other in both orders, each is answered for what it says; and on no key but its own."""
    base = {
        "subject": {"type": "instance", "id": "seo-agent-7"}, "action": {"name": "READ_POST"},
        "resource": {"type": "wp:post", "id": "1024"},
    }  # fmt: skip

    def answers(order: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
        replies = [seo.client("gateway").post("/access/v1/evaluation", json={**base, **each}) for each in order]
        return [
            (each.status_code, each.json().get("decision"), [r["code"] for r in each.json()["context"]["reasons"]])
            for each in replies
        ]

    forth = answers(pair)
    back = answers(pair[::-1])

    assert forth == back[::-1]
    # Two that nobody knows are both refused; else the two are told apart by their answers.
    assert forth[0] != forth[1] or forth[0][1] is False


def test_f008_a_coordination_key_is_one_thing(seo: Served) -> None:
    """Ids that hold a separator in a place where none belongs are refused, and lead to nobody's lease."""
    refused = []
    for identifier in ("1024\x00", "1024\n", "%31024", "", "1024:", ":1024", "1024#canonical", "1024:x"):
        body = {
            "subject": {"type": "instance", "id": "seo-agent-7"}, "action": {"name": "UPDATE_CANONICAL"},
            "resource": {"type": "wp:post", "id": identifier},
            "context": {"risk": "LOW", "environment": "production", "expected_version": "v1"},
        }  # fmt: skip
        reply = seo.client("gateway").post("/v1/leases", json=body)
        refused.append((identifier, reply.status_code, reply.json()["code"]))

    # `%31024` is an id like any other, of a post that lies nowhere: it is not decoded into `1024`.
    assert {(status, code) for identifier, status, code in refused if identifier != "%31024"} == {
        (400, "malformed_resource_key"), (400, "malformed_request"),
    }  # fmt: skip
    assert next(status for identifier, status, _ in refused if identifier == "%31024") == 403
