"""What the machine reads of policy data: the conflict matrix, priorities, weights, delays, and the groups of codes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from remit_graph.model.instant import SECOND
from remit_service.coordination.bounds import LeasePolicy, Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

Names = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Policy data as values; made once for a bundle.

    Attributes:
        parents: Conflict domain to its parent, or None.
        matrix: Row, then column, to what two domains mean for each other.
        sequenced: Domains in which the next operation of a line waits where others are rejected.
        demands: Class of concurrency to what a write must bring.
        groups: Reason code to the question it belongs to.
        role_priority, purpose_priority, incident_priority: Rows of governed priority.
        default_priority: Without a row.
        weights: Role to its share of a WEIGHTED_FAIR queue; `default_weight` for the others.
        ageing_us: A waiter older than this goes before every younger one.
        cooldown_us: How long the loser of a takeover may not preempt.
        lock_delay_us: Resource type to how long it rests after an expiry; `*` for the others.
        max_hold_us: Resource type to a bound of its own.
        too_broad: Selectors of keys that no lease may be on.
        leases: Bounds of leases.
        limits: Quotas.
    """

    parents: Mapping[str, str | None]
    matrix: Mapping[str, Mapping[str, str]]
    sequenced: Names = frozenset()
    demands: Mapping[str, Names] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    role_priority: Mapping[str, int] = field(default_factory=dict)
    purpose_priority: Mapping[str, int] = field(default_factory=dict)
    incident_priority: Mapping[str, int] = field(default_factory=dict)
    default_priority: int = 10
    weights: Mapping[str, int] = field(default_factory=dict)
    default_weight: int = 1
    ageing_us: int = 60 * SECOND
    cooldown_us: int = 10 * SECOND
    lock_delay_us: Mapping[str, int] = field(default_factory=dict)
    max_hold_us: Mapping[str, int] = field(default_factory=dict)
    too_broad: tuple[str, ...] = ()
    leases: LeasePolicy = field(default_factory=LeasePolicy)
    limits: Limits = field(default_factory=Limits)

    @property
    def top_priority(self) -> int:
        """The highest priority there is: what ageing leads to."""
        rows = (self.role_priority, self.purpose_priority, self.incident_priority)
        return max([self.default_priority, *(value for row in rows for value in row.values())])

    def delay_us(self, type_name: str) -> int:
        """Return how long a resource of this type rests after an expiry or a takeover."""
        return self.lock_delay_us.get(type_name, self.lock_delay_us.get("*", 0))

    def hold_us(self, type_name: str) -> int:
        """Return what no renewal of a lease on this type can go beyond."""
        return min(self.leases.max_hold_us, self.max_hold_us.get(type_name, self.leases.max_hold_us))


def tables_of(data: Mapping[str, Any], *, leases: LeasePolicy | None = None, limits: Limits | None = None) -> Tables:
    """Read the data tree of a bundle; what it leaves out has its default."""
    remit = data["remit"]
    config, conflict = remit["config"], remit["conflict"]
    priorities = config.get("priorities") or {}
    weights = config.get("acquisition_weights") or {}
    return Tables(
        parents={name: (row or {}).get("parent") for name, row in conflict["domains"].items()},
        matrix=conflict["matrix"],
        sequenced=frozenset(conflict.get("sequenced") or ()),
        demands={name: frozenset(each) for name, each in config["concurrency"].items()},
        groups={row["code"]: row["group"] for row in remit["reasons"]["codes"]},
        role_priority=priorities.get("roles") or {},
        purpose_priority=priorities.get("purposes") or {},
        incident_priority=priorities.get("incidents") or {},
        default_priority=priorities.get("default", 10),
        weights=weights.get("roles") or {},
        default_weight=weights.get("default", 1),
        ageing_us=config.get("ageing_bound_seconds", 60) * SECOND,
        cooldown_us=config.get("preemption_cooldown_seconds", 10) * SECOND,
        lock_delay_us=_microseconds(config.get("lock_delay_seconds")),
        max_hold_us=_microseconds(config.get("max_hold_seconds")),
        too_broad=tuple(config.get("too_broad") or ()),
        leases=leases or LeasePolicy(),
        limits=limits or Limits(),
    )


def _microseconds(rows: Mapping[str, int] | None) -> dict[str, int]:
    return {name: seconds * SECOND for name, seconds in (rows or {}).items()}
