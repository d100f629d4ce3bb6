"""What a governance command ends or narrows, as far as anything may rest on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from remit_service.coordination.states import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from remit_graph.model.change import Change
    from remit_graph.view.state import View
    from remit_service.coordination.values import Record
    from remit_service.coordination.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """What may have lost its ground.

    Attributes:
        positions: Of edges that ended or lost their epoch, with the code that says so.
        principals: Whatever they hold or wait for.
        resources: Keys whose attributes changed: what is on them or below.
        removed: Keys of removed resources, on which nothing stays.
        passes: Capabilities and approvals that ended or lost a vote, as (noun, id): what was asked for with them.
        gone: Removed principals: approvals of what they would have done are of nobody.
        everything: Where what was changed may concern anybody.
        cause: What a revocation is put down to.
    """

    positions: Mapping[str, str] = field(default_factory=dict)
    principals: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    passes: frozenset[tuple[str, str]] = frozenset()
    gone: frozenset[str] = frozenset()
    everything: bool = False
    cause: Cause = Cause.AUTHORITY

    def code_for(self, record: Record) -> str | None:
        """Return the code of the first edge of its proof that ended, or None where none did."""
        return next((self.positions[each] for each in record["proof"] if each in self.positions), None)

    def removes(self, work: Work, key: str) -> bool:
        """Whether the resource itself was removed and has not come back in the same revision."""
        return key in self.removed and key not in work.view.resources


@dataclass(slots=True)
class _Collected:
    positions: dict[str, str] = field(default_factory=dict)
    principals: set[str] = field(default_factory=set)
    resources: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    passes: set[tuple[str, str]] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    everything: bool = False


REVOKED: Final = "delegation_revoked"
"""What is told of an edge that ended, whatever its type (decision.md 5)."""

PASSES: Final = {"approval.end": "approval", "capability.end": "capability"}
"""Changes by which what was shown for a lease counts no longer."""

_ANYBODY: Final = frozenset({"realm.set", "resource_type.put", "resource_type.end", "action.put", "action.end"})


def touched_by(view: View, changes: Iterable[Change]) -> Touched:
    """Read changes, on the view as it is before them."""
    found = _Collected()
    resting = view.coordination.resting
    for change in changes:
        body = change.body
        if change.kind == "edges.end":
            found.positions.update(dict.fromkeys((f"{edge_id}@{each}" for edge_id, each in body["edges"]), REVOKED))
        elif change.kind == "epoch.set":
            floors = body.get("minimum_authority", {})
            lowest = max(floors.values(), default=0)
            stale = (each for each in resting if _epoch(view, each) < lowest)
            found.positions.update(dict.fromkeys(stale, "stale_authority_epoch"))
        elif change.kind in ("principal.put", "principal.end"):
            found.principals.add(body["id"])
            found.positions.update(dict.fromkeys(_edges_of(view, body["id"], resting), REVOKED))
            if change.kind == "principal.end":
                found.gone.add(body["id"])
        elif change.kind in PASSES:
            found.passes.add((PASSES[change.kind], body["id"]))
        elif change.kind in ("resource.put", "resource.end"):
            found.resources.add(body["key"])
            if change.kind == "resource.end":
                found.removed.add(body["key"])
        elif change.kind in _ANYBODY:
            found.everything = True
    return Touched(
        positions=found.positions,
        principals=frozenset(found.principals),
        resources=frozenset(found.resources),
        removed=frozenset(found.removed),
        passes=frozenset(found.passes),
        gone=frozenset(found.gone),
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
