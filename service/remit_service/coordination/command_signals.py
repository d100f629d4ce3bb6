"""What the machine can be told about people, incidents, observations, runs, ownership, and the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_service.coordination.values import Record


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
