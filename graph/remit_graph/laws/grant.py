"""The law of grants: who may issue one (model.md 5, faults F036)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from remit_graph.laws.refusal import Refusal
from remit_graph.model.edge import GRANT_CLASS, ROOT_GRANTS, Edge
from remit_graph.model.key import contains
from remit_graph.model.scope import OPEN, Scope

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from remit_graph.model.condition import Scales


def effective_scope(grant: Edge, scales: Scales) -> Scope:
    """Return the scope of a root grant with its target as a dimension of it."""
    if grant.edge not in ROOT_GRANTS:
        return grant.scope
    return grant.scope.narrow(replace(OPEN, resources=((grant.to,),)), scales)


def check_grant(grant: Edge, owns: Iterable[Edge], roots: Collection[str], scales: Scales) -> list[Refusal]:
    """Refuse a grant or right whose issuer is neither a root principal nor the owner of all it is about.

    An owner that holds the fields in several OWNS edges over the same target may grant them together. Its OWNS must
    contain the grant in every other dimension: an owner of what is in staging issues nothing for production.

    Args:
        grant: A MAY_* edge to be made.
        owns: The current OWNS edges of the grant's issuer.
        roots: The realm's root principals.
        scales: Ordered scales, for conditions.
    """
    if grant.issuer in roots:
        return []
    scope = effective_scope(grant, scales)
    if scope.resources is None:
        return [_refused(grant, "is issued by no root, and names no resources that its issuer owns", "not_owner")]
    without_fields = replace(scope, fields=None)
    owned: set[str] = set()
    for each in owns:
        if each.from_ != grant.issuer or not _covers(each, without_fields, scales):
            continue
        if each.scope.fields is None:
            return []
        owned.update(each.scope.fields)
    if not owned:
        return [
            _refused(
                grant, f"is issued by `{grant.issuer}`, which is neither root nor owner of `{grant.to}`", "not_owner"
            )
        ]
    missing = ("*",) if scope.fields is None else tuple(sorted(set(scope.fields) - owned))
    if not missing:
        return []
    named = "all fields" if scope.fields is None else ", ".join(f"`{each}`" for each in missing)
    return [
        Refusal(
            code="not_owner",
            message=f"`{grant.edge_id}` is issued by `{grant.issuer}`, which does not own {named} of `{grant.to}`",
            dimension="fields",
            offending=missing,
        )
    ]


def _covers(owns: Edge, scope: Scope, scales: Scales) -> bool:
    wide = replace(effective_scope(owns, scales), fields=None)
    given_away = any(contains(each, one) for each in owns.except_ for group in scope.resources or () for one in group)
    return not given_away and wide.contains(scope, scales)


def _refused(grant: Edge, why: str, code: str) -> Refusal:
    return Refusal(
        code=code,
        message=f"`{grant.edge_id}`: {grant.edge} {why}",
        dimension="issuer",
        offending=(grant.issuer,),
        advice="let the owner or a root principal issue it",
    )


def conveys(grant: Edge) -> str | None:
    """Return the one class of action a root grant conveys, or None for OWNS, which conveys all four."""
    return GRANT_CLASS.get(grant.edge)
