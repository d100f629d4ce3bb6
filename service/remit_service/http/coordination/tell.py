"""From a `Reply` to an answer: instants as RFC 3339, durations in seconds, and no more than the caller may see.

A refusal is a problem document with the code's status, the outcome, every reason, the conflicts and a hint when to
come back. For a caller with visibility `codes` the codes, outcome and hint stay, and the names, keys, edges, tokens and
times of others go (rules.md 7).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from fastapi import Response

from remit_graph.model.instant import SECOND, format_instant
from remit_service.http.idempotency import REPLAYED
from remit_service.http.problems import HTTP_ROWS, Problem, ProblemError
from remit_service.http.replies import json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.coordinator.reply import Reply
    from remit_service.decision.caller import Caller
    from remit_service.decision.reasons import ReasonTable
    from remit_service.http.coordination.desk import Desk

_INSTANTS: Final = frozenset(
    {
        "acquired_at", "alive_until", "at", "changed_at", "cooldown_until", "created_at", "decided_at", "declared_at",
        "ended_at", "executed_at", "expires_at", "free_at", "freeze_deadline", "held_until", "keep_alive_before",
        "last_activity", "max_until", "not_after", "progress_at", "recorded_at", "released_at", "renew_before",
        "renewed_at", "seen_at", "since", "wait_until",
    }
)  # fmt: skip
_FREE: Final = frozenset({"evidence", "checks", "finding", "context", "fencing_tokens", "ownership_epochs"})
"""Members whose names belong to the caller: nothing in them is read as a time."""

_INSIDE: Final = frozenset({"request", "id"})
"""Members of records that are for this program alone."""

_OF_OTHERS: Final = frozenset({"proof", "authority_origin", "conflict_id", "determining"})
"""Members of the caller's own records that name edges and records of others."""

_OWN_FACTS: Final = frozenset(
    {
        "pointer", "rule", "limit", "maximum", "count", "expected_version", "current_version", "resource", "state",
        "waiter_id", "problem",
    }
)  # fmt: skip
RECEIPT: Final = (
    "coordination_id", "principal", "resource_key", "owner", "authority_epoch", "ownership_epoch", "policy_epoch",
    "lease_id", "lease_epoch", "expected_version", "final_version", "conflicts", "acquired_at", "released_at", "status",
    "decision_id", "authority_origin", "approvals", "change_id", "purpose",
)  # fmt: skip
"""What every coordination receipt has (evidence.md 1): one that does not apply is null, and not left out."""

_OF_CONFLICT: Final = frozenset({"domain", "result"})
_CONFLICT: Final = 409
_GONE: Final = 410


def shown(value: Any, *, whole: bool = True) -> Any:
    """Return a record as it is sent; not `whole` leaves out what names others."""
    if isinstance(value, list | tuple):
        return [shown(each, whole=whole) for each in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name, each in value.items():
        if each is None or name in _INSIDE or (not whole and name in _OF_OTHERS):
            continue
        if name == "conflicts" and not whole:
            found[name] = [_members(one, _OF_CONFLICT) for one in each]
        elif name in _FREE:
            found[name] = each
        elif name in _INSTANTS and type(each) is int:
            found[name] = format_instant(each)
        elif name.endswith("_us") and type(each) is int:
            found[f"{name.removesuffix('_us')}_seconds"] = each / SECOND
        else:
            found[name] = shown(each, whole=whole)
    if value.get("record") == "coordination":
        missing = (each for each in RECEIPT if each not in found and (whole or each not in _OF_OTHERS))
        found |= dict.fromkeys(missing)
    return found


def own_wait(waiter: Mapping[str, Any]) -> dict[str, Any]:
    """Return a wait as its caller sees it who may not see the graph: how many are in the way, nothing of them."""
    told = {name: each for name, each in waiter.items() if name not in ("waits_for", "priority")}
    return {**told, "waits_for": [_members(each, _OF_CONFLICT) for each in waiter["waits_for"]]}


def _members(record: Mapping[str, Any], kept: frozenset[str]) -> dict[str, Any]:
    return {name: each for name, each in record.items() if name in kept}


def answer(
    desk: Desk,
    caller: Caller,
    reply: Reply,
    *,
    status: int = 200,
    body: Mapping[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """Return the answer of a command.

    Raises:
        ProblemError: it was refused.
    """
    if reply.is_refused:
        raise ProblemError(problem_of(desk, caller, reply))
    document = document_of(desk, caller, reply, body)
    more = {REPLAYED: "true"} if reply.replayed else {}
    return json(document, status, {**(headers or {}), **more})


def document_of(desk: Desk, caller: Caller, reply: Reply, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the document of an answer, with its revision: `body`, by default the reply's own."""
    document: dict[str, Any] = shown(dict(reply.body if body is None else body), whole=caller.sees_graph)
    document["revision"] = desk.service.point.revision_token(reply.revision)
    return document


def done(desk: Desk, caller: Caller, reply: Reply) -> Response:
    """Return 204: the answer of a command that has nothing to tell.

    Raises:
        ProblemError: it was refused.
    """
    if reply.is_refused:
        raise ProblemError(problem_of(desk, caller, reply))
    return Response(status_code=204)


def wait_ended(desk: Desk, caller: Caller, reply: Reply) -> Problem:
    """Return the problem that the end of a wait is: 409 where the code says so, else 410, for the wait is gone."""
    problem = problem_of(desk, caller, reply)
    if "state" in reply.body and problem.row(desk.service.point.policy.reasons).status != _CONFLICT:
        return replace(problem, status=_GONE)
    return problem


def problem_of(desk: Desk, caller: Caller, reply: Reply) -> Problem:
    """Return the problem that a refusal is."""
    table = desk.service.point.policy.reasons
    code = _headline(reply, table)
    seconds = reply.retry_after_seconds(desk.coordinator.point.now())
    facts = {name: each for name, each in reply.body.items() if name not in ("code", "reasons", "conflicts")}
    if code == "stale_resource_version" and "key" in facts:
        facts["resource"] = facts["key"]
    members = shown(facts) if caller.sees_graph else _members(shown(facts), _OWN_FACTS)
    members |= {
        "outcome": reply.outcome,
        "reasons": [_reason(each, table, whole=caller.sees_graph) for each in reply.body.get("reasons") or ()],
        "conflicts": shown({"conflicts": reply.body.get("conflicts") or []}, whole=caller.sees_graph)["conflicts"],
        "preemptible_by_you": reply.outcome == "preempt",
        "revision": desk.service.point.revision_token(reply.revision),
    }
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if seconds is not None:
        members["retry_after_seconds"] = seconds
        headers = ((b"retry-after", str(seconds).encode()),)
    detail = _sentence(reply, code) if caller.sees_graph or code in HTTP_ROWS else table.row(code).fixed
    return Problem(code=code, detail=detail, members=_free_of_own_names(members), headers=headers)


def _headline(reply: Reply, table: ReasonTable) -> str:
    """Return the code the problem is named for: who asked to take over is told why not, before what is in the way."""
    codes = [str(each["code"]) for each in reply.body.get("reasons") or ()]
    refused = [each for each in codes if table.row(each).group == "preemption"]
    return refused[0] if refused else str(reply.code)


def _sentence(reply: Reply, code: str) -> str:
    told = (each["message"] for each in reply.body.get("reasons") or () if each["code"] == code)
    return reply.message if code == reply.code else next(told, reply.message)


_NAMES: Final = frozenset({"type", "title", "status", "code", "detail", "retryable", "resolver"})
"""Members that a problem document has already; a fact never takes their place."""


def _free_of_own_names(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in members.items() if name not in _NAMES}


def _reason(reason: Mapping[str, Any], table: ReasonTable, *, whole: bool) -> dict[str, Any]:
    if whole:
        told: dict[str, Any] = shown(dict(reason))
        return told
    fixed = {"code": reason["code"], "message": table.row(reason["code"]).fixed}
    return fixed | {name: each for name, each in reason.items() if name in ("pointer", "rule")}
