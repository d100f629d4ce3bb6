"""The states of a lease, of an operation and of a transfer, and the arrows between them; every other one is refused."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class LeaseState(StrEnum):
    """Where a lease stands (coordination.md 2).

    AVAILABLE is a key nobody holds, ACQUIRING a request in a queue. RENEWING lasts no longer than its step.
    """

    AVAILABLE = "AVAILABLE"
    ACQUIRING = "ACQUIRING"
    HELD = "HELD"
    RENEWING = "RENEWING"
    RELEASED = "RELEASED"
    EXPIRED = "EXPIRED"
    REVOKED = "REVOKED"


class Cause(StrEnum):
    """Why a lease was revoked."""

    AUTHORITY = "authority"
    OPERATOR = "operator"
    OWNERSHIP = "ownership"
    PREEMPTION = "preemption"


class OperationState(StrEnum):
    """How far an operation of the write protocol has come."""

    BEGUN = "BEGUN"
    READ = "READ"
    EXECUTED = "EXECUTED"
    UNVERIFIED = "UNVERIFIED"
    VERIFIED = "VERIFIED"
    ENDED = "ENDED"


class TransferState(StrEnum):
    """How far a transfer of ownership has come (coordination.md 6)."""

    PROPOSED = "PROPOSED"
    VALIDATED = "VALIDATED"
    FROZEN = "FROZEN"
    TRANSFERRED = "TRANSFERRED"
    REGISTERED = "REGISTERED"
    VERIFIED = "VERIFIED"
    RETIRED = "RETIRED"
    ABORTED = "ABORTED"


LEASE_ARROWS: Final[Mapping[LeaseState, frozenset[LeaseState]]] = {
    LeaseState.AVAILABLE: frozenset({LeaseState.ACQUIRING}),
    LeaseState.ACQUIRING: frozenset({LeaseState.HELD, LeaseState.AVAILABLE}),
    LeaseState.HELD: frozenset({LeaseState.RENEWING, LeaseState.RELEASED, LeaseState.EXPIRED, LeaseState.REVOKED}),
    LeaseState.RENEWING: frozenset({LeaseState.HELD, LeaseState.RELEASED, LeaseState.EXPIRED, LeaseState.REVOKED}),
    LeaseState.RELEASED: frozenset(),
    LeaseState.EXPIRED: frozenset(),
    LeaseState.REVOKED: frozenset(),
}

OPERATION_ARROWS: Final[Mapping[OperationState, frozenset[OperationState]]] = {
    OperationState.BEGUN: frozenset({OperationState.READ, OperationState.ENDED}),
    OperationState.READ: frozenset({OperationState.READ, OperationState.EXECUTED, OperationState.ENDED}),
    OperationState.EXECUTED: frozenset({OperationState.VERIFIED, OperationState.UNVERIFIED, OperationState.ENDED}),
    OperationState.UNVERIFIED: frozenset({OperationState.VERIFIED, OperationState.UNVERIFIED, OperationState.ENDED}),
    OperationState.VERIFIED: frozenset({OperationState.ENDED}),
    OperationState.ENDED: frozenset(),
}

TRANSFER_STEPS: Final[Mapping[str, tuple[TransferState, TransferState]]] = {
    "validate": (TransferState.PROPOSED, TransferState.VALIDATED),
    "freeze": (TransferState.VALIDATED, TransferState.FROZEN),
    "transfer": (TransferState.FROZEN, TransferState.TRANSFERRED),
    "register": (TransferState.TRANSFERRED, TransferState.REGISTERED),
    "verify": (TransferState.REGISTERED, TransferState.VERIFIED),
    "retire": (TransferState.VERIFIED, TransferState.RETIRED),
}
"""Each step with the state it leads from and the one it leads to."""

ABORTABLE: Final = frozenset({TransferState.PROPOSED, TransferState.VALIDATED, TransferState.FROZEN})
"""States from which a transfer can be aborted: authority has not moved yet."""


class ForbiddenArrow(ValueError):
    """A step that does not follow from the present state: a fault of the machine, never of a caller."""


def step(state: LeaseState, to: LeaseState) -> LeaseState:
    """Return the state a lease goes to.

    Raises:
        ForbiddenArrow: no arrow leads there.
    """
    if to not in LEASE_ARROWS[state]:
        raise ForbiddenArrow(f"a lease does not go from {state} to {to}")
    return to
