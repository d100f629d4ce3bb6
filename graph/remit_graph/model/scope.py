"""Scope: what an edge covers, with its three operations and their laws (model.md 4, rules.md 3).

Laws, each a property test of this name:

- `covers`: a request is inside in every dimension;
- `contains`: `a.contains(b)` and `b.covers(r)` imply `a.covers(r)`; reflexive, transitive;
- `narrow`: the greatest lower bound of two scopes; commutative, associative, idempotent.

A missing dimension does not narrow, an empty list covers nothing, and what is not understood covers nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from remit_graph.errors import ModelError
from remit_graph.model.condition import OPERATORS, Condition, Scales, Truth, parse_condition
from remit_graph.model.groups import Names, meet, meet_groups, not_inside, note_outside, reduce_groups
from remit_graph.model.key import parse_selector

DIMENSIONS: Final = ("actions", "resources", "fields", "where", "conditions")


class Target(Protocol):
    """What a request touches, as far as a scope asks.

    Attributes:
        action: The action's name.
        fields: The touched fields; empty means the whole resource.
    """

    @property
    def action(self) -> str:
        """The action's name."""

    @property
    def fields(self) -> Names:
        """The touched fields."""

    def under(self, selector: str) -> bool:
        """Say whether `selector` covers the resource or one of its ancestors."""

    def declares(self, name: str) -> bool:
        """Say whether the world declares this dimension of `where`."""

    def dimension(self, name: str) -> str | None:
        """Return the value of a dimension, or None where it is missing or disputed."""

    def attribute(self, path: str) -> object:
        """Return an attribute by its path, or None where it is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A product of dimensions; None is 'not narrowed'.

    Attributes:
        actions: Names of actions.
        resources: Lists of selectors; each list must cover (a narrowed scope may keep several).
        fields: Names of fields; a request on the whole resource is covered only where this is None.
        where: Dimension to allowed values, sorted by name.
        conditions: All must be met.
        unknown: Names of dimensions that are not understood: then nothing is covered.
    """

    actions: Names | None = None
    resources: tuple[Names, ...] | None = None
    fields: Names | None = None
    where: tuple[tuple[str, Names], ...] = ()
    conditions: tuple[Condition, ...] = ()
    unknown: Names = ()

    @property
    def is_open(self) -> bool:
        """Whether nothing is narrowed."""
        return self == OPEN

    def covers(self, target: Target, scales: Scales) -> bool:
        """Say whether the whole of `target` lies inside."""
        return self.refusal(target, scales) is None

    def refusal(self, target: Target, scales: Scales) -> str | None:
        """Return None where `target` is covered, else the reason code of the first dimension that refuses.

        Order: `condition_unknown` for what is not understood, `scope_not_covered`, then the conditions.
        """
        if self.unknown:
            return "condition_unknown"
        placed = True
        for name, values in self.where:
            if not target.declares(name):
                return "condition_unknown"
            placed = placed and target.dimension(name) in values
        if not placed or not self._names_cover(target):
            return "scope_not_covered"
        if not self.conditions:
            return None
        truths = [condition.truth(target.attribute, scales) for condition in self.conditions]
        if Truth.UNKNOWN in truths:
            return "condition_unknown"
        return "condition_not_met" if Truth.NOT_MET in truths else None

    def _names_cover(self, target: Target) -> bool:
        if self.actions is not None and target.action not in self.actions:
            return False
        if self.fields is not None:
            if not target.fields:
                return False
            for name in target.fields:
                if name not in self.fields:
                    return False
        for group in self.resources or ():
            for selector in group:
                if target.under(selector):
                    break
            else:
                return False
        return True

    @property
    def is_empty(self) -> bool:
        """Whether it can cover nothing at all, whatever is asked."""
        groups = [self.actions, self.fields, *(self.resources or ()), *(values for _, values in self.where)]
        return bool(self.unknown) or any(group is not None and not group for group in groups)

    def contains(self, other: Scope, scales: Scales) -> bool:
        """Say whether `other` covers nothing that this does not."""
        return not self.widened_by(other, scales)

    def widened_by(self, other: Scope, scales: Scales) -> dict[str, list[str]]:
        """Return what of `other` lies outside, by dimension: what an attenuation refusal names.

        A dimension that `other` leaves open though this narrows it is named with `*`.
        """
        if other.is_empty:
            return {}
        outside: dict[str, list[str]] = {}
        if self.unknown:
            outside["unknown"] = list(self.unknown)
        note_outside(outside, "actions", self.actions, other.actions)
        note_outside(outside, "fields", self.fields, other.fields)
        if missing := self._resources_outside(other):
            outside["resources"] = missing
        theirs = dict(other.where)
        for name, values in self.where:
            note_outside(outside, name, values, theirs.get(name))
        for condition in self.conditions:
            if not any(each.implies(condition, scales) for each in other.conditions):
                outside.setdefault("conditions", []).append(
                    f"{condition.attribute} {condition.operator} {condition.value}"
                )
        return outside

    def _resources_outside(self, other: Scope) -> list[str]:
        offending: list[str] = []
        for group in self.resources or ():
            candidates: list[list[str]] = [not_inside(group, theirs) for theirs in other.resources or ()]
            if not candidates:
                offending.append("*")
            elif all(candidates):
                shortest = min(candidates, key=len)
                offending.extend(shortest)
        return sorted(set(offending))

    def narrow(self, other: Scope, scales: Scales) -> Scope:
        """Return the greatest scope that both contain."""
        where = dict(self.where)
        for name, values in other.where:
            where[name] = meet(where.get(name), values) or ()
        return Scope(
            actions=meet(self.actions, other.actions),
            resources=meet_groups(self.resources, other.resources),
            fields=meet(self.fields, other.fields),
            where=tuple(sorted(where.items())),
            conditions=_strongest([*self.conditions, *other.conditions], scales),
            unknown=tuple(sorted({*self.unknown, *other.unknown})),
        )

    def filled_from(self, parent: Scope, scales: Scales) -> Scope:
        """Return this scope with every dimension it leaves open taken from `parent` (rules.md 3)."""
        where = {**dict(parent.where), **dict(self.where)}
        names = {each.attribute for each in self.conditions}
        inherited = [each for each in parent.conditions if each.attribute not in names]
        return Scope(
            actions=parent.actions if self.actions is None else self.actions,
            resources=parent.resources if self.resources is None else self.resources,
            fields=parent.fields if self.fields is None else self.fields,
            where=tuple(sorted(where.items())),
            conditions=_strongest([*self.conditions, *inherited], scales),
            unknown=self.unknown,
        )

    def record(self) -> dict[str, object]:
        """Return the form of world files, Rego and the ledger; sorted, and empty for an open scope."""
        record: dict[str, object] = {}
        if self.actions is not None:
            record["actions"] = list(self.actions)
        if self.resources is not None:
            groups = [list(group) for group in self.resources]
            record["resources"] = groups[0] if len(groups) == 1 else groups
        if self.fields is not None:
            record["fields"] = list(self.fields)
        if self.where:
            record["where"] = {name: list(values) for name, values in self.where}
        if self.conditions:
            record["conditions"] = [condition.record() for condition in self.conditions]
        record.update(dict.fromkeys(self.unknown, True))
        return record


OPEN: Final = Scope()


def _strongest(conditions: Iterable[Condition], scales: Scales) -> tuple[Condition, ...]:
    unique = sorted(
        set(conditions), key=lambda each: (each.attribute, each.operator, str(each.value), repr(each.value))
    )
    kept = [
        each
        for each in unique
        if not any(
            other != each and other.implies(each, scales) and not each.implies(other, scales) for other in unique
        )
    ]
    return tuple(kept)


def parse_scope(record: object) -> Scope:
    """Read a scope from its world-file form.

    Raises:
        ModelError: a member of the wrong type. A key that is no dimension is kept in `unknown`, and a malformed
            selector is kept as it is: a stored edge that holds one covers nothing there. `check_scope` refuses both
            when an edge is made.
    """
    if record is None:
        return OPEN
    if not isinstance(record, Mapping):
        raise ModelError(f"`{record}` is not a scope: write a mapping with some of {list(DIMENSIONS)}")
    where = record.get("where", {})
    if not isinstance(where, Mapping):
        raise ModelError("`where` is a mapping from dimension to a list of values")
    conditions = record.get("conditions", [])
    if not isinstance(conditions, list | tuple):
        raise ModelError("`conditions` is a list")
    return Scope(
        actions=_optional(record, "actions"),
        resources=_parse_resources(record),
        fields=_optional(record, "fields"),
        where=tuple(sorted((str(name), _names(values, f"where.{name}")) for name, values in where.items())),
        conditions=_strongest([parse_condition(each) for each in conditions], {}),
        unknown=tuple(sorted(str(key) for key in record if key not in DIMENSIONS)),
    )


def check_scope(scope: Scope) -> Scope:
    """Return a scope that may be given to a new edge.

    Raises:
        ModelError: an unknown dimension (`condition_unknown`) or operator, or a malformed selector.
    """
    if scope.unknown:
        raise ModelError(
            f"`{scope.unknown[0]}` is no dimension of a scope; known are {', '.join(DIMENSIONS)}",
            code="condition_unknown",
        )
    for condition in scope.conditions:
        if condition.operator not in OPERATORS:
            raise ModelError(
                f"`{condition.operator}` is no operator; known are {', '.join(OPERATORS)}", code="condition_unknown"
            )
    for group in scope.resources or ():
        for selector in group:
            parse_selector(selector)
    return scope


def _optional(record: Mapping[object, object], name: str) -> Names | None:
    return _names(record[name], name) if name in record else None


def _parse_resources(record: Mapping[object, object]) -> tuple[Names, ...] | None:
    if "resources" not in record:
        return None
    value = record["resources"]
    items = value if isinstance(value, list | tuple) else ()
    if items and all(isinstance(each, list | tuple) for each in items):
        return reduce_groups(_names(each, "resources") for each in items)
    return reduce_groups([_names(value, "resources")])


def _names(value: object, name: str) -> Names:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each for each in value):
        raise ModelError(f"`{name}` is a list of names, not `{value}`")
    return tuple(sorted(set(value)))
