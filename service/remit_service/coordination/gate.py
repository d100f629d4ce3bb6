"""What the verdicts on a request mean for it: go on, take over, wait, or be refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from remit_service.coordination.values import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_service.coordination.tables import Tables
    from remit_service.coordination.values import Claim, Record, Verdict

ORDER: Final = (
    "deny", "reject", "escalate", "review_required", "hold", "ordered", "merge_required", "rebase", "serialize",
    "wait", "preempt", "acquire", "execute",
)  # fmt: skip
"""Outcomes from the one that ends everything to a plain permit (rules.md 7)."""

WAITABLE: Final = frozenset({"hold", "ordered", "serialize", "wait"})
"""Outcomes that pass by themselves: a lease ends, a line moves on, a human stops editing."""

GRANTED: Final = frozenset({"execute", "acquire"})

ASKED_FOR: Final = "lease_required"

_RIGHTS: Final = frozenset({"coordination", "preemption", "version"})
"""Groups of codes that say nothing about whether what is held may stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The verdicts of all resources of one request together.

    Attributes:
        outcome: The first in `ORDER` among theirs.
        verdicts: In the order of the requests.
    """

    outcome: str
    verdicts: tuple[Verdict, ...]

    @property
    def is_open(self) -> bool:
        """Whether nothing but the lease itself is missing."""
        return self.outcome in GRANTED

    @property
    def claims(self) -> list[Claim]:
        """The resolved requests; only of a gate whose every request was resolved."""
        return [each.claim for each in self.verdicts if each.claim is not None]

    @property
    def is_resolved(self) -> bool:
        """Whether every request names a known subject, action and resource."""
        return all(each.claim is not None for each in self.verdicts)

    @property
    def worst(self) -> Verdict:
        """The verdict that decides."""
        return min(self.verdicts, key=lambda each: ORDER.index(each.outcome))

    @property
    def conflicts(self) -> list[Record]:
        """Everything in the way, once."""
        found: dict[str, Record] = {}
        for verdict in self.verdicts:
            for each in verdict.conflicts:
                found.setdefault(repr(sorted(each.items(), key=str)), each)
        return list(found.values())

    def refusal(self) -> Refusal:
        """Return the verdict as a refusal; that a lease is missing is no reason for who asks for one."""
        codes = [each for each in self.worst.codes if each != ASKED_FOR]
        reasons = (reason for each in self.verdicts for reason in each.reasons)
        return Refusal(
            code=codes[0] if codes else "resource_busy",
            outcome=self.outcome,
            reasons=tuple(each for each in reasons if each["code"] != ASKED_FOR),
            conflicts=tuple(self.conflicts),
        )


def gate_of(verdicts: Sequence[Verdict]) -> Gate:
    """Put verdicts together."""
    outcome = min((each.outcome for each in verdicts), key=ORDER.index)
    return Gate(outcome=outcome, verdicts=tuple(verdicts))


def lasting(tables: Tables, verdict: Verdict) -> str | None:
    """Return None where what is held may stay by this verdict, else the code that ends it.

    Asked of what is held already: who else is about, and at which version, does not count against it. Nor does that no
    capability is shown: beginning needs none, and each write is asked for its own; one that is shown must be good.
    """
    asked = [each for each in verdict.codes if each != "capability_required"]
    against = [each for each in asked if tables.groups.get(each, "fault") not in _RIGHTS]
    if against:
        return against[0]
    # A verdict that refuses for reasons of coordination alone carries no proof of its own.
    return None if verdict.proof else "no_authority"
