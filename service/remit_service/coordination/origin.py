"""Where a grant comes from: the members that a command and a waiter share, so that a grant is made one way only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit_service.coordination.command import Acquire
    from remit_service.coordination.tables import Tables
    from remit_service.coordination.values import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What was asked for besides the resources; see `Acquire`."""

    coordination_id: str
    lease_ids: tuple[str, ...]
    waiter_id: str
    wait_us: int
    point: str
    mode: str
    ttl_us: int
    protocol: bool
    leaseless: bool
    purpose: str | None
    work_set_id: str | None

    def record(self) -> dict[str, Any]:
        """Return the form a waiter keeps."""
        return {
            "coordination_id": self.coordination_id,
            "lease_ids": list(self.lease_ids),
            "waiter_id": self.waiter_id,
            "wait_us": self.wait_us,
            "point": self.point,
            "mode": self.mode,
            "ttl_us": self.ttl_us,
            "protocol": self.protocol,
            "leaseless": self.leaseless,
            "purpose": self.purpose,
            "work_set_id": self.work_set_id,
        }


def origin_of(command: Acquire, tables: Tables) -> Origin:
    """Read a command."""
    return Origin(
        coordination_id=command.coordination_id,
        lease_ids=command.lease_ids,
        waiter_id=command.waiter_id,
        wait_us=command.wait_us,
        point=command.point,
        mode=command.mode,
        ttl_us=tables.leases.ttl_us if command.ttl_us is None else command.ttl_us,
        protocol=command.protocol,
        leaseless=command.leaseless,
        purpose=command.purpose,
        work_set_id=command.work_set_id,
    )


def origin_in(waiter: Record) -> Origin:
    """Read a waiter."""
    names = (
        "coordination_id",
        "waiter_id",
        "wait_us",
        "point",
        "mode",
        "ttl_us",
        "protocol",
        "leaseless",
        "purpose",
        "work_set_id",
    )
    return Origin(lease_ids=tuple(waiter["lease_ids"]), **{name: waiter[name] for name in names})
