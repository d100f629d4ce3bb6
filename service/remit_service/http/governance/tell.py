"""From an `Outcome` to an answer or a problem document, and no more than the caller may see (http-api.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_service.http.idempotency import REPLAYED
from remit_service.http.problems import HTTP_ROWS, Problem, place_of
from remit_service.http.replies import json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import Response

    from remit_service.decision.reasons import ReasonTable
    from remit_service.governance.governor import Outcome

_OWN: Final = frozenset({"type", "title", "status", "code", "detail", "retryable", "resolver"})
"""Members that a problem document has already; a fact never takes their place."""

_PLAIN: Final = frozenset({"pointer", "rule", "limit", "maximum", "count", "item", "decision_id", "current_version"})
"""Facts that name nothing of others."""

OK: Final = 200
BAD_REQUEST: Final = 400


def answer(outcome: Outcome, token: str, *, status: int = OK, headers: dict[str, str] | None = None) -> Response:
    """Return the answer of a command that was done, or that was only tried: then it is always 200."""
    more = {REPLAYED: "true"} if outcome.replayed else {}
    code = OK if outcome.dry_run else status
    return json({**outcome.body, "revision": token}, code, {**(headers or {}), **more})


def refusal_of(outcome: Outcome, table: ReasonTable, *, revision: str, whole: bool) -> Problem:
    """Return the problem that a refusal is; not `whole` for a caller that may not see the graph."""
    refused = outcome.refused
    assert refused is not None  # noqa: S101 - for the type checker; only refused commands come here
    row = HTTP_ROWS.get(refused.code) or table.row(refused.code)
    facts = dict(refused.facts)
    reasons = facts.pop("reasons", None) or [{"code": refused.code, "message": refused.message}]
    members = {name: each for name, each in facts.items() if name not in _OWN and (whole or name in _PLAIN)}
    members["reasons"] = [_reason(each, table, whole=whole) for each in reasons]
    members["revision"] = revision
    # A list that is too long will not be shorter later: that is no 429.
    status = BAD_REQUEST if facts.get("limit") == "max_items_per_command" else None
    detail = refused.message if whole else row.fixed
    if "pointer" in facts:
        members["errors"] = [{"detail": detail, **place_of(facts)}]
    return Problem(code=refused.code, detail=detail, status=status, members=members)


def _reason(reason: Mapping[str, Any], table: ReasonTable, *, whole: bool) -> dict[str, Any]:
    if whole:
        return dict(reason)
    code = str(reason["code"])
    row = HTTP_ROWS.get(code) or table.row(code)
    # What a refused command would have widened is the caller's own: it may know by which of its words.
    shown = {name: reason[name] for name in ("dimension", "pointer", "rule", "offending") if name in reason}
    return {"code": code, "message": row.fixed, **shown}
