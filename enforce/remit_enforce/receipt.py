"""What a write leaves with its caller: how far it came, how it ended, and the decision point's own receipt.

The decision point keeps a receipt of every operation that was begun (`GET /v1/receipts/{coordination_id}`); a write
that was refused before left none there, and its refusal is in the decision log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STEPS: Final = (
    "resolve_resource", "resolve_owner", "validate_authority", "detect_conflicts", "acquire", "read_version",
    "validate_precondition", "execute", "verify", "receipt", "release",
)  # fmt: skip
"""The eleven steps of a write, in their order (coordination.md 7); `begin` takes the first five."""

BEGUN: Final = STEPS[:5]
COMPLETED: Final = "COMPLETED"
DENIED: Final = "DENIED"
"""Nothing was begun, and nothing is held."""

GOAL_MET: Final = "GOAL_MET"
"""The planner found nothing left to write, and nothing was begun."""

ABANDONED: Final = "ABANDONED"
"""It was given up, and the decision point could not be told: its lease and its operation expire there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """How a write ended.

    Attributes:
        status: That of the decision point (COMPLETED, ABORTED, EXPIRED, PREEMPTED, REVOKED, OUTCOME_UNKNOWN), or DENIED
            or ABANDONED.
        steps: The steps that were done, in their order.
        stopped_at: The step at which it ended, or None where all were done.
        coordination_id: Of the operation, where one was begun.
        execution: What `execute` came to: `applied`, `failed` (nothing was written), `unknown`; None if it never ran.
        goal_met: Whether the goal was found to be met, so that nothing was to be written.
        reason: Why it ended as it did, in one sentence.
        document: The receipt of the decision point, where it could be had.
    """

    status: str
    steps: Sequence[str]
    stopped_at: str | None = None
    coordination_id: str | None = None
    execution: str | None = None
    goal_met: bool = False
    reason: str = ""
    document: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Trace:
    """How far a write has come."""

    coordination_id: str | None = None
    steps: list[str] = field(default_factory=list)
    execution: str | None = None

    @property
    def next_step(self) -> str | None:
        """Return the step that is to be done, or None after the last."""
        return STEPS[len(self.steps)] if len(self.steps) < len(STEPS) else None

    def done(self, *steps: str) -> None:
        """Note the next steps as done."""
        self.steps.extend(steps)

    def receipt(self, status: str, *, stopped_at: str | None = None, **more: Any) -> Receipt:
        """Return the receipt of how it has ended now."""
        return Receipt(
            status=status,
            steps=tuple(self.steps),
            stopped_at=stopped_at or self.next_step,
            coordination_id=self.coordination_id,
            execution=self.execution,
            **more,
        )
