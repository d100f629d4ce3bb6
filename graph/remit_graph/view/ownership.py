"""Who owns a field of a resource, and whether a grant was issued by someone who may issue it (model.md 5, 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.key import contains

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_graph.view.target import Target


STANDING: Final = ("root", "owner")
"""Standings of an issuer whose grants give authority."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldOwnership:
    """The owners found for one field; more than one is a conflict.

    Attributes:
        field: Its name.
        managed: Whether the type says it needs an owner.
        edges: The current OWNS edges that cover it here, by edge id.
        frozen: Whether a transfer has frozen it.
    """

    field: str
    managed: bool
    edges: tuple[Edge, ...]
    frozen: bool = False


def owners_of(view: View, target: Target) -> list[Edge]:
    """Return the current OWNS edges over the target, whatever their fields, by edge id.

    Args:
        view: The graph.
        target: The request's target.
    """
    candidates = (edge for selector in target.ground.covering for edge in view.owners.get(selector, {}).values())
    return sorted((edge for edge in candidates if _holds(view, edge, target)), key=lambda edge: edge.edge_id)


def _holds(view: View, edge: Edge, target: Target) -> bool:
    if not edge.is_live(target.at) or not view.alive(edge.from_):
        return False
    if any(target.under(each) for each in edge.except_):
        return False
    return all(target.dimension(name) in values for name, values in edge.scope.where)


def ownership(view: View, target: Target, owners: list[Edge], frozen: frozenset[str]) -> list[FieldOwnership]:
    """Return one row for each touched field; on the whole resource, for each managed field of its type."""
    declared = view.registry.resolve_key(target.key)
    specs = declared.type.fields if declared else {}
    names = target.fields or tuple(sorted(name for name, spec in specs.items() if spec.managed))
    rows: list[FieldOwnership] = []
    for name in names:
        edges = tuple(edge for edge in owners if edge.scope.fields is None or name in edge.scope.fields)
        managed = name in specs and specs[name].managed
        rows.append(FieldOwnership(field=name, managed=managed, edges=edges, frozen=name in frozen))
    return rows


def issuer_standing(view: View, edge: Edge, at: Instant, target: Target | None = None) -> str:
    """Say why the issuer of a root grant may issue it (model.md 5): `root`, `owner`, `former`, or `none`.

    An owner is one of what is touched: one that has given a field or a resource away still stands behind the rest of
    its grants (rules.md 4). `former` is one that owned what the grant rests on, as its stamp says, and no longer does;
    such a grant gives nothing, and is stale, not unheard of.

    Args:
        view: The graph.
        edge: The grant.
        at: When.
        target: What a request touches; without one, all that the grant is about.
    """
    if view.is_root(edge.issuer):
        return "root"
    if edge.edge is EdgeType.OWNS or not view.alive(edge.issuer):
        return "none"
    owns = [each for each in view.outgoing(EdgeType.OWNS, edge.issuer) if _counts(view, each, edge, at, target)]
    wanted = _granted(edge, target)
    # What several OWNS edges give is taken together, so that their order is irrelevant.
    owned = {name for each in owns for name in each.scope.fields or ()}
    if any(each.scope.fields is None for each in owns) or (owned and wanted is not None and owned.issuperset(wanted)):
        return "owner"
    return "former" if any(_was_owner(view, edge, edge_id) for edge_id, _ in edge.rests_on) else "none"


def _granted(edge: Edge, target: Target | None) -> tuple[str, ...] | None:
    """Return the fields that a grant is asked about: what is touched of its own, all of them where nothing is."""
    mine, touched = edge.scope.fields, () if target is None else target.fields
    if mine is None:
        return touched or None
    return tuple(each for each in touched if each in mine) or mine


def _counts(view: View, own: Edge, grant: Edge, at: Instant, target: Target | None) -> bool:
    """Whether an OWNS edge of an issuer stands behind its grant."""
    if own.epoch < view.minimum_epoch(own, writes=True) or not contains(own.to, grant.to):
        return False
    if target is not None:
        return _holds(view, own, target)
    return own.is_live(at) and not any(contains(each, grant.to) for each in own.except_)


def _was_owner(view: View, grant: Edge, edge_id: str) -> bool:
    """Whether an ended version of an OWNS edge was the issuer's, over what it granted."""
    return any(
        each.edge is EdgeType.OWNS and each.from_ == grant.issuer and contains(each.to, grant.to)
        for each in view.history.get(edge_id, ())
    )
