"""What a caller may not see is left out when an answer is rendered (rules.md 7); record, replay and cache hold it all.

A redacted decision has the same effect, outcome, codes in the same order, `retry_after_seconds`, `not_after`,
obligations and the caller's own lease. Sentences become the code's fixed one; ids, edges, keys, tokens and times of
others are left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from remit_service.decision.decision import Decision, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.decision.reasons import ReasonTable

OWN_FACTS: Final = frozenset({"pointer", "rule"})
"""Facts that speak of the request itself, or of the site's published rules."""

_CONFLICT_MEMBERS: Final = frozenset({"domain", "result"})


def redact(decision: Decision, table: ReasonTable) -> Decision:
    """Return `decision` as a caller sees it who may not see the graph."""
    return replace(
        decision,
        reasons=tuple(_plain(reason, table) for reason in decision.reasons),
        determining=(),
        conflicts=tuple(_members(each, _CONFLICT_MEMBERS) for each in decision.conflicts),
        epochs=_epochs(decision),
        explanation=None,
    )


def _plain(reason: Reason, table: ReasonTable) -> Reason:
    return Reason(code=reason.code, message=table.row(reason.code).fixed, facts=_members(reason.facts, OWN_FACTS))


def _members(facts: Mapping[str, Any], kept: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if name in kept}


def _epochs(decision: Decision) -> dict[str, Any]:
    """Keep the counters of the realm; the lease epoch is a token, and is the caller's own only with its lease."""
    return {name: value for name, value in decision.epochs.items() if name != "lease" or decision.lease is not None}
