"""The laws by which a delegation is made (model.md 5, rules.md 3).

A delegation rests on a *ground*: a right to hand on, and authority to hand on. For each ground, in this order:

1. nobody is handed back what came from them (`delegation_cycle`);
2. what the delegation leaves open is filled in from the right: dimensions of its scope, ends of its window, its depth;
3. its scope lies inside the right's and inside the authority's (`attenuation_violated`, by dimension);
4. its window lies inside theirs (`attenuation_violated`);
5. its depth is less than theirs (`depth_exceeded`).

The first ground that holds, by edge ids, is the one recorded in `under`. What the right leaves open stays open and
means whatever the hops above allow at use; a dimension is never filled from a root grant, because the delegator may
hold several.

Whether the delegate is trusted enough is policy and not asked here. Whether rights are live at this instant is for the
caller, who passes only those that are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from remit_graph.laws.grant import conveys, effective_scope
from remit_graph.laws.refusal import Refusal
from remit_graph.model.instant import format_instant
from remit_graph.model.key import contains

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from remit_graph.laws.ground import Ground
    from remit_graph.model.condition import Scales
    from remit_graph.model.edge import Edge
    from remit_graph.model.resource_type import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the laws say of one delegation.

    Attributes:
        edge: As it is to be stored, filled in and with `under`; None where it is refused.
        refusals: Why it is refused, of the ground that came closest; empty where it holds.
        closest: As it would stand on that ground; None where it holds, or where there is no ground at all.
    """

    edge: Edge | None = None
    refusals: tuple[Refusal, ...] = ()
    closest: Edge | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a delegation is judged by besides the graph.

    Attributes:
        max_depth: The realm's `max_delegation_depth`.
        scales: Ordered scales of policy data, for conditions; empty compares by equality only.
        actions: Declared actions by name, for the class that a root grant conveys.
    """

    max_depth: int
    scales: Scales
    actions: Mapping[str, Action]


def check_delegation(delegation: Edge, grounds: Iterable[Ground], bounds: Bounds) -> Judgement:
    """Judge a DELEGATES edge by every ground it could rest on.

    Args:
        delegation: As asked for; `under` is not read.
        grounds: From `ground.grounds_of`, in order.
        bounds: The realm's bounds.
    """
    closest = Judgement(refusals=(_no_ground(delegation),))
    for ground in grounds:
        filled = _filled(delegation, ground, bounds)
        refusals = _refusals(delegation, filled, ground, bounds)
        if not refusals:
            return Judgement(edge=filled)
        if closest.closest is None or len(refusals) < len(closest.refusals):
            closest = Judgement(refusals=tuple(refusals), closest=filled)
    return closest


def _filled(delegation: Edge, ground: Ground, bounds: Bounds) -> Edge:
    right = ground.right
    limit = depth_limit(ground, bounds)
    return replace(
        delegation,
        scope=delegation.scope.filled_from(right.scope, bounds.scales),
        valid_from=right.valid_from if delegation.valid_from is None else delegation.valid_from,
        valid_until=right.valid_until if delegation.valid_until is None else delegation.valid_until,
        max_depth=max(limit, 0) if delegation.max_depth is None else delegation.max_depth,
        under=right.position,
    )


def depth_limit(ground: Ground, bounds: Bounds) -> int:
    """Return the highest `max_depth` a delegation on this ground may have; below 0 there may be none at all."""
    deepest = [
        bounds.max_depth if each.max_depth is None else each.max_depth for each in (ground.right, ground.authority)
    ]
    return min(deepest) - 1


def _refusals(asked: Edge, filled: Edge, ground: Ground, bounds: Bounds) -> list[Refusal]:
    if asked.to in ground.above:
        return [
            Refusal(
                code="delegation_cycle",
                message=f"`{asked.edge_id}` hands `{asked.to}` what came from it, over `{ground.right.position}`",
                dimension="to",
                offending=(asked.to,),
            )
        ]
    refusals = _scope_refusals(filled, ground, bounds)
    for above in _distinct(ground):
        refusals.extend(_window_refusals(filled, above))
    refusals.extend(_empty_window(asked, filled, ground.right))
    limit = depth_limit(ground, bounds)
    if limit < 0 or (filled.max_depth or 0) > limit:
        at = _shallowest(ground, bounds).position
        allowed = f"`{at}` allows " + (f"`max_depth` {limit} at most" if limit >= 0 else "no further delegation")
        refusals.append(
            Refusal(
                code="depth_exceeded",
                message=f"`{asked.edge_id}` asks for `max_depth` {filled.max_depth}, and {allowed}",
                dimension="max_depth",
                offending=(str(filled.max_depth),),
            )
        )
    return refusals


def _distinct(ground: Ground) -> Sequence[Edge]:
    return (ground.right,) if ground.right == ground.authority else (ground.right, ground.authority)


def _shallowest(ground: Ground, bounds: Bounds) -> Edge:
    return min(_distinct(ground), key=lambda each: bounds.max_depth if each.max_depth is None else each.max_depth)


def _scope_refusals(filled: Edge, ground: Ground, bounds: Bounds) -> list[Refusal]:
    found = [(ground.right, ground.right.scope.widened_by(filled.scope, bounds.scales))]
    if ground.authority != ground.right:
        root = effective_scope(ground.authority, bounds.scales)
        outside = root.widened_by(filled.scope.filled_from(root, bounds.scales), bounds.scales)
        if beyond := _not_conveyed(filled, ground.authority, bounds):
            outside["actions"] = sorted({*outside.get("actions", []), *beyond})
        if gone := _given_away(filled, ground.authority):
            outside["resources"] = sorted({*outside.get("resources", []), *gone})
        found.append((ground.authority, outside))
    return [
        Refusal(
            code="attenuation_violated",
            message=f"`{filled.edge_id}` names {_phrase(dimension, offending)}, not covered by `{above.position}`",
            dimension=dimension,
            offending=tuple(offending),
            advice=f"narrow `{dimension}`, or let `{above.edge_id}` be widened first",
        )
        for above, outside in found
        for dimension, offending in sorted(outside.items())
    ]


def _phrase(dimension: str, offending: Sequence[str]) -> str:
    if list(offending) == ["*"]:
        return f"every value of `{dimension}`"
    return f"{dimension} {', '.join(f'`{each}`' for each in offending)}"


def _not_conveyed(delegation: Edge, root: Edge, bounds: Bounds) -> list[str]:
    """Return the actions whose class the root grant does not convey: MAY_WRITE hands on no read."""
    conveyed = conveys(root)
    if conveyed is None:
        return []
    known = [bounds.actions[each] for each in delegation.scope.actions or () if each in bounds.actions]
    return [each.name for each in known if each.class_ != conveyed]


def _given_away(delegation: Edge, root: Edge) -> list[str]:
    named = {one for group in delegation.scope.resources or () for one in group}
    return sorted(one for one in named if any(contains(each, one) for each in root.except_))


def _window_refusals(filled: Edge, above: Edge) -> list[Refusal]:
    refusals: list[Refusal] = []
    if above.valid_from is not None and filled.valid_from is not None and filled.valid_from < above.valid_from:
        refusals.append(_outside_window(filled, above, "valid_from", "begins before"))
    if above.valid_until is not None and filled.valid_until is not None and filled.valid_until > above.valid_until:
        refusals.append(_outside_window(filled, above, "valid_until", "outlives"))
    return refusals


def _empty_window(asked: Edge, filled: Edge, right: Edge) -> list[Refusal]:
    """Refuse a window that is empty once the open end of it is filled in: it would never count, and never load."""
    begins, ends = filled.valid_from, filled.valid_until
    if begins is None or ends is None or begins < ends:
        return []
    dimension = "valid_from" if asked.valid_until is None else "valid_until"
    value = format_instant(getattr(filled, dimension))
    message = (
        f"`{asked.edge_id}` would never count: under `{right.position}` it begins at {format_instant(begins)} and ends "
        f"at {format_instant(ends)}"
    )
    return [Refusal(code="attenuation_violated", message=message, dimension=dimension, offending=(value,))]


def _outside_window(filled: Edge, above: Edge, dimension: str, how: str) -> Refusal:
    value, bound = (format_instant(getattr(each, dimension)) for each in (filled, above))
    return Refusal(
        code="attenuation_violated",
        message=f"`{filled.edge_id}` {how} `{above.position}`: its {dimension} is {value}, the other's {bound}",
        dimension=dimension,
        offending=(value,),
    )


def _no_ground(delegation: Edge) -> Refusal:
    return Refusal(
        code="no_authority",
        message=(
            f"`{delegation.edge_id}`: `{delegation.from_}` holds no right to delegate to `{delegation.to}`, "
            "or no authority to hand on"
        ),
        dimension="from",
        offending=(delegation.from_,),
        advice="it needs a MAY_DELEGATE to the delegate and a grant, or a delegation with depth left",
    )


def reanchored(delegation: Edge, grounds: Iterable[Ground], bounds: Bounds) -> Edge | None:
    """Return the delegation under another right that contains its whole stored scope, window and depth, or None.

    Asked when the right it was made under ends (rules.md 3). Nothing is filled in or narrowed: it moves as it is.
    """
    judgement = check_delegation(delegation, grounds, bounds)
    moved = judgement.edge
    if moved is None or replace(moved, under=delegation.under) != delegation:
        return None
    return moved
