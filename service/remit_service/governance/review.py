"""What somebody should look at from time to time: grants that are unused, expiring, too wide or orphaned; who governs.

A report and no command. What was used is read from the newest decisions of this process, so that `unused` says since
when it looked; nothing is ended because a report names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.edge import AUTHORITY, ROOT_GRANTS, TO_SELECTOR, Edge, EdgeType
from remit_graph.model.instant import SECOND
from remit_graph.view.grounds import ViewGrounds
from remit_graph.view.ownership import STANDING, issuer_standing
from remit_service.governance.emergency import open_reviews
from remit_service.governance.power import acting_for_others
from remit_service.governance.reading import told
from remit_service.governance.separation import breaches, rules_of
from remit_service.governance.standing import who_governs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View

EXPIRING_DAYS: Final = 14
MAX_LISTED: Final = 1_000
_CARRIES: Final = frozenset({*ROOT_GRANTS, EdgeType.DELEGATES})


def review(
    view: View,
    at: Instant,
    config: Mapping[str, Any],
    *,
    used: Collection[str] | None = None,
    within_days: int = EXPIRING_DAYS,
) -> dict[str, Any]:
    """Return the report.

    Args:
        view: The graph.
        at: The instant.
        config: Policy data, for separation of duties.
        used: Positions that recent decisions rested on; None where nothing is known of decisions.
        within_days: How soon an end counts as near.
    """
    edges = [each for each in view.edges.values() if each.edge in AUTHORITY]
    soon = at + within_days * 86_400 * SECOND
    report: dict[str, Any] = {
        "expiring": _listed(each for each in edges if each.valid_until is not None and at < each.valid_until <= soon),
        "expired": _listed(each for each in edges if each.valid_until is not None and each.valid_until <= at),
        "stale": _listed(each for each in edges if each.epoch < view.minimum_epoch(each, writes=True)),
        "over_wide": _listed(each for each in edges if _is_wide(each)),
        "orphaned": _listed(each for each in edges if _is_orphaned(view, each, at)),
        "who_governs": who_governs(view, at),
        "acting_for_others": acting_for_others(view, at),
        "break_glass": open_reviews(view, at),
        "separation_of_duties": [each.record() for each in breaches(view, at, rules_of(config))],
    }
    if used is not None:
        report["unused"] = _listed(each for each in edges if each.edge in _CARRIES and each.position not in used)
    return report


def _listed(edges: Iterable[Edge]) -> dict[str, Any]:
    found = sorted(edges, key=lambda each: each.edge_id)
    return {"count": len(found), "edges": [told(each) for each in found[:MAX_LISTED]]}


def _is_wide(edge: Edge) -> bool:
    """Whether an edge covers more than anybody is likely to have meant: every action, every field, and no end."""
    scope = edge.scope
    if edge.edge is EdgeType.OWNS or edge.valid_until is not None or scope.actions is not None:
        return False
    if edge.edge in TO_SELECTOR:
        return scope.fields is None and not scope.where and "*" in edge.to.split(":")
    return scope.fields is None and scope.resources is None and not scope.where


def _is_orphaned(view: View, edge: Edge, at: Instant) -> bool:
    """Whether nobody stands behind an edge: its holder or its issuer is gone or may do nothing."""
    if not view.alive(edge.from_) or (edge.edge not in ROOT_GRANTS and not view.alive(edge.to)):
        return True
    if edge.edge in ROOT_GRANTS:
        return issuer_standing(view, edge, at) not in STANDING
    return edge.edge is EdgeType.DELEGATES and ViewGrounds(view=view, at=at, dormant=True).parent(edge) is None
