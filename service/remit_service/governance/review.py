"""What somebody should look at from time to time: grants that are unused, expiring, too wide or orphaned; who governs.

A report and no command: nothing is ended because it names it. What was used is read from the newest decisions of this
process, so `unused` says how many those were and since when; where there were none, everything is unused.

| finding | what is listed |
|---|---|
| `expiring`, `expired` | authority that ends within the days asked for, to the instant; that is over |
| `stale` | authority below a floor of its realm or of one of its ends |
| `over_wide` | authority without end for every action and field, on every key of a kind or on the graph itself |
| `orphaned` | authority whose holder or issuer is gone, is disabled, or no longer stands behind it |
| `unused` | grants and delegations that no recent decision rested on |
| `who_governs` | who reaches a root, and could prove who it is |
| `acting_for_others` | who widens whatever it is given (S15) |
| `break_glass` | emergencies whose use nobody has looked at, and whether that is overdue |
| `separation_of_duties` | who holds two sides of a rule that keeps them apart |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.edge import AUTHORITY, ROOT_GRANTS, TO_SELECTOR, Edge, EdgeType
from remit_graph.model.instant import DAY
from remit_graph.model.registry import GRAPH_KEY
from remit_graph.view.grounds import ViewGrounds
from remit_graph.view.ownership import STANDING, issuer_standing
from remit_service.governance.emergency import open_reviews
from remit_service.governance.power import acting_for_others
from remit_service.governance.reading import told
from remit_service.governance.separation import breaches
from remit_service.governance.standing import who_governs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.governance.separation import Rule

EXPIRING_DAYS: Final = 14
MAX_LISTED: Final = 1_000
_CARRIES: Final = frozenset({*ROOT_GRANTS, EdgeType.DELEGATES})


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What decisions rested on lately.

    Attributes:
        positions: Edges, `edge_id@version`.
        decisions: How many decisions were looked at.
        since: When the oldest of them was made, RFC 3339; None where there were none.
    """

    positions: Collection[str]
    decisions: int
    since: str | None


def review(
    view: View,
    at: Instant,
    duties: Sequence[Rule],
    *,
    used: Used | None = None,
    within_days: int = EXPIRING_DAYS,
) -> dict[str, Any]:
    """Return the report.

    Args:
        view: The graph.
        at: The instant.
        duties: Which duties nobody may join.
        used: What recent decisions rested on; None where nothing is known of decisions.
        within_days: How soon an end counts as near.
    """
    edges = [each for each in view.edges.values() if each.edge in AUTHORITY]
    soon = at + within_days * DAY
    report: dict[str, Any] = {
        "expiring": _listed(each for each in edges if each.valid_until is not None and at < each.valid_until <= soon),
        "expired": _listed(each for each in edges if each.valid_until is not None and each.valid_until <= at),
        "stale": _listed(each for each in edges if each.epoch < view.minimum_epoch(each, writes=True)),
        "over_wide": _listed(each for each in edges if _is_wide(each)),
        "orphaned": _listed(each for each in edges if _is_orphaned(view, each, at)),
        "who_governs": who_governs(view, at),
        "acting_for_others": acting_for_others(view, at),
        "break_glass": open_reviews(view, at),
        "separation_of_duties": [each.record() for each in breaches(view, at, duties)],
    }
    if used is not None:
        unused = _listed(each for each in edges if each.edge in _CARRIES and each.position not in used.positions)
        report["unused"] = {**unused, "decisions": used.decisions, "since": used.since}
    return report


def _listed(edges: Iterable[Edge]) -> dict[str, Any]:
    found = sorted(edges, key=lambda each: each.edge_id)
    return {"count": len(found), "edges": [told(each) for each in found[:MAX_LISTED]]}


def _is_wide(edge: Edge) -> bool:
    """Whether an edge covers more than anybody is likely to have meant: every action, every field, and no end."""
    scope = edge.scope
    if edge.edge is EdgeType.OWNS or edge.valid_until is not None or scope.actions is not None:
        return False
    if edge.edge not in TO_SELECTOR:
        return scope.fields is None and scope.resources is None and not scope.where
    segments = edge.to.split(":")
    # A key of one segment covers all of its kind, as `wp` does every post and page.
    is_broad = "*" in segments or len(segments) == 1 or edge.to == GRAPH_KEY
    return is_broad and scope.fields is None and not scope.where


def _is_orphaned(view: View, edge: Edge, at: Instant) -> bool:
    """Whether nobody stands behind an edge: its holder or its issuer is gone or may do nothing."""
    if not view.alive(edge.from_) or (edge.edge not in ROOT_GRANTS and not view.alive(edge.to)):
        return True
    if edge.edge in ROOT_GRANTS:
        return issuer_standing(view, edge, at) not in STANDING
    return edge.edge is EdgeType.DELEGATES and ViewGrounds(view=view, at=at, dormant=True).parent(edge) is None
