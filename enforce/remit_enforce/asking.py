"""A question in the words of AuthZEN 1.0, and the permit that an answer may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from remit_enforce.refusal import Refusal, unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """It may be done now, under its obligations; it has no truth value, since a permit with a duty is no bare yes.

    Attributes:
        obligations: What the enforcement point performs, or else does not act.
        context: The rest of the answer: `decision_id`, `not_after`, `epochs`, `revision`.
    """

    obligations: Sequence[Mapping[str, Any]]
    context: Mapping[str, Any]

    def __bool__(self) -> NoReturn:
        """Refuse: look at the type and the obligations."""
        raise TypeError("a permit is neither true nor false: perform its obligations")


def question(subject: str, action: str, resource: str, context: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the body of an evaluation, with principal and resource by their full keys.

    Raises:
        ValueError: The subject is no `<kind>:<name>`.
    """
    kind, colon, name = subject.partition(":")
    if not (kind and colon and name):
        raise ValueError(f"a subject is `<kind>:<name>`, and `{subject}` is not")
    return {
        "subject": {"type": kind, "id": name},
        "action": {"name": action},
        "resource": {"type": "key", "id": resource},
        "context": dict(context or {}),
    }


def permit_of(document: Mapping[str, Any]) -> Permit | Refusal:
    """Return the permit that an answer is, if it is one in every respect."""
    decision, context = document.get("decision"), document.get("context") or {}
    if not isinstance(decision, bool) or not isinstance(context, dict):
        return unreadable("it holds no decision")
    obligations = context.get("obligations") or []
    if not isinstance(obligations, list) or not all(isinstance(each, dict) for each in obligations):
        return unreadable("its obligations are no list of objects")
    if decision:
        return Permit(obligations=obligations, context=context)
    reasons = context.get("reasons")
    first = reasons[0] if isinstance(reasons, list) and reasons and isinstance(reasons[0], dict) else {}
    hint = context.get("retry_after_seconds")
    return Refusal(
        code=str(first.get("code", "deny")),
        message=str(first.get("message", "the decision point refuses")),
        outcome=str(context.get("outcome", "deny")),
        retry_after_seconds=float(hint) if isinstance(hint, int | float) else None,
        document=context,
    )
