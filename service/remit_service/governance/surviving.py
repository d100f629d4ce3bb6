"""Why something still stands: which right carries an edge, and by which chains a subject still may.

A revocation leaves what another chain supports. Whoever expected that to be gone asks here what it rests on now, hop by
hop up to the root, and whether it was moved there when something else ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.laws.delegation import Bounds, reanchored
from remit_graph.laws.ground import grounds_of
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.view.grounds import ViewGrounds
from remit_service.governance.reading import told

if TYPE_CHECKING:
    from remit_graph.model.condition import Scales
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View

MAX_HOPS = 64
"""Rights above one edge that are followed; stored circles end here."""


def why_still(view: View, edge_id: str, at: Instant, scales: Scales) -> dict[str, Any] | None:
    """Return what carries a current edge, nearest first, and what else could; None where no such edge is current."""
    edge = view.edges.get(edge_id)
    if edge is None:
        return None
    document: dict[str, Any] = {
        "edge": told(edge),
        "live": ViewGrounds(view=view, at=at).live(edge),
        "carried_by": [told(each) for each in _above(view, edge)],
        "moved": [told(each) for each in view.history.get(edge_id, ()) if each.under not in (None, edge.under)],
    }
    if edge.edge is EdgeType.DELEGATES:
        document["could_also_rest_on"] = _others(view, edge, at, scales)
    return document


def _above(view: View, edge: Edge) -> list[Edge]:
    graph = ViewGrounds(view=view, at=view.at, dormant=True)
    found: list[Edge] = []
    step = graph.parent(edge)
    while step is not None and step not in found and len(found) < MAX_HOPS:
        found.append(step)
        step = graph.parent(step)
    return found


def _others(view: View, edge: Edge, at: Instant, scales: Scales) -> list[str]:
    """Return the other live rights that contain a delegation whole: it would move there if its own ended."""
    graph = ViewGrounds(view=view, at=at, without=frozenset({edge.edge_id}))
    bounds = Bounds(max_depth=view.realm.max_delegation_depth, scales=scales, actions=view.actions)
    own = (edge.under or "").rpartition("@")[0]
    found = {
        each.right.position
        for each in grounds_of(edge, graph)
        if each.right.edge_id != own and reanchored(edge, [each], bounds) is not None
    }
    return sorted(found)
