"""What a caller of the coordinator gets: the answer of a command, or its refusal as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.instant import SECOND, format_instant
from remit_service.writer.command import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_service.coordination.values import Refusal
    from remit_service.decision.reasons import ReasonTable

_INSTANTS: Final = frozenset(
    {"acquired_at", "cooldown_until", "ended_at", "expires_at", "held_until", "keep_alive_before", "progress_at"}
)
"""Members that sentences show as times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What makes a repeat of a command mean the same.

    Attributes:
        request_id: Digest of (calling principal, Idempotency-Key).
        fingerprint: Digest of the body.
    """

    request_id: str
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of a command; instants in it are microseconds UTC.

    Attributes:
        body: The answer; of a refusal its code, outcome, reasons, conflicts and facts.
        revision: At which it is visible, or at which it was refused.
        code: The reason code of a refusal, else None.
        message: Its sentence.
        outcome: What to do next.
        retry_at: When asking again can help, or None.
        replayed: Whether it is the stored answer of an earlier submission.
    """

    body: Mapping[str, Any]
    revision: int
    code: str | None = None
    message: str = ""
    outcome: str = "execute"
    retry_at: Instant | None = None
    replayed: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether nothing was done."""
        return self.code is not None

    @property
    def is_waiting(self) -> bool:
        """Whether the request stands in a queue."""
        return self.code is None and "waiter_id" in self.body and "lease" not in self.body

    def retry_after_seconds(self, at: Instant) -> int | None:
        """Return how long to wait before asking again, at least one second, or None where it cannot help."""
        return None if self.retry_at is None else max(-(-(self.retry_at - at) // SECOND), 1)


def refused_reply(refusal: Refusal, table: ReasonTable, revision: int) -> Reply:
    """Return a refusal that needed no look at the state."""
    found = refused(refusal, table)
    return Reply(
        body={"code": found.code, **{name: value for name, value in found.facts.items() if name != "retry_at"}},
        revision=revision,
        code=found.code,
        message=found.message,
        outcome=str(found.facts["outcome"]),
        retry_at=refusal.retry_at,
    )


def refused(refusal: Refusal, table: ReasonTable) -> Refused:
    """Return a refusal as the writer takes it, with the sentence of its code."""
    reason = table.reason(refusal.code, _readable(refusal.facts))
    shown = [dict(each) for each in refusal.reasons] or [reason.record()]
    facts = {
        **refusal.facts,
        "outcome": refusal.outcome or _outcome(refusal.code, table),
        "reasons": shown,
        "conflicts": [dict(each) for each in refusal.conflicts],
    }
    if refusal.retry_at is not None:
        facts["retry_at"] = refusal.retry_at
    same = next((each["message"] for each in shown if each["code"] == refusal.code), reason.message)
    return Refused(code=refusal.code, message=same if not refusal.facts else reason.message, facts=facts)


def _outcome(code: str, table: ReasonTable) -> str:
    """What the table asks for; a cell of the matrix is known only where there is one."""
    outcome = table.row(code).outcome
    return "reject" if outcome == "cell" else outcome


def _readable(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: format_instant(value) if name in _INSTANTS and type(value) is int else value
        for name, value in facts.items()
    }
