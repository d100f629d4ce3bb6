"""Conditions on attributes, and the ordered scales some of them compare on.

A condition reads one attribute of the request: `context.` (the default), `subject.`, `resource.`, `action.` or
`incident.`. It is *met*, *not met*, or *unknown* where the operator, the scale or the value on it is not known;
a missing attribute is not met, which is neither an error nor a pass (model.md 4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from remit_graph.errors import ModelError

Scalar = str | int | bool
Scales = Mapping[str, tuple[str, ...]]
"""Scale name to its values, lowest first; policy data, `remit.config.scales`."""

OPERATORS: Final = ("equals", "in", "at_most", "at_least", "equals_attribute")
_MEMBERS: Final = 2
ROOTS: Final = frozenset({"context", "subject", "resource", "action", "incident"})


class Truth(Enum):
    """What a condition says of a request."""

    MET = "met"
    NOT_MET = "condition_not_met"
    UNKNOWN = "condition_unknown"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Condition:
    """One comparison; `operator` outside `OPERATORS` is kept and is never met.

    Two are equal if they say the same of every request: `equals: 1` is not `equals: true`, though `1 == True`.

    Attributes:
        attribute: Path such as `risk`, `resource.owner_id`, `incident.severity`.
        operator: One of `OPERATORS`.
        value: A scalar; for `in` a tuple of scalars; for `equals_attribute` another path.
    """

    attribute: str
    operator: str
    value: Scalar | tuple[Scalar, ...]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Condition):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.attribute, self.operator, type(self.value), _values(self)

    def record(self) -> dict[str, object]:
        """Return the form of world files, Rego and the ledger."""
        value = list(self.value) if isinstance(self.value, tuple) else self.value
        return {"attribute": self.attribute, self.operator: value}

    def truth(self, attribute: Callable[[str], object], scales: Scales) -> Truth:
        """Judge the condition; `attribute` returns a path's value, or None where it is missing."""
        actual = attribute(self.attribute)
        if self.operator in ("at_most", "at_least"):
            return self._compare(actual, scales)
        if self.operator not in OPERATORS:
            return Truth.UNKNOWN
        if actual is None:
            return Truth.NOT_MET
        if self.operator == "in":
            holds = isinstance(self.value, tuple) and any(same(actual, each) for each in self.value)
        elif self.operator == "equals":
            holds = same(actual, self.value)
        else:
            other = attribute(str(self.value))
            holds = other is not None and same(actual, other)
        return Truth.MET if holds else Truth.NOT_MET

    def _compare(self, actual: object, scales: Scales) -> Truth:
        bound = rank(self.attribute, self.value, scales)
        if bound is None:
            return Truth.UNKNOWN
        if actual is None:
            return Truth.NOT_MET
        mine = rank(self.attribute, actual, scales)
        if mine is None:
            return Truth.UNKNOWN
        holds = mine <= bound if self.operator == "at_most" else mine >= bound
        return Truth.MET if holds else Truth.NOT_MET

    def implies(self, other: Condition, scales: Scales) -> bool:
        """Say whether whatever meets this meets `other`: same attribute and operator, or equality (rules.md 3)."""
        if self == other:
            return True
        if (self.attribute, self.operator) != (other.attribute, other.operator):
            return False
        if self.operator == "in":
            return _values(self) <= _values(other)
        if self.operator in ("at_most", "at_least"):
            mine, theirs = rank(self.attribute, self.value, scales), rank(self.attribute, other.value, scales)
            if mine is None or theirs is None:
                return False
            return mine <= theirs if self.operator == "at_most" else mine >= theirs
        return False


def same(left: object, right: object) -> bool:
    """Compare as JSON does: `true` is not `1`, and only equal kinds can be equal."""
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _values(condition: Condition) -> frozenset[tuple[bool, Scalar]]:
    """Return the values of a condition, with `true` and `1` kept apart."""
    values = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    return frozenset((isinstance(each, bool), each) for each in values)


def rank(attribute: str, value: object, scales: Scales) -> int | None:
    """Place `value` on the scale named by the last part of `attribute`; an integer is its own place."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    scale = scales.get(attribute.rpartition(".")[2])
    if scale is None or not isinstance(value, str) or value not in scale:
        return None
    return scale.index(value)


def parse_condition(record: object) -> Condition:
    """Read `{attribute, <operator>: value}`.

    Raises:
        ModelError: not that shape, an unknown root of the path, or a value that is not a scalar (or a list for `in`).
            An unknown *operator* is kept: the edge then covers nothing (`condition_unknown`).
    """
    if not isinstance(record, Mapping) or len(record) != _MEMBERS or not isinstance(record.get("attribute"), str):
        raise ModelError(f"`{record}` is not a condition: write {{attribute: risk, at_most: MEDIUM}}")
    attribute = str(record["attribute"])
    root, dot, _ = attribute.partition(".")
    if not attribute or (dot and root not in ROOTS):
        raise ModelError(
            f"`{attribute}` is not an attribute path: it begins with one of {sorted(ROOTS)}, or has no dot"
        )
    operator = next(str(key) for key in record if key != "attribute")
    value = record[operator]
    if isinstance(value, list | tuple):
        if operator == "in" and all(isinstance(each, str | int) for each in value):
            return Condition(attribute=attribute, operator=operator, value=tuple(value))
    elif isinstance(value, str | int) and operator != "in":
        return Condition(attribute=attribute, operator=operator, value=value)
    raise ModelError(f"condition on `{attribute}`: `{operator}` cannot take `{value}`")
