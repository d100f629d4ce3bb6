"""`GET /v1/decisions` and `/v1/decisions/{id}`: what was decided, from the decision log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.http.problems import Problem, ProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.evidence.decision_log.ports import DecisionLog


def recent_records(log: DecisionLog, limit: int) -> list[Mapping[str, Any]]:
    """Return the newest records of this process, newest first."""
    return list(log.recent(limit))


async def find_record(log: DecisionLog, decision_id: str) -> Mapping[str, Any]:
    """Return the record of one decision.

    Raises:
        ProblemError: it is not kept here.
    """
    record = await log.find(decision_id)
    if record is None:
        detail = f"no record of `{decision_id}` is kept here; another replica, or retention, may explain it"
        raise ProblemError(Problem(code="not_found", detail=detail))
    return record
