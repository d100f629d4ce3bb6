"""What a caller hands in to be written, and what its three callbacks are given and answer.

`read` looks at the resource, `execute` writes it, `verify` looks again. Each is given the `Turn`: what its caller has
in hand while it may act. A callback that finds the resource moved raises `StalePlan.moved`; one that meets a choice
which is not a program's raises `NeedsPerson.because`. Both say that nothing was written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

RESTRICT_FIELDS: Final = "restrict_fields"
PERFORMED: Final = frozenset({"precondition", RESTRICT_FIELDS})
"""Duties that every plan has: step 7 compares the version, and `execute` writes the fields of its `Turn` alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What `read` saw: the version that the write rests on, and whatever else `execute` needs."""

    version: str
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalMet:
    """What `read` answers where nothing is left to be written (S82)."""

    version: str
    reason: str = "the goal is met already"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What `verify` saw: whether the resource is as it should be, and its version now; `checks` go into the receipt."""

    passed: bool
    final_version: str
    checks: Sequence[Mapping[str, str | bool | None]] = ()


@dataclass(slots=True, kw_only=True)
class Turn:
    """What the caller has in hand while it may act.

    Attributes:
        coordination_id: Of the operation; for logs, and as `context.coordination_id` of further questions.
        fencing_tokens: The token of each fence key, for the guard at the resource; none where no lease was asked for.
        lease_epoch: The highest of them, for a resource that takes one number.
        fields: What `execute` may write, and nothing beside it; None is the whole resource.
        obligations: What else the permit demands.
        seen: What `read` answered; its version is what `execute` writes on, as `If-Match`.
    """

    coordination_id: str
    fencing_tokens: Mapping[str, int]
    lease_epoch: int
    obligations: Sequence[Mapping[str, Any]]
    fields: frozenset[str] | None = None
    seen: Seen | None = None
    progress: str | None = None

    @property
    def expected_version(self) -> str:
        """Return the version that the write rests on."""
        if self.seen is None:
            raise RuntimeError("the resource was not read yet")
        return self.seen.version

    def mark(self, progress: str) -> None:
        """Say how far the work has come; a lease whose holder does not advance is not renewed for ever (S68)."""
        self.progress = progress


def fields_of(obligations: Sequence[Mapping[str, Any]]) -> frozenset[str] | None:
    """Return the fields that the duties of a permit leave to be written; a duty that cannot be read leaves none."""
    left: frozenset[str] | None = None
    for each in obligations:
        if each.get("type") == RESTRICT_FIELDS:
            properties = each.get("properties")
            named = properties.get("fields") if isinstance(properties, dict) else None
            fields = (
                frozenset(name for name in named if isinstance(name, str)) if isinstance(named, list) else frozenset()
            )
            left = fields if left is None else left & fields
    return left


Read: TypeAlias = "Callable[[Turn], Awaitable[Seen | GoalMet]]"
Execute: TypeAlias = "Callable[[Turn], Awaitable[Mapping[str, Any] | None]]"
Verify: TypeAlias = "Callable[[Turn], Awaitable[Verified]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One write, carried out once.

    Attributes:
        subject, action, resource: Who does what to which key, as `instance:seo-agent-7`, `UPDATE_CANONICAL`,
            `wp:post:1024`.
        read, execute, verify: What is done at the resource. `execute` may return evidence for the receipt.
        expected_version: The version it was planned on, where it was planned before.
        context: More of the question: `risk`, `change_id`, `capability`, `approval_id`.
        purpose: What the lease says it is for.
        ttl_seconds: How long a lease lasts without a renewal; the decision point's own bound where it is None.
        wait_seconds: How long to stand in the queue where the resource is busy; 0 does not wait.
        lease: False for a write that meets others at the version only, where its class demands no lease.
        key: The idempotency key, for one who may come again after a crash; made anew where it is None.
        performs: Types of obligations that the callbacks perform. A permit with any other is refused (S123).
    """

    subject: str
    action: str
    resource: str
    read: Read
    execute: Execute
    verify: Verify
    expected_version: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    purpose: str | None = None
    ttl_seconds: float | None = None
    wait_seconds: float = 0
    lease: bool = True
    key: str | None = None
    performs: frozenset[str] = frozenset()
