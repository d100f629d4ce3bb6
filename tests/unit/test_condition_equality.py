"""Conditions are equal only if they say the same of every request; Python's `1 == True` must not mix them up."""

from __future__ import annotations

from typing import Any

import pytest

from remit_graph.model.condition import Condition
from remit_graph.model.edge import parse_edge
from remit_graph.model.scope import parse_scope


def a_condition(value: Any, operator: str = "equals") -> Condition:
    """Return a condition on `mfa`."""
    return Condition(attribute="mfa", operator=operator, value=value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (a_condition(1), a_condition(value=True)),
        (a_condition(0), a_condition(value=False)),
        (a_condition((1, 2), "in"), a_condition((True, 2), "in")),
    ],
    ids=["one", "zero", "in a list"],
)
def test_a_boolean_is_no_number(one: Condition, other: Condition) -> None:
    """They are two conditions, and neither contains the other."""
    assert one != other
    assert not one.implies(other, {})
    assert not other.implies(one, {})
    assert len({one, other}) == 2


def test_equal_conditions_are_equal() -> None:
    """The same attribute, operator and value make one condition, wherever it was read."""
    assert a_condition(1) == a_condition(1)
    assert hash(a_condition((1, "a"), "in")) == hash(a_condition((1, "a"), "in"))
    assert a_condition(1) != "mfa equals 1"


def test_edges_that_share_equal_scopes_keep_their_own_values() -> None:
    """Scopes are held once for all edges; an edge read later must not get the condition of an earlier one."""
    scopes = [{"conditions": [{"attribute": "mfa", "equals": value}]} for value in (1, True)]
    record = {"version": 1, "edge": "MAY_WRITE", "from": "role:a", "to": "doc:1"}
    edges = [parse_edge({**record, "edge_id": f"g{index}", "scope": scope}) for index, scope in enumerate(scopes)]

    assert [each.scope.conditions[0].value for each in edges] == [1, True]
    assert edges[1].scope.conditions[0].value is True


def test_a_scope_with_both_keeps_both() -> None:
    """A request meets neither `1` nor `true` with the other, so dropping one would widen the scope."""
    scope = parse_scope({"conditions": [{"attribute": "mfa", "equals": 1}, {"attribute": "mfa", "equals": True}]})

    assert len(scope.conditions) == 2
