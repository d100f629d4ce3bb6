"""The law of ownership: one managed field has one authoritative owner (model.md 6, rules.md 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.laws.refusal import Refusal
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.key import contains, overlap

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

Names = tuple[str, ...] | None


def fields_overlap(mine: Names, theirs: Names) -> bool:
    """Whether two lists of fields have one in common; None is every field."""
    if mine is None or theirs is None:
        return mine != () and theirs != ()
    return not set(mine).isdisjoint(theirs)


def owns_overlap(one: Edge, other: Edge) -> bool:
    """Whether two OWNS edges claim a common resource and field; what was transferred away is not claimed.

    Windows and `where` are left out on purpose: an owner changes by transfer, never because a time has come.
    """
    if not fields_overlap(one.scope.fields, other.scope.fields) or not overlap(one.to, other.to):
        return False
    gave = any(contains(each, other.to) for each in one.except_)
    took = any(contains(each, one.to) for each in other.except_)
    return not gave and not took


def check_owns(owns: Edge, others: Iterable[Edge], roots: Collection[str]) -> list[Refusal]:
    """Refuse an OWNS edge that a root did not issue, or that claims what is owned already.

    Args:
        owns: The edge to be made.
        others: The current OWNS edges that may overlap it; itself is skipped.
        roots: The realm's root principals.
    """
    refusals: list[Refusal] = []
    if owns.edge is not EdgeType.OWNS:
        raise ValueError(f"`{owns.edge_id}` is {owns.edge} and no OWNS edge")
    if owns.issuer not in roots:
        refusals.append(
            Refusal(
                code="no_authority",
                message=f"`{owns.edge_id}`: OWNS is issued by a root principal, and `{owns.issuer}` is none",
                dimension="issuer",
                offending=(owns.issuer,),
            )
        )
    rivals = [each for each in others if each.edge_id != owns.edge_id and owns_overlap(owns, each)]
    return refusals + [_conflict(owns, each) for each in rivals]


def _conflict(owns: Edge, other: Edge) -> Refusal:
    mine, theirs = owns.scope.fields, other.scope.fields
    common = sorted(set(mine) & set(theirs)) if mine is not None and theirs is not None else list(mine or theirs or ())
    what = f"fields {', '.join(f'`{each}`' for each in common)}" if common else "every field"
    return Refusal(
        code="ownership_conflict",
        message=f"`{owns.edge_id}` and `{other.edge_id}` both own {what} under `{owns.to}` and `{other.to}`",
        dimension="fields",
        offending=tuple(common),
        advice="one owner keeps it; ownership moves by `remit transfer`",
    )


def next_ownership_epoch(owns: Edge, others: Iterable[Edge]) -> int:
    """Return 1 + the highest ownership epoch of all OWNS that overlap, ended ones included (rules.md 4)."""
    return 1 + max((each.ownership_epoch or 0 for each in others if owns_overlap(owns, each)), default=0)


def rests_on(grant: Edge, owners: Iterable[Edge]) -> tuple[tuple[str, int], ...]:
    """Return the stamp of a grant: each current OWNS it was issued under, by edge id and ownership epoch.

    Args:
        grant: The grant to be made.
        owners: The current OWNS edges over resources that the grant covers, over PART_OF too.
    """
    under = [each for each in owners if fields_overlap(grant.scope.fields, each.scope.fields)]
    return tuple(sorted({(each.edge_id, each.ownership_epoch or 1) for each in under}))
