"""Governed priority: from the graph and policy data, never from what is asked (rules.md 10, S75)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.model.edge import EdgeType
from remit_graph.view.ground import ground_of
from remit_graph.view.members import reached

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from remit_graph.model.edge import Edge
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordination.tables import Tables
    from remit_service.coordination.values import Record


def priority_of(view: View, tables: Tables, principal: str, key: str, at: Instant, *, proof: Sequence[str] = ()) -> int:
    """Return the highest row over the live roles of a principal, its incident, and the purpose its proof fixes.

    An incident counts for those who may take over under it, that is for holders of a MAY_PREEMPT edge with an
    `incident.` condition: it would tell nobody apart if it raised everybody on the key alike.
    """
    roles = [principal, *reached(view, principal, at, writes=True)]
    rows = [tables.role_priority[each] for each in roles if each in tables.role_priority]
    rows += [incident_priority(view, tables, roles, key, at), tables.default_priority]
    rows += [tables.purpose_priority[each] for each in _purposes(view, proof) if each in tables.purpose_priority]
    return max(rows)


def incident_priority(view: View, tables: Tables, roles: Sequence[str], key: str, at: Instant) -> int:
    """Return the row of the gravest open incident over `key` that one of `roles` answers to, or 0."""
    if not view.coordination.incidents or not any(_responds(edge) for edge in preempting(view, roles, at)):
        return 0
    return max((tables.incident_priority.get(each["severity"], 0) for each in incidents_over(view, key, at)), default=0)


def incidents_over(view: View, key: str, at: Instant) -> list[Record]:
    """Return the open incidents declared on a resource that covers `key`, by id."""
    tables = view.coordination
    if not tables.incidents:
        return []
    ids = sorted(each for above in ground_of(view, key, at).keys for each in tables.incidents.get(above, ()))
    return [view.records["incident"][each] for each in ids]


def preempting(view: View, roles: Sequence[str], at: Instant) -> Iterator[Edge]:
    """Iterate the MAY_PREEMPT edges that count now, from any of `roles`."""
    for role in roles:
        for edge in view.outgoing(EdgeType.MAY_PREEMPT, role):
            fresh = edge.epoch >= view.minimum_epoch(edge, writes=True)
            if edge.is_live(at) and fresh and view.alive(edge.from_) and view.alive(edge.to):
                yield edge


def _responds(edge: Edge) -> bool:
    return any(condition.attribute.startswith("incident.") for condition in edge.scope.conditions)


def _purposes(view: View, proof: Sequence[str]) -> Iterator[str]:
    """Iterate the purposes that conditions of the proving chain fix."""
    for position in proof:
        edge_id, _, version = position.rpartition("@")
        edge = view.version(edge_id, int(version))
        for condition in edge.scope.conditions if edge is not None else ():
            if condition.attribute in ("purpose", "context.purpose") and condition.operator == "equals":
                yield str(condition.value)
