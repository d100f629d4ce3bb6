"""The graph as documents: one principal, one resource, one edge with all its versions. For reading, sorted, bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.edge import MEMBERSHIPS, RESOURCE_EDGES, ROOT_GRANTS, Edge, EdgeType
from remit_graph.model.instant import format_instant
from remit_graph.view.ground import ground_of
from remit_graph.view.members import reached
from remit_service.governance.power import power_held, written
from remit_service.governance.versions import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View

MAX_EDGES: Final = 1_000
"""Edges of one kind that a document lists; `truncated` says where there are more."""

Document = dict[str, Any]


def principal(view: View, identifier: str, at: Instant) -> Document | None:
    """Return a principal with what it is a member of, holds, may hand on, has handed on; None where it is none."""
    known = view.principals.get(identifier)
    if known is None:
        return None
    listed = _Lists()
    document: Document = {
        "principal": {**known.record(), "kind": known.kind, "root": view.is_root(identifier)},
        "acts_for_others": written(power_held(view, at, identifier)),
        "reaches": reached(view, identifier, at, writes=True),
        "member_of": listed.of(_out(view, identifier, *sorted(MEMBERSHIPS))),
        "members": listed.of(_into(view, identifier, *sorted(MEMBERSHIPS))),
        "grants": listed.of(_out(view, identifier, *sorted(ROOT_GRANTS))),
        "held": listed.of(_into(view, identifier, EdgeType.DELEGATES)),
        "made": listed.of(_out(view, identifier, EdgeType.DELEGATES)),
        "may_delegate": listed.of(_out(view, identifier, EdgeType.MAY_DELEGATE)),
        "rights": listed.of(_out(view, identifier, EdgeType.MAY_PREEMPT, EdgeType.MAY_REVOKE)),
        "reports_to": listed.of(_out(view, identifier, EdgeType.REPORTS_TO)),
    }
    return {**document, "truncated": listed.truncated}


def resource(view: View, key: str, at: Instant) -> Document | None:
    """Return a resource with what it lies under, who owns its fields and which grants cover it; None for no type's key.

    Raises:
        ModelError: it is no key at all.
    """
    found = view.registry.resolve_key(key)
    if found is None:
        return None
    ground = ground_of(view, found.key, at)
    listed = _Lists()
    covering = [
        edge
        for holder in view.grants.values()
        for selector in ground.covering
        for edge in holder.get(selector, {}).values()
    ]
    owners = [edge for edge in covering if edge.edge is EdgeType.OWNS]
    document: Document = {
        "resource": {
            "key": found.key,
            "type": found.type.name,
            "declared": found.key in view.resources,
            "concurrency": str(found.type.concurrency),
            "attributes": dict(ground.attributes),
            "dimensions": {name: list(values) for name, values in ground.dimensions.items()},
        },
        "ancestors": list(ground.keys),
        "owners": listed.of(owners),
        "grants": listed.of(edge for edge in covering if edge.edge is not EdgeType.OWNS),
        "structure": listed.of([*_out(view, found.key, *RESOURCE_EDGES), *_into(view, found.key, *RESOURCE_EDGES)]),
    }
    return {**document, "truncated": listed.truncated}


def edge(view: View, edge_id: str, at: Instant) -> Document | None:
    """Return all versions of an edge that are at hand, oldest first; None where there is none."""
    current = view.edges.get(edge_id)
    versions = [*view.history.get(edge_id, ()), *([current] if current is not None else [])]
    if not versions:
        return None
    document: Document = {"edge_id": edge_id, "current": current is not None, "versions": [told(e) for e in versions]}
    if current is not None:
        writes, reads = (view.minimum_epoch(current, writes=each) for each in (True, False))
        document["live"] = {
            "within_window": current.is_live(at),
            "epoch_counts_for_reads": current.epoch >= reads,
            "epoch_counts_for_writes": current.epoch >= writes,
        }
        document["made_under_it"] = sorted(view.under.get(edge_id, ()))[:MAX_EDGES]
    return document


def told(version: Edge) -> Mapping[str, Any]:
    """Return one version of an edge, with how it ended."""
    record = {**shown(version), "revision_from": version.revision_from}
    if version.revision_to is not None:
        record |= {"revision_to": version.revision_to, "ended_by": version.ended_by}
    if version.ended_at is not None:
        record["ended_at"] = format_instant(version.ended_at)
    return record


class _Lists:
    """Bounded lists of edges, and whether one of them was cut."""

    def __init__(self) -> None:
        self.truncated = False

    def of(self, edges: Iterable[Edge]) -> list[Mapping[str, Any]]:
        found = sorted(edges, key=lambda each: each.edge_id)
        self.truncated = self.truncated or len(found) > MAX_EDGES
        return [told(each) for each in found[:MAX_EDGES]]


def _out(view: View, end: str, *kinds: EdgeType) -> list[Edge]:
    return [each for kind in kinds for each in view.outgoing(kind, end)]


def _into(view: View, end: str, *kinds: EdgeType) -> list[Edge]:
    return [each for kind in kinds for each in view.incoming(kind, end)]
