"""A world as the changes that make it in an empty store, in an order in which each rests on what stands before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import Change
from remit_graph.model.edge import Edge, EdgeType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from remit_graph.world.value import World

_FIRST: Final = (
    EdgeType.PART_OF,
    EdgeType.AFFECTS,
    EdgeType.MUST_COORDINATE_WITH,
    EdgeType.REPORTS_TO,
    EdgeType.MEMBER_OF,
    EdgeType.ACTS_AS,
    EdgeType.OWNS,
    EdgeType.MAY_READ,
    EdgeType.MAY_WRITE,
    EdgeType.MAY_APPROVE,
    EdgeType.MAY_RECONCILE,
    EdgeType.MAY_DELEGATE,
    EdgeType.MAY_PREEMPT,
    EdgeType.MAY_REVOKE,
    EdgeType.DELEGATES,
)
"""Structure, then what grants rest on, then grants and rights, then delegations."""

ORDER: Final[Mapping[EdgeType, int]] = {each: place for place, each in enumerate(_FIRST)}


def changes_of(world: World) -> list[Change]:
    """Return the changes that make `world` in an empty store, nodes before the edges that join them."""
    return list(iter_changes(world))


def iter_changes(world: World) -> Iterator[Change]:
    """Iterate the same changes, for worlds too large to hold twice."""
    yield Change("realm.set", world.realm.record())
    for name in sorted(world.resource_types):
        yield Change("resource_type.put", world.resource_types[name].record())
    for name in sorted(world.actions):
        yield Change("action.put", world.actions[name].record())
    for name in sorted(world.principals):
        yield Change("principal.put", world.principals[name].record())
    for key in sorted(world.resources):
        yield Change("resource.put", resource_record(key, world.resources[key]))
    for alias in sorted(world.aliases):
        yield Change("alias.put", {"alias": alias, "key": world.aliases[alias]})
    for name in sorted(world.enforcement_points):
        yield Change("enforcement_point.put", world.enforcement_points[name].record())
    yield Change("epoch.set", world.epochs.record())
    for edge in in_order(world.edges.values()):
        yield Change("edge.begin", edge.record())


def in_order(edges: Iterable[Edge]) -> list[Edge]:
    """Sort edges so that each stands after what it rests on: by type, delegations parents first, then by id."""
    ordered = sorted(edges, key=lambda edge: (ORDER[edge.edge], edge.edge_id))
    delegations = {each.edge_id: each for each in ordered if each.edge is EdgeType.DELEGATES}
    if not delegations:
        return ordered
    others = ordered[: len(ordered) - len(delegations)]
    return [*others, *_parents_first(delegations)]


def _parents_first(delegations: Mapping[str, Edge]) -> list[Edge]:
    """Order delegations by how many others stand above them in the same world; a stored cycle ends where it began."""
    depths: dict[str, int] = {}
    for start in delegations:
        path: list[str] = []
        step: str | None = start
        while step is not None and step in delegations and step not in depths and step not in path:
            path.append(step)
            step = parent_id(delegations[step])
        depth = depths.get(step, -1) if step is not None else -1
        for each in reversed(path):
            depth += 1
            depths[each] = depth
    return sorted(delegations.values(), key=lambda edge: (depths[edge.edge_id], edge.edge_id))


def parent_id(delegation: Edge) -> str | None:
    """Return the edge id that `under` names, without its version."""
    return None if delegation.under is None else delegation.under.rpartition("@")[0]


def resource_record(key: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of `resource.put`."""
    return {"key": key, "attributes": dict(attributes)} if attributes else {"key": key}
