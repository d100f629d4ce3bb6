"""What the machine can be told about leases and the queues before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquire:
    """Ask for leases: all of them or none, now or as soon as they are free.

    Attributes:
        requests: Evaluations as the driver knows them, one for each resource.
        caller: Who asks, handed through to the policy's facts.
        point: The enforcement point, for quotas.
        coordination_id: Of what is begun.
        lease_ids: One for each request.
        waiter_id: Where it may have to wait.
        protocol: Whether it begins an operation of the write protocol, or takes leases alone.
        leaseless: An operation that meets others at the version only, where its class demands no lease.
        purpose: For the record; it gives no priority of its own.
        mode: `exclusive` or `shared`.
        ttl_us: Life of the lease; None is the default.
        wait_us: How long it may wait; 0 is not at all.
        keep_alive_us: How long a waiter is believed to be alive after it last asked; None is the default.
        preempt: Whether to take over where that is allowed.
        work_set_id: The declared run it belongs to.
    """

    requests: tuple[Any, ...]
    caller: Any
    point: str
    coordination_id: str
    lease_ids: tuple[str, ...]
    waiter_id: str
    protocol: bool = True
    leaseless: bool = False
    purpose: str | None = None
    mode: str = "exclusive"
    ttl_us: int | None = None
    wait_us: int = 0
    keep_alive_us: int | None = None
    preempt: bool = False
    work_set_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Renew:
    """Keep a lease, or all leases of an operation.

    Attributes:
        lease_id: The lease, or None where the operation is named.
        coordination_id: The operation, or None where the lease is named.
        holder: Who asks.
        token: The lease epoch.
        ttl_us: From now on; None is as before.
        progress: A mark that differs from the last one where the run has advanced.
        version: The lease's version that the caller saw (`If-Match`), or None.
    """

    holder: str
    token: int
    lease_id: str | None = None
    coordination_id: str | None = None
    ttl_us: int | None = None
    progress: str | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Give a lease back; doing it twice is as good as once."""

    lease_id: str
    holder: str
    token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndLease:
    """End a lease of somebody else, who may be gone: a right of those who may revoke its holder."""

    lease_id: str
    actor: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepWaiting:
    """Say that clients still ask: all waiters of one replica in one command (rules.md 11)."""

    waiter_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveQueue:
    """Stop waiting."""

    waiter_id: str
    holder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """End what is over, grant what became free; nothing where there is nothing."""
