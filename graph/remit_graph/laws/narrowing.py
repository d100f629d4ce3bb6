"""What is left of a delegation when what it rests on is narrowed (model.md 5, rules.md 3).

A stored delegation stands for itself: it is contained in what it rests on. So an amendment that narrows a right, a
delegation or a grant cuts what was made under it down to what is still covered, in the same revision. Nothing is
filled in from a root grant, and nothing grows again when the parent is widened later.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from remit_graph.laws.delegation import Bounds, check_delegation, depth_limit
from remit_graph.laws.grant import conveys, effective_scope
from remit_graph.model.key import contains
from remit_graph.model.scope import Scope

if TYPE_CHECKING:
    from remit_graph.laws.ground import Ground
    from remit_graph.model.edge import Edge
    from remit_graph.model.instant import Instant


def narrowed(delegation: Edge, ground: Ground, bounds: Bounds) -> Edge | None:
    """Return the delegation cut down to what `ground` covers, or None where nothing of it is left."""
    limit = depth_limit(ground, bounds)
    scope = _scope(delegation, ground, bounds)
    begins = _latest(delegation.valid_from, ground.right.valid_from)
    ends = _earliest(delegation.valid_until, ground.right.valid_until)
    begins = begins if begins is None else _latest(begins, ground.authority.valid_from)
    ends = ends if ends is None else _earliest(ends, ground.authority.valid_until)
    is_over = begins is not None and ends is not None and begins >= ends
    if limit < 0 or is_over or (scope.is_empty and not delegation.scope.is_empty):
        return None
    cut = replace(
        delegation,
        scope=scope,
        valid_from=begins,
        valid_until=ends,
        max_depth=limit if delegation.max_depth is None else min(delegation.max_depth, limit),
        under=ground.right.position,
    )
    return check_delegation(cut, [ground], bounds).edge


def _scope(delegation: Edge, ground: Ground, bounds: Bounds) -> Scope:
    scope = delegation.scope.narrow(ground.right.scope, bounds.scales)
    if ground.authority == ground.right:
        return scope
    return _within_root(scope, ground.authority, bounds)


def _within_root(scope: Scope, root: Edge, bounds: Bounds) -> Scope:
    """Narrow what the scope names to what a root grant covers; what it leaves open stays open."""
    wide = effective_scope(root, bounds.scales)
    cut = scope.filled_from(wide, bounds.scales).narrow(wide, bounds.scales)
    named = {name for name, _ in scope.where}
    attributes = {each.attribute for each in scope.conditions}
    return Scope(
        actions=None if scope.actions is None else _conveyed(cut.actions or (), root, bounds),
        resources=None if scope.resources is None else _kept(cut.resources or (), root),
        fields=None if scope.fields is None else cut.fields,
        where=tuple((name, values) for name, values in cut.where if name in named),
        conditions=tuple(each for each in cut.conditions if each.attribute in attributes),
        unknown=cut.unknown,
    )


def _conveyed(actions: tuple[str, ...], root: Edge, bounds: Bounds) -> tuple[str, ...]:
    conveyed = conveys(root)
    known = bounds.actions
    return tuple(each for each in actions if conveyed is None or each not in known or known[each].class_ == conveyed)


def _kept(groups: tuple[tuple[str, ...], ...], root: Edge) -> tuple[tuple[str, ...], ...]:
    """Leave out selectors that lie in what the root gave away by transfer."""
    return tuple(
        tuple(one for one in group if not any(contains(each, one) for each in root.except_)) for group in groups
    )


def _latest(*instants: Instant | None) -> Instant | None:
    return max((each for each in instants if each is not None), default=None)


def _earliest(*instants: Instant | None) -> Instant | None:
    return min((each for each in instants if each is not None), default=None)
