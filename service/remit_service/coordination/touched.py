"""What a governance command ends or narrows, as far as anything may rest on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from remit_service.coordination.states import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from remit_graph.model.change import Change
    from remit_graph.view.state import View
    from remit_service.coordination.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """What may have lost its ground.

    Attributes:
        positions: Of edges that ended or lost their epoch.
        principals: Whatever they hold or wait for.
        resources: Keys whose attributes changed: what is on them or below.
        removed: Keys of removed resources, on which nothing stays.
        everything: Where what was changed may concern anybody.
        cause: What a revocation is put down to.
    """

    positions: frozenset[str] = frozenset()
    principals: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    everything: bool = False
    cause: Cause = Cause.AUTHORITY

    def removes(self, work: Work, key: str) -> bool:
        """Whether the resource itself was removed and has not come back in the same revision."""
        return key in self.removed and key not in work.view.resources


@dataclass(slots=True)
class _Collected:
    positions: set[str] = field(default_factory=set)
    principals: set[str] = field(default_factory=set)
    resources: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    everything: bool = False


_ANYBODY: Final = frozenset({"realm.set", "resource_type.put", "resource_type.end", "action.put", "action.end"})


def touched_by(view: View, changes: Iterable[Change]) -> Touched:
    """Read changes, on the view as it is before them."""
    found = _Collected()
    resting = view.coordination.resting
    for change in changes:
        body = change.body
        if change.kind == "edges.end":
            found.positions.update(f"{edge_id}@{version}" for edge_id, version in body["edges"])
        elif change.kind == "epoch.set":
            floors = body.get("minimum_authority", {})
            lowest = max(floors.values(), default=0)
            found.positions.update(each for each in resting if _epoch(view, each) < lowest)
        elif change.kind in ("principal.put", "principal.end"):
            found.principals.add(body["id"])
            found.positions.update(_edges_of(view, body["id"], resting))
        elif change.kind in ("resource.put", "resource.end"):
            found.resources.add(body["key"])
            if change.kind == "resource.end":
                found.removed.add(body["key"])
        elif change.kind in _ANYBODY:
            found.everything = True
    return Touched(
        positions=frozenset(found.positions),
        principals=frozenset(found.principals),
        resources=frozenset(found.resources),
        removed=frozenset(found.removed),
        everything=found.everything,
    )


def _edges_of(view: View, principal: str, resting: Iterable[str]) -> Iterator[str]:
    for each in resting:
        edge_id, _, version = each.rpartition("@")
        edge = view.version(edge_id, int(version))
        if edge is not None and principal in (edge.from_, edge.to):
            yield each


def _epoch(view: View, position: str) -> int:
    edge_id, _, version = position.rpartition("@")
    edge = view.version(edge_id, int(version))
    return edge.epoch if edge is not None else 0
