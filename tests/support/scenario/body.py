"""From the shorthand of a scenario to what is sent: AuthZEN bodies, revision tokens, and changes for the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import Change, Command
from remit_graph.model.instant import parse_instant
from remit_service.decision.consistency import make_token

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.point import DecisionPoint

INSTANTS: Final = frozenset({"valid_from", "valid_until", "expires_at", "freeze_deadline"})
"""Members that a scenario writes as RFC 3339 and the ledger holds as integers."""


Held = Mapping[str, dict[str, Any]]
"""Leases by the name a scenario gave them, in the form a request presents them."""


def body_of(question: dict[str, Any], point: DecisionPoint, held: Held) -> dict[str, Any]:
    """Return the AuthZEN body of a question in a scenario's shorthand."""
    body: dict[str, Any] = {name: question[name] for name in ("at_revision", "as_of") if name in question}
    for name in ("subject", "resource"):
        value = question[name]
        if isinstance(value, str):
            kind, _, identifier = value.partition(":")
            value = {"type": kind, "id": identifier} if name == "subject" else {"type": "key", "id": value}
        body[name] = value
    action = question["action"]
    body["action"] = {"name": action} if isinstance(action, str) else action
    body["context"] = _filled(question.get("context", {}), point, held)
    return body


def _filled(value: Any, point: DecisionPoint, held: Held) -> Any:
    if isinstance(value, dict):
        return {name: _filled(each, point, held) for name, each in value.items()}
    if isinstance(value, str) and value.startswith("token of "):
        return token_of(value.removeprefix("token of "), point)
    if isinstance(value, str) and value.startswith("lease "):
        return held[value.removeprefix("lease ")]
    return value


def token_of(what: str, point: DecisionPoint) -> str:
    """Return a revision token: of `now`, of a `later revision`, of `another store`, from `before a restore`."""
    head, revision = point.replica.head, point.view.revision
    assert head is not None
    if what == "a later revision":
        return make_token(head, revision + 100)
    if what == "another store":
        return make_token(replace(head, store_id="another"), revision)
    if what == "before a restore":
        return make_token(replace(head, incarnation=head.incarnation - 1), revision)
    if what == "now":
        return make_token(head, revision)
    raise ValueError(f"there is no token of `{what}`")


def changes_of(changes: list[dict[str, Any]], *, at: Instant) -> Command:
    """Return changes as one command; `times: {i: 3, j: 2}` repeats one with `{i}` and `{j}` counted from 0."""
    made = [Change(each["kind"], _stored(each["body"], counts)) for each in changes for counts in _counts(each)]
    return Command(action="TEST", actor="system", at=at, changes=tuple(made))


def begin(edges: list[dict[str, Any]], view: View) -> list[dict[str, Any]]:
    """Return changes that begin edges as they are, whatever a law would say; what most share need not be written."""
    shared = {"version": 1, "epoch": view.authority_epoch, "issuer": view.realm.root[0]}
    return [_beginning({**shared, **each}) for each in edges]


def _beginning(edge: dict[str, Any]) -> dict[str, Any]:
    times = edge.pop("times", {})
    return {"kind": "edge.begin", "body": edge, "times": times}


def end(named: dict[str, Any], view: View) -> list[dict[str, Any]]:
    """Return the change that ends current edges: `{edges: [own-body], cause: revoked}`."""
    pairs = [[each, view.edges[each].version] for each in named["edges"]]
    return [{"kind": "edges.end", "body": {"edges": pairs, "cause": named["cause"]}}]


def _counts(change: dict[str, Any]) -> list[dict[str, int]]:
    times = change.get("times", {})
    return [dict(zip(times, each, strict=True)) for each in product(*(range(count) for count in times.values()))]


def _stored(body: Any, counts: dict[str, int]) -> Any:
    if isinstance(body, dict):
        return {name: _member(name, each, counts) for name, each in body.items()}
    if isinstance(body, list):
        return [_stored(each, counts) for each in body]
    if isinstance(body, str):
        for name, count in counts.items():
            body = body.replace(f"{{{name}}}", str(count))
    return body


def _member(name: str, value: Any, counts: dict[str, int]) -> Any:
    if name in INSTANTS and isinstance(value, str):
        return parse_instant(value)
    return _stored(value, counts)
