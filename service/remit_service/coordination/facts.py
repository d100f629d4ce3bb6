"""The facts of coordination in the policy input: who holds, who edits, what is presented, whose turn it is.

Everything here is a fact and nothing a verdict; which of two operations must give way is the policy's to say. Where
nobody holds, waits, edits or transfers anything, they are one constant, so that a decision pays for coordination only
where there is some.

    coordination_facts(view, question, tables)["coordination"]["presented"]["state"]  # "current"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from remit_graph.model.resource_type import concurrency_of
from remit_service.coordination.freeze import transfer_facts
from remit_service.coordination.holding import Holding, impact
from remit_service.coordination.overlap import overlapping
from remit_service.coordination.presented import capability_of, presented_lease
from remit_service.coordination.priority import incidents_over, priority_of
from remit_service.coordination.sequence import is_next, sequence_facts

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.model.principal import Principal
    from remit_graph.model.registry import Resolved
    from remit_graph.model.resource_type import Action
    from remit_graph.view.state import View
    from remit_service.coordination.tables import Tables
    from remit_service.coordination.values import Record

Facts = Mapping[str, Any]


class Said(Protocol):
    """An evaluation, as far as its context is read here."""

    @property
    def context(self) -> Mapping[str, Any]:
        """The context as it was sent."""


class Asked(Protocol):
    """A question that was resolved against the view; `decision.resolve.Question` is one."""

    @property
    def evaluation(self) -> Said:
        """As asked."""

    @property
    def principal(self) -> Principal | None:
        """The subject."""

    @property
    def action(self) -> Action | None:
        """The declared action."""

    @property
    def resource(self) -> Resolved | None:
        """Canonical key and type."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Effective fields."""

    @property
    def at(self) -> Instant:
        """The decision's instant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """In what way a question is put.

    Attributes:
        phase: `begin`, `renew`, `rest`, `probe`, or None for a plain decision.
        mode: `exclusive` or `shared`; None follows from the action's class.
        lease_id: The lease in whose name it is asked, whatever the context presents.
    """

    phase: str | None = None
    mode: str | None = None
    lease_id: str | None = None


PLAIN: Final = Manner()

_PHASES: Final = frozenset({"begin", "renew"})
"""What the policy tells apart; `rest` and `probe` ask as a plain decision does."""


def _nothing(phase: str | None, mode: str) -> dict[str, Any]:
    return {
        "required": "none", "mode": mode, "phase": phase, "held": None, "presented": None, "overlapping": [],
        "overlapping_cut": False, "presence": [], "transfer": None, "sequence": None, "queue_length": 0, "priority": 0,
        "cooldown_until": 0,
    }  # fmt: skip


NO_COORDINATION: Final[Facts] = {
    "coordination": _nothing(None, "exclusive"), "capability": None, "approval": None, "incidents": [],
}  # fmt: skip
"""Where nothing is held, waited for or edited, nothing is presented, and the action is of no line."""

_SHARED: Final[Facts] = {**NO_COORDINATION, "coordination": _nothing(None, "shared")}
_PRESENTING: Final = ("lease", "coordination_id", "sequence")


def coordination_facts(view: View, asked: Asked, tables: Tables, manner: Manner = PLAIN) -> Facts:
    """Return the members `coordination`, `capability`, `approval` and `incidents` of the policy input.

    Capabilities and approvals that are records of their own are filled in by the rooms that make them; a begun
    operation is a capability, and is presented by its coordination id (rules.md 6).
    """
    said, action = asked.evaluation.context, asked.action
    mode = manner.mode or ("shared" if action is not None and action.class_ == "read" else "exclusive")
    if asked.resource is None or action is None or asked.principal is None:
        return _plain(manner, mode)
    idle = view.coordination.is_idle and action.sequence is None
    if idle and manner.lease_id is None and not any(each in said for each in _PRESENTING):
        return _plain(manner, mode)
    return _Facts(view, asked, tables, manner, mode).collect()


def _plain(manner: Manner, mode: str) -> Facts:
    if manner.phase in _PHASES:
        return {**NO_COORDINATION, "coordination": _nothing(manner.phase, mode)}
    return _SHARED if mode == "shared" else NO_COORDINATION


class _Facts:
    """One question's facts; its parts share what is asked for."""

    def __init__(self, view: View, asked: Asked, tables: Tables, manner: Manner, mode: str) -> None:
        self.view, self.tables, self.manner = view, tables, manner
        self.at = asked.at
        self.said = asked.evaluation.context
        self.resource, self.action, self.principal = asked.resource, asked.action, asked.principal
        self.fields = asked.fields
        assert self.resource is not None  # noqa: S101 - for the type checker; `coordination_facts` has just looked
        assert self.action is not None  # noqa: S101 - the same
        assert self.principal is not None  # noqa: S101 - the same
        self.key = self.resource.key
        self.sequence = sequence_facts(view, self.action.sequence, self.said.get("sequence"))
        self.holding = Holding(
            holder=self.principal.id,
            keys=tuple(impact(view, self.key, self.resource.type, self.action, self.fields, self.at)),
            mode=mode,
            concurrency=str(concurrency_of(self.resource.type, self.action, self.fields)),
            set_operations=self.said.get("set_operations"),
            is_next=is_next(self.sequence),
        )

    def collect(self) -> Facts:
        rows, cut = overlapping(self.view, self.tables, self.holding, self.at) if self._excludes() else ([], False)
        holder, tables = self.holding.holder, self.view.coordination
        return {
            "coordination": {
                "required": "none",
                "mode": self.holding.mode,
                "phase": self.manner.phase if self.manner.phase in _PHASES else None,
                "held": self._held(),
                "presented": self._presented(),
                "overlapping": rows,
                "overlapping_cut": cut,
                "presence": self._presence(),
                "transfer": transfer_facts(self.view, self.key, self.fields, self.at),
                "sequence": self.sequence,
                "queue_length": len(tables.waiters.at.get(self.key, ())),
                "priority": priority_of(self.view, self.tables, holder, self.key, self.at),
                "cooldown_until": tables.cooldowns.get(holder, 0),
            },
            "capability": self._capability(),
            "approval": None,
            "incidents": self._incidents(),
        }

    def _excludes(self) -> bool:
        """Whether others can be in the way: of a read only where writes exclude it (rules.md 6)."""
        assert self.action is not None  # noqa: S101 - for the type checker
        return self.action.writes or (self.action.class_ == "read" and self.holding.concurrency == "NON_CONCURRENT")

    def _held(self) -> Record | None:
        """The subject's own live lease on this very key, the newest."""
        tables, leases = self.view.coordination, self.view.records.get("lease", {})
        own = [leases[each] for each in tables.leases.at.get(self.key, ()) if each in leases]
        mine = [each for each in own if each["holder"] == self.holding.holder and each["expires_at"] > self.at]
        if not mine:
            return None
        lease = max(mine, key=lambda each: (each["lease_epoch"], each["id"]))
        return {name: lease[name] for name in ("lease_id", "fields", "domains", "mode", "lease_epoch", "expires_at")}

    def _presented(self) -> Record | None:
        if self.manner.lease_id is not None:
            lease = self.view.records["lease"][self.manner.lease_id]
            shown: tuple[str, int] | None = (lease["lease_id"], lease["lease_epoch"])
        else:
            shown = _shown(self.said.get("lease"))
        if shown is None or self.manner.phase == "begin":
            return None
        return presented_lease(self.view, self.tables, self.holding, *shown, self.at)

    def _presence(self) -> list[Record]:
        presences = self.view.records.get("presence", {})
        here = [presences[each] for each in sorted(self.view.coordination.present.get(self.key, ()))]
        return [
            {"actor": each["actor"], "fields": list(each["fields"]), "resource_key": each["resource_key"]}
            for each in here
            if each["expires_at"] > self.at
        ]

    def _capability(self) -> Record | None:
        coordination_id = self.said.get("coordination_id")
        if coordination_id is None or self.action is None:
            return None
        return capability_of(self.view, self.holding, self.action.name, coordination_id, self.at)

    def _incidents(self) -> list[Record]:
        names = ("incident_id", "severity", "resource_key", "status")
        return [{name: each[name] for name in names} for each in incidents_over(self.view, self.key, self.at)]


def _shown(lease: object) -> tuple[str, int] | None:
    if not isinstance(lease, Mapping):
        return None
    return str(lease["lease_id"]), int(lease["fencing_token"])
