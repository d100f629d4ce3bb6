"""The verdict, as a value (decision.md 3, 6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why, as a code of the closed set, one plain sentence, and the facts the sentence names."""

    code: str
    message: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return `{code, message, ...facts}`."""
        return {**self.facts, "code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One verdict with everything it rests on. Not a boolean: a permit may carry obligations.

    Attributes:
        decision_id: Random id, `dec_…`.
        effect: `permit` or `deny`.
        outcome: What to do next; `decision` of AuthZEN is permit with `execute`.
        reasons: Every failing question, in the order of the questions.
        obligations: What a permit demands of the enforcement point: `{id, type, properties}`.
        determining: `edge_id@version` of the chain that carried it.
        conflicts: What it conflicts with.
        epochs: `policy`, `authority`, `ownership` by field, `lease`.
        revision: Of the view it was decided at.
        policy_revision: Digest of the bundle.
        at: The decision's one instant.
        not_after: Earliest end of anything a permit rests on, or None.
        retry_after_seconds: When asking again can help, or None.
        lease: The caller's own lease, as it was presented, or None.
        receipt_id: The receipt of that lease, where it has ended, or None.
        chain_depth: Delegations in the chain that carried it, or None.
        explanation: Only where asked for.
        record_input: The policy input, for the record; never in an answer.
        record_json: The same as the bytes that the engine was given, so that nobody encodes it again.
        deny_is_fault: Whether a fault, not a rule, denied.
        timings_us: Microseconds by stage; whoever adds a stage adds its own, so this alone may grow.
    """

    decision_id: str
    effect: str
    outcome: str
    reasons: tuple[Reason, ...]
    at: Instant
    revision: int
    obligations: tuple[Mapping[str, Any], ...] = ()
    determining: tuple[str, ...] = ()
    conflicts: tuple[Mapping[str, Any], ...] = ()
    epochs: Mapping[str, Any] = field(default_factory=dict)
    policy_revision: str | None = None
    not_after: Instant | None = None
    retry_after_seconds: int | None = None
    lease: Mapping[str, Any] | None = None
    receipt_id: str | None = None
    chain_depth: int | None = None
    explanation: Mapping[str, Any] | None = None
    record_input: Mapping[str, Any] = field(default_factory=dict)
    record_json: bytes = field(default=b"", repr=False)
    deny_is_fault: bool = False
    cached: bool = False
    timings_us: dict[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Refuse: a permit with an obligation is no bare yes."""
        raise TypeError("a decision is not a boolean: look at `effect` and `outcome`")

    @property
    def executes(self) -> bool:
        """The AuthZEN boolean: permit, and act now."""
        return self.effect == "permit" and self.outcome == "execute"

    @property
    def codes(self) -> tuple[str, ...]:
        """The reasons' codes, in order."""
        return tuple(reason.code for reason in self.reasons)
