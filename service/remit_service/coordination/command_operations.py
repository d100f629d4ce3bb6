"""What the machine can be told about an operation after it has begun: the steps of the write protocol."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.coordination.values import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Precondition:
    """Step 6 and 7: which version was read, and whether it is the one that was planned on."""

    coordination_id: str
    principal: str
    current_version: str
    resource_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """Step 8: what the call at the resource came to: `applied`, `failed` or `unknown`."""

    coordination_id: str
    principal: str
    token: int
    result: str
    evidence: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """Step 9: whether the resource is in the desired state."""

    coordination_id: str
    principal: str
    token: int
    passed: bool
    checks: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """Steps 10 and 11, in one revision: the receipt, and the release."""

    coordination_id: str
    principal: str
    token: int
    final_version: str | None = None
    final_versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Abort:
    """Give an operation up; it leaves a receipt all the same."""

    coordination_id: str
    principal: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """A finding on the outcome, long after; it is added to the receipt and holds no lease (S66).

    Attributes:
        receipt: The receipt as the caller has it; where the view has a newer one, it is added to that.
        actor: Who found it.
        finding: What was found.
    """

    receipt: Record
    actor: str
    finding: Record
