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


PERMIT: list[str] = []
NOBODY = ["unknown_subject", "no_authority"]
NOWHERE = ["unknown_resource", "no_authority"]
NO_SUCH_KEY = (400, "malformed_resource_key")
NO_KEY = ["malformed_resource_key", "no_authority"]

PAIRS: list[tuple[str, tuple[str, str], list[str], tuple[str, str], list[str]]] = [
    ("subject", ("instance", "b:c"), NOBODY, ("instance:b", "c"), NOBODY),
    ("resource", ("site", "example.com:robots"), NO_KEY, ("site:example.com", "robots"), NOWHERE),
    ("resource", ("wp:post", "1024"), PERMIT, ("wp", "post:1024"), NOWHERE),
    ("resource", ("wp:post", "1024\x00"), NO_KEY, ("wp:post", "1024"), PERMIT),
    ("resource", ("wp:post", "1024\n"), NO_KEY, ("wp:post", "1024"), PERMIT),
    ("resource", ("wp:post", "a%3Ab"), PERMIT, ("wp:post", "a:b"), NO_KEY),
    ("subject", ("instance", "seo-agent-7\x00"), NOBODY, ("instance", "seo-agent-7"), PERMIT),
]
"""A type and an id with the reasons that are given, and what joined reads the same with its own."""


@pytest.mark.parametrize(("member", "one", "said_of_one", "other", "said_of_other"), PAIRS)
def test_f008_two_questions_are_never_one(
    seo: Served,
    member: str,
    one: tuple[str, str],
    said_of_one: list[str],
    other: tuple[str, str],
    said_of_other: list[str],
) -> None:
    """Asked one after the other in both orders, each is answered for what it says; and on no key but its own."""
    base = {
        "subject": {"type": "instance", "id": "seo-agent-7"}, "action": {"name": "READ_POST"},
        "resource": {"type": "wp:post", "id": "1024"},
    }  # fmt: skip

    def answers(*order: tuple[str, str]) -> list[tuple[bool, list[str]]]:
        asked = [{**base, member: {"type": type_, "id": identifier}} for type_, identifier in order]
        replies = [seo.client("gateway").post("/access/v1/evaluation", json=each) for each in asked]
        return [(each.json()["decision"], [r["code"] for r in each.json()["context"]["reasons"]]) for each in replies]

    due = [(said_of_one == PERMIT, said_of_one), (said_of_other == PERMIT, said_of_other)]

    assert answers(one, other) == due
    assert answers(other, one) == due[::-1]


def test_f008_a_coordination_key_is_one_thing(seo: Served) -> None:
    """Ids that hold a separator in a place where none belongs are refused, and lead to nobody's lease."""
    refused = {}
    for identifier in ("1024\x00", "1024\n", "%31024", "", "1024:", ":1024", "1024#canonical", "1024:x"):
        body = {
            "subject": {"type": "instance", "id": "seo-agent-7"}, "action": {"name": "UPDATE_CANONICAL"},
            "resource": {"type": "wp:post", "id": identifier},
            "context": {"risk": "LOW", "environment": "production", "expected_version": "v1"},
        }  # fmt: skip
        reply = seo.client("gateway").post("/v1/leases", json=body)
        refused[identifier] = (reply.status_code, reply.json()["code"])

    assert refused == {
        **dict.fromkeys(("1024\x00", "1024\n", "1024:", ":1024", "1024#canonical", "1024:x"), NO_SUCH_KEY),
        "": (400, "malformed_request"),
        # An id like any other, of a post that lies nowhere: it is not decoded into `1024`.
        "%31024": (403, "scope_not_covered"),
    }
