"""Resource types and actions: the state schema that decides what a write must bring (model.md 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.template import Template, parse_template


class Concurrency(StrEnum):
    """What two writers of one resource may do beside each other (coordination.md 1)."""

    APPEND_ONLY = "APPEND_ONLY"
    MULTI_WRITER_MERGEABLE = "MULTI_WRITER_MERGEABLE"
    NON_CONCURRENT = "NON_CONCURRENT"
    READ_SHARED = "READ_SHARED"
    SINGLE_WRITER = "SINGLE_WRITER"
    WRITE_EXCLUSIVE = "WRITE_EXCLUSIVE"
    WRITE_OPTIMISTIC = "WRITE_OPTIMISTIC"


ALWAYS_LOCKS: Final = frozenset({Concurrency.WRITE_EXCLUSIVE, Concurrency.SINGLE_WRITER, Concurrency.NON_CONCURRENT})
"""Classes whose every write needs a lease, so that a field may leave its merge policy out."""

ACQUISITIONS: Final = ("FIFO", "PRIORITY", "WEIGHTED_FAIR", "DEADLINE", "INCIDENT_PREEMPTIVE")
MERGES: Final = ("exclusive", "field_versioned", "set_merge")
CLASSES: Final = ("read", "write", "approve", "reconcile")
WRITES: Final = frozenset({"write", "reconcile"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    """A part of a resource that is governed on its own.

    Attributes:
        domain: Its row and column in the conflict matrix.
        merge: One of `MERGES`; None only where the class always locks.
        managed: Whether it needs an authoritative owner.
        independent: Whether a change of it leaves the rest alone; otherwise the whole resource is locked.
        concurrency: Overrides the type's class for this field.
    """

    domain: str | None = None
    merge: str | None = None
    managed: bool = False
    independent: bool = False
    concurrency: Concurrency | None = None

    def record(self) -> dict[str, Any]:
        """Return the form of world files and the ledger."""
        record: dict[str, Any] = {}
        for name in ("domain", "merge"):
            if getattr(self, name) is not None:
                record[name] = getattr(self, name)
        for name in ("managed", "independent"):
            if getattr(self, name):
                record[name] = True
        if self.concurrency is not None:
            record["concurrency"] = str(self.concurrency)
        return record


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceType:
    """The declaration of a type; its name is also the AuthZEN type.

    Attributes:
        name: Such as `wp:post`.
        key: The template of its keys.
        concurrency: NON_CONCURRENT where the world does not say (rules.md 1).
        lock_rank: Order of acquisition between types, lowest first.
        acquisition: Queue policy.
        escalate_at: From this count on, an AFFECTS target becomes a key of the operation too.
        stored: Whether a resource must have been declared to exist.
        fields: Name to specification.
    """

    name: str
    key: Template
    concurrency: Concurrency = Concurrency.NON_CONCURRENT
    lock_rank: int = 30
    acquisition: str = "FIFO"
    escalate_at: int | None = None
    stored: bool = False
    fields: Mapping[str, FieldSpec] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the form of world files and the ledger."""
        record: dict[str, Any] = {
            "name": self.name,
            "key": self.key.text,
            "concurrency": str(self.concurrency),
            "lock_rank": self.lock_rank,
        }
        if self.acquisition != "FIFO":
            record["acquisition"] = self.acquisition
        if self.escalate_at is not None:
            record["escalate_at"] = self.escalate_at
        if self.stored:
            record["stored"] = True
        if self.fields:
            record["fields"] = {name: spec.record() for name, spec in sorted(self.fields.items())}
        return record


_TYPE_MEMBERS: Final = frozenset(
    {"name", "key", "concurrency", "lock_rank", "acquisition", "escalate_at", "stored", "fields"}
)
_FIELD_MEMBERS: Final = frozenset({"domain", "merge", "managed", "independent", "concurrency"})


def parse_resource_type(record: Mapping[str, Any]) -> ResourceType:
    """Read a type.

    Raises:
        ModelError: an unknown member or value, or a field without a merge policy whose class does not always lock.
    """
    name = record["name"]
    _refuse_unknown(record, _TYPE_MEMBERS, f"resource type `{name}`")
    concurrency = _choice(
        record.get("concurrency", "NON_CONCURRENT"), Concurrency, f"resource type `{name}`: concurrency"
    )
    acquisition = record.get("acquisition", "FIFO")
    if acquisition not in ACQUISITIONS:
        raise ModelError(f"resource type `{name}`: acquisition `{acquisition}` is none of {', '.join(ACQUISITIONS)}")
    lock_rank, escalate_at = record.get("lock_rank", 30), record.get("escalate_at")
    if type(lock_rank) is not int or (escalate_at is not None and (type(escalate_at) is not int or escalate_at < 1)):
        raise ModelError(f"resource type `{name}`: `lock_rank` and `escalate_at` are whole numbers")
    fields = {each: _parse_field(name, each, spec, concurrency) for each, spec in (record.get("fields") or {}).items()}
    return ResourceType(
        name=name,
        key=parse_template(record["key"]),
        concurrency=concurrency,
        lock_rank=lock_rank,
        acquisition=acquisition,
        escalate_at=escalate_at,
        stored=bool(record.get("stored", False)),
        fields=fields,
    )


def _parse_field(owner: str, name: str, record: Mapping[str, Any], inherited: Concurrency) -> FieldSpec:
    where = f"resource type `{owner}`: field `{name}`"
    _refuse_unknown(record, _FIELD_MEMBERS, where)
    own = record.get("concurrency")
    concurrency = None if own is None else _choice(own, Concurrency, f"{where}: concurrency")
    merge = record.get("merge")
    if merge is not None and merge not in MERGES:
        raise ModelError(f"{where}: merge `{merge}` is none of {', '.join(MERGES)}")
    if merge is None and (concurrency or inherited) not in ALWAYS_LOCKS:
        raise ModelError(f"{where} has no `merge`: say exclusive, field_versioned or set_merge")
    return FieldSpec(
        domain=record.get("domain"),
        merge=merge,
        managed=bool(record.get("managed", False)),
        independent=bool(record.get("independent", False)),
        concurrency=concurrency,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A declared action, by its name `VERB_OBJECT`.

    Attributes:
        class_: read, write, approve or reconcile: which questions are asked (rules.md 6).
        fields: The fields it touches by default.
        domain: Its conflict domain where the field has none.
        risk: Declared risk, a value of the scale `risk`.
        reversible: Whether its effect can be undone.
        sequence: The line of ordered actions it belongs to, or None.
        concurrency: Overrides the resource type's class.
    """

    name: str
    class_: str
    fields: tuple[str, ...] = ()
    domain: str | None = None
    risk: str = "LOW"
    reversible: bool = False
    sequence: str | None = None
    concurrency: Concurrency | None = None

    @property
    def writes(self) -> bool:
        """Whether it changes state: write and reconcile."""
        return self.class_ in WRITES

    def record(self) -> dict[str, Any]:
        """Return the form of world files and the ledger."""
        record: dict[str, Any] = {
            "name": self.name,
            "class": self.class_,
            "risk": self.risk,
            "reversible": self.reversible,
        }
        if self.fields:
            record["fields"] = list(self.fields)
        for name in ("domain", "sequence"):
            if getattr(self, name) is not None:
                record[name] = getattr(self, name)
        if self.concurrency is not None:
            record["concurrency"] = str(self.concurrency)
        return record


def concurrency_of(declared: ResourceType, action: Action | None, fields: tuple[str, ...]) -> Concurrency:
    """Return the class in force: the action's, else the touched fields' where all say the same, else the type's."""
    if action is not None and action.concurrency is not None:
        return action.concurrency
    own = {declared.fields[name].concurrency for name in fields if name in declared.fields}
    only = own.pop() if len(own) == 1 else None
    return only or declared.concurrency


_ACTION_MEMBERS: Final = frozenset(
    {"name", "class", "fields", "domain", "risk", "reversible", "sequence", "concurrency"}
)


def parse_action(record: Mapping[str, Any]) -> Action:
    """Read an action.

    Raises:
        ModelError: an unknown member, class or concurrency.
    """
    name = record["name"]
    _refuse_unknown(record, _ACTION_MEMBERS, f"action `{name}`")
    if record.get("class") not in CLASSES:
        raise ModelError(f"action `{name}`: class `{record.get('class')}` is none of {', '.join(CLASSES)}")
    own = record.get("concurrency")
    return Action(
        name=name,
        class_=record["class"],
        fields=tuple(sorted(set(record.get("fields") or ()))),
        domain=record.get("domain"),
        risk=record.get("risk", "LOW"),
        reversible=bool(record.get("reversible", False)),
        sequence=record.get("sequence"),
        concurrency=None if own is None else _choice(own, Concurrency, f"action `{name}`: concurrency"),
    )


def _choice(value: object, kind: type[Concurrency], where: str) -> Concurrency:
    if not isinstance(value, str) or value not in kind.__members__:
        raise ModelError(f"{where} `{value}` is none of {', '.join(kind)}")
    return kind(value)


def _refuse_unknown(record: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    if not isinstance(record, Mapping):
        raise ModelError(f"{where} is a mapping")
    for member in record:
        if member not in known:
            raise ModelError(f"{where} has no member `{member}`; known are {', '.join(sorted(known))}")
