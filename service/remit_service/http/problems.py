"""Problems: calls that could not be answered, as problem details (RFC 9457).

A refused *decision* is no problem: it is 200 with `decision: false`. One table maps each reason code to a status, a
sentence and who can settle it (`policy/remit/reasons/data.yaml`); the rows added here are of HTTP alone. The `type` of
a problem is an address of this service that explains it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

from remit_service.decision.reasons import ReasonRow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.decision.reasons import ReasonTable
    from remit_service.decision.request import RequestError

PROBLEM_TYPE: Final = b"application/problem+json"
JSON_TYPE: Final = b"application/json"
RETRYABLE_STATUSES: Final = frozenset({429, 503})


def _row(code: str, status: int, resolver: str, fixed: str) -> ReasonRow:
    return ReasonRow(
        code=code, group="http", outcome="deny", status=status, resolver=resolver, message=fixed, fixed=fixed, names=()
    )


HTTP_ROWS: Final[Mapping[str, ReasonRow]] = {
    row.code: row
    for row in (
        _row("not_found", 404, "requester", "Nothing is here."),
        _row("method_not_allowed", 405, "requester", "The method is not allowed here."),
        _row("forbidden", 403, "operator", "The caller may not see this."),
        _row("history_removed", 410, "requester", "This part of the history was removed."),
        _row("internal", 500, "operator", "The decision point failed."),
    )
}
"""What can go wrong with HTTP before there is a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem, ready to be sent.

    Attributes:
        code: A reason code, or one of `HTTP_ROWS`.
        detail: One plain sentence about this very call.
        status: Instead of the row's.
        members: Further members of the document.
        headers: Headers that belong to the status.
    """

    code: str
    detail: str
    status: int | None = None
    members: Mapping[str, Any] = field(default_factory=dict)
    headers: tuple[tuple[bytes, bytes], ...] = ()

    def row(self, table: ReasonTable) -> ReasonRow:
        """Return what is known of the code."""
        return HTTP_ROWS.get(self.code) or table.row(self.code)

    def document(self, table: ReasonTable, *, base_url: str, request_id: str) -> dict[str, Any]:
        """Return the problem document."""
        row = self.row(table)
        status = self.status or row.status
        return {
            "type": f"{base_url}/problems/{quote(self.code)}",
            "title": row.fixed,
            "status": status,
            "code": self.code,
            "detail": self.detail,
            "retryable": status in RETRYABLE_STATUSES or row.resolver == "wait",
            "resolver": row.resolver,
            **self.members,
            "request_id": request_id,
        }


class ProblemError(Exception):
    """Ends the handling of a call with a problem."""

    def __init__(self, problem: Problem) -> None:
        """Keep the problem."""
        super().__init__(problem.detail)
        self.problem = problem


def malformed(error: RequestError) -> Problem:
    """Return the problem of a request that is not well formed, with the pointer to the place or the header's name."""
    return Problem(
        code=error.code,
        detail=error.message,
        status=400,
        members={"errors": [{"detail": error.message, **place_of(error.facts)}]},
    )


def place_of(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return where a call is at fault: in a header, a parameter, or at a pointer into its body."""
    for place in ("header", "parameter"):
        if place in facts:
            return {place: str(facts[place])}
    pointer = str(facts.get("pointer", ""))
    return {"pointer": "#" if pointer == "/" else f"#{pointer}"}


def too_large(limit: int) -> Problem:
    """Return the problem of a body over the bound."""
    # The limit of a rate is settled by waiting; this body will be no smaller later.
    return Problem(
        code="limit_exceeded",
        status=413,
        detail=f"the body has more than {limit} bytes",
        members={"limit": limit, "retryable": False, "resolver": "requester"},
    )


def wait(code: str, detail: str, seconds: float, **members: Any) -> Problem:
    """Return the problem of a call that may be sent again after `seconds`."""
    whole = max(1, round(seconds + 0.5))
    headers = ((b"retry-after", str(whole).encode()),)
    return Problem(code=code, detail=detail, members={"retry_after_seconds": whole, **members}, headers=headers)


def encode(problem: Problem, table: ReasonTable, *, base_url: str, request_id: str) -> tuple[int, bytes]:
    """Return status and body."""
    document = problem.document(table, base_url=base_url, request_id=request_id)
    return document["status"], msgspec.json.encode(document)


def media_type(accept: bytes | None) -> bytes:
    """Return the type a problem is sent as: plain JSON only to those who take nothing else."""
    if not accept or b"problem+json" in accept or b"*/*" in accept or b"application/*" in accept:
        return PROBLEM_TYPE
    return JSON_TYPE if JSON_TYPE in accept else PROBLEM_TYPE
