"""A refusal: why something may not be done now, by whom that can be settled, and when asking again can help.

Every way of not being permitted is one of these: a problem document of the decision point (RFC 9457), a decision that
is no permit, no answer, a late one, one that cannot be read. Nothing here is ever taken for a permit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_ANSWER: Final = "no_answer"
"""The decision point was not reached, or the connection ended before its answer."""

LATE_ANSWER: Final = "late_answer"
"""The decision point did not answer within the time that the settings give it."""

UNREADABLE_ANSWER: Final = "unreadable_answer"
"""Something answered, and what it said is no answer of a decision point."""

STALE: Final = frozenset(
    {
        "capability_expired", "capability_revoked", "lease_expired", "lease_not_held",
        "lease_revoked", "no_progress", "preempted", "stale_authority_epoch", "stale_fencing_token",
        "stale_ownership_epoch", "stale_resource_version",
    }
)  # fmt: skip
"""Codes by which what was planned on has moved or was lost: the version, the lease, the capability, an epoch."""

_TOO_MANY: Final = 429
_FAULT: Final = 500
_FOR_PEOPLE: Final = frozenset({"escalate", "review_required"})
_PEOPLE: Final = frozenset({"human_reviewer", "owner"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why not. It has no truth value, so that it is never taken for a yes.

    Attributes:
        code: A reason code of the decision point, or one of this library's own: `no_answer`, `late_answer`,
            `unreadable_answer`, `fencing_token_missing`, `goal_unclear`, `lease_not_renewed`, `obligation_unknown`,
            `under_way`.
        message: One plain sentence.
        outcome: What the caller does next (`deny`, `wait`, `rebase`, `review_required` and the others).
        status: HTTP's number, or None where nobody answered.
        retry_after_seconds: When asking again can help, as the decision point said it.
        resolver: Who can settle it: `requester`, `delegator`, `owner`, `operator`, `human_reviewer`, `wait`.
        document: The whole problem document, with `reasons` and `conflicts`.
        resent: Whether the call was sent more than once before this came.
    """

    code: str
    message: str
    outcome: str = "deny"
    status: int | None = None
    retry_after_seconds: float | None = None
    resolver: str = ""
    document: Mapping[str, Any] = field(default_factory=dict)
    resent: bool = False

    @property
    def is_fault(self) -> bool:
        """Whether it says nothing about what was asked: nobody answered, or whoever did could not decide."""
        silent = self.code in (NO_ANSWER, LATE_ANSWER, UNREADABLE_ANSWER)
        return silent or (self.status is not None and (self.status >= _FAULT or self.status == _TOO_MANY))

    @property
    def is_stale(self) -> bool:
        """Whether what was planned on does not hold any more."""
        return self.code in STALE

    @property
    def needs_person(self) -> bool:
        """Whether a person has to choose or approve; who else can settle a plain deny, `resolver` says."""
        return (self.outcome in _FOR_PEOPLE or self.resolver in _PEOPLE) and not self.is_fault

    def __str__(self) -> str:
        """Return code and sentence."""
        return f"{self.code}: {self.message}"

    def __bool__(self) -> NoReturn:
        """Refuse: an object is always true, and a refusal is no permit."""
        raise TypeError("a refusal is neither true nor false: it is no permit")


def refusal_of_problem(status: int, document: Mapping[str, Any], *, retry_after: str | None, resent: bool) -> Refusal:
    """Return the refusal that a problem document is; one without a code of its own cannot be read."""
    code, detail = document.get("code"), document.get("detail") or document.get("title")
    if not isinstance(code, str) or not isinstance(detail, str):
        return unreadable(f"status {status} came without a problem document", status=status, resent=resent)
    return Refusal(
        code=code,
        message=detail,
        outcome=_text(document.get("outcome"), "deny"),
        status=status,
        retry_after_seconds=_seconds(document.get("retry_after_seconds"), retry_after),
        resolver=_text(document.get("resolver"), ""),
        document=document,
        resent=resent,
    )


def unreadable(problem: str, *, status: int | None = None, resent: bool = False) -> Refusal:
    """Return the refusal that an answer is which cannot be read."""
    message = f"the answer cannot be read: {problem}"
    return Refusal(code=UNREADABLE_ANSWER, message=message, status=status, resent=resent)


def _text(value: object, default: str) -> str:
    return value if isinstance(value, str) and value else default


def _seconds(told: object, header: str | None) -> float | None:
    if isinstance(told, int | float) and not isinstance(told, bool) and told >= 0:
        return float(told)
    # RFC 9110, 10.2.3: a number of seconds, or a date; a date of another clock is no hint to rely on.
    return float(header) if header is not None and header.isascii() and header.isdecimal() else None
