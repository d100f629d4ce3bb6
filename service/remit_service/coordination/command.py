"""What the machine can be told to do. Ids are chosen by whoever sends a command, so that a repeat means the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_service.coordination.values import Record


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
        coordination_id: Of the operation.
        actor: Who found it.
        finding: What was found.
        receipt: The receipt as it was last written, for one that has left the view.
    """

    coordination_id: str
    actor: str
    finding: Record
    receipt: Record | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalPresence:
    """Somebody edits: `fields` are touched, empty is the whole resource.

    Attributes:
        resource: `{type, id}`.
        actor: Who edits.
        from_actor: Whether it is the actor who says so; it must then be allowed to write there.
    """

    resource: Record
    actor: str
    interactive_editor: bool
    fields: tuple[str, ...]
    last_activity: Instant
    ttl_us: int
    point: str
    from_actor: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EndPresence:
    """Somebody has stopped editing."""

    presence_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareIncident:
    """Open, change or close an incident: `status` OPEN or CLOSED."""

    incident_id: str
    actor: str
    caller: Any
    resource: Record
    severity: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observe:
    """A change seen at the resource by an adapter or a drift detector.

    Attributes:
        resource: `{type, id}`.
        actor: The presumed writer, or None where nobody is known.
        reporter: Who saw it.
        is_trusted: Whether the reporter is an enforcement point trusted for `observations`; else it needs a chain.
    """

    observation_id: str
    resource: Record
    fields: tuple[str, ...]
    observed_version: str | None
    actor: str | None
    seen_at: Instant
    reporter: str
    is_trusted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareWorkSet:
    """What a run will read, write and delete.

    Attributes:
        run_id: Of the run.
        actor: Who declares it.
        reads, writes, deletes: Keys of registered resources.
        operations: Actions it will use; empty is any.
        expires_at: When the record counts no longer.
        exclusive: An assignment that is refused where another declared set would meet it (S45).
    """

    run_id: str
    actor: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    deletes: tuple[str, ...]
    operations: tuple[str, ...]
    expires_at: Instant
    point: str
    exclusive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EndWorkSet:
    """A run is over."""

    run_id: str
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeTransfer:
    """Begin to move the ownership of fields from one owner to another."""

    transfer_id: str
    actor: str
    from_owner: str
    to_owner: str
    resource: str
    fields: tuple[str, ...]
    reason: str
    freeze_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTransfer:
    """Take a transfer one step on, or abort it.

    Attributes:
        step: `validate`, `freeze`, `transfer`, `register`, `verify`, `retire` or `abort`.
        probes: For `verify`: a request of the new writer that must pass, and one of the old writer that must not.
    """

    transfer_id: str
    actor: str
    step: str
    probes: tuple[Record, ...] = ()
    evidence: Record | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginIncarnation:
    """The store was put back from a backup: end all that was held from before (rules.md 2)."""

    incarnation: int


Command = (
    Acquire | Renew | Release | EndLease | KeepWaiting | LeaveQueue | Sweep | Precondition | Executed | Verified
    | Complete | Abort | FollowUp | SignalPresence | EndPresence | DeclareIncident | Observe | DeclareWorkSet
    | EndWorkSet | ProposeTransfer | StepTransfer | BeginIncarnation
)  # fmt: skip
