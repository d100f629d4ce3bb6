"""Who stands where in the graph: what somebody speaks as, and who may end what is another's (F066)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.model.edge import EdgeType
from remit_graph.view.ground import ground_of
from remit_graph.view.members import reached

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.model.edge import Edge
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordination.values import Record


def acting_as(view: View, actor: str, at: Instant) -> list[str]:
    """Return a living principal and what it ACTS_AS; nothing is reached over MEMBER_OF here (rules.md 5)."""
    found = [actor] if view.alive(actor) else []
    for each in found:
        for edge in view.outgoing(EdgeType.ACTS_AS, each):
            fresh = edge.epoch >= view.minimum_epoch(edge, writes=True)
            if edge.is_live(at) and fresh and view.alive(edge.to) and edge.to not in found:
                found.append(edge.to)
    return found


def revocation_facts(view: View, actor: str, lease: Record, at: Instant) -> dict[str, Any]:
    """Return the facts by which the policy judges who may end a lease: a right in the graph, or being above it.

    MAY_REVOKE reaches its target and all below it: what acts as the target or belongs to it, and whoever a delegation
    comes down to from there.
    """
    voices = acting_as(view, actor, at)
    above = _above(view, lease["holder"], at)
    rights = [
        edge_facts(edge, view)
        for voice in voices
        for edge in view.outgoing(EdgeType.MAY_REVOKE, voice)
        if edge.to in above and _counts(view, edge, at)
    ]
    return {
        "maker": lease["holder"] in voices,
        "above": bool(_delegators(view, lease) & set(voices)),
        "keys": list(ground_of(view, lease["resource_key"], at).keys),
        "edges": rights,
    }


def _counts(view: View, edge: Edge, at: Instant) -> bool:
    return edge.is_live(at) and edge.epoch >= view.minimum_epoch(edge, writes=True) and view.alive(edge.to)


def _delegators(view: View, lease: Record) -> set[str]:
    """Everyone above the holder in the chain its lease rests on."""
    return {edge.from_ for edge in _proof(view, lease) if edge.edge in (EdgeType.DELEGATES, EdgeType.OWNS)}


def _proof(view: View, lease: Record) -> Iterator[Edge]:
    for position in lease["proof"]:
        edge_id, _, version = position.rpartition("@")
        edge = view.version(edge_id, int(version))
        if edge is not None:
            yield edge


def _above(view: View, holder: str, at: Instant) -> set[str]:
    """Return the holder, all it acts as or belongs to, and every delegator above any of them."""
    found = {holder, *reached(view, holder, at, writes=True)}
    frontier = list(found)
    while frontier:
        each = frontier.pop()
        for edge in view.incoming(EdgeType.DELEGATES, each):
            if edge.is_live(at):
                more = {edge.from_, *reached(view, edge.from_, at, writes=True)} - found
                found |= more
                frontier.extend(more)
    return found


def edge_facts(edge: Edge, view: View) -> dict[str, Any]:
    """Return a right or authority as the policy input describes an edge."""
    return {
        **edge.record(),
        "scope": edge.scope.record(),
        "valid_from": edge.valid_from,
        "valid_until": edge.valid_until,
        "max_depth": edge.max_depth,
        "minimum_epoch": view.minimum_epoch(edge, writes=True),
        "disabled": not view.alive(edge.from_),
    }
