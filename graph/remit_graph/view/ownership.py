"""Who owns a field of a resource, and whether a grant was issued by someone who may issue it (model.md 5, 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.key import contains

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_graph.view.target import Target


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


def issuer_standing(view: View, edge: Edge, at: Instant) -> str:
    """Say why the issuer of a root grant may issue it: `root`, `owner`, or `none` (model.md 5)."""
    if view.is_root(edge.issuer):
        return "root"
    if edge.edge is EdgeType.OWNS or not view.alive(edge.issuer):
        return "none"
    wanted = edge.scope.fields
    owned: set[str] = set()
    for own in view.outgoing(EdgeType.OWNS, edge.issuer):
        if own.is_live(at) and own.epoch >= view.minimum_epoch(own, writes=True) and contains(own.to, edge.to):
            if own.scope.fields is None or wanted is None:
                return "owner" if own.scope.fields is None else "none"
            owned.update(own.scope.fields)
    return "owner" if wanted is not None and owned and owned.issuperset(wanted) else "none"
