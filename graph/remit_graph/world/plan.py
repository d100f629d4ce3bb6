"""The way from the graph as it is to a wanted world: what differs, and the changes that make it so (model.md 8).

A plan is decided on one state of the graph and holds for that state alone: whoever applies it appends its changes at
the revision it was made at, as one command, or plans again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.laws.refusal import Refusal
from remit_graph.model.change import Change
from remit_graph.world.changes import in_order
from remit_graph.world.diff import Difference, diff_worlds, summary
from remit_graph.world.rebase import History, NoHistory, rebase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from remit_graph.world.value import World

MAX_DIFFERENCES: Final = 20_000
"""Of one `graph apply`; larger worlds enter by `remit store import` (rules.md 5)."""

_ENDED_A_ROW: Final = 1_000
"""Edges in one `edges.end`, so that a row stays near 64 KiB (rules.md 11)."""

_NODES: Final = ("resource_type", "action", "principal", "resource", "alias", "enforcement_point")
_NAMES: Final = {"resource_type": "name", "action": "name", "principal": "id", "resource": "key", "alias": "alias"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What applying a world would do.

    Attributes:
        differences: Sorted by noun and id; what ends as a consequence is among them.
        changes: For the ledger, in order; empty where nothing differs or something is refused.
        refusals: Why the world cannot be applied to this graph.
        result: The world that will be.
    """

    differences: tuple[Difference, ...]
    changes: tuple[Change, ...]
    refusals: tuple[Refusal, ...]
    result: World

    def record(self) -> dict[str, Any]:
        """Return the form of `--json` and of `POST /v1/graph/apply`."""
        return {
            "differences": [each.record() for each in self.differences],
            "refusals": [each.record() for each in self.refusals],
        }

    def __str__(self) -> str:
        """One line for each difference and refusal, and a count."""
        lines = [*map(str, self.differences), *(f"! {each.message} [{each.code}]" for each in self.refusals)]
        return "\n".join([*lines, summary(self.differences)])


def plan_world(current: World, wanted: World, *, history: History | None = None, limit: int = MAX_DIFFERENCES) -> Plan:
    """Plan the way from `current` to `wanted`.

    Args:
        current: The graph as a world, with the versions and stamps its edges have.
        wanted: A world that was loaded, so that its own laws hold.
        history: What has ended; an edge id used before goes on with the next version.
        limit: Differences allowed.
    """
    rebased = rebase(current, wanted, history or NoHistory())
    differences = diff_worlds(current, rebased.world)
    refusals = [*_foreign(current, wanted), *rebased.refusals]
    if len(differences) > limit:
        message = f"{len(differences)} differences, and at most {limit} are applied at once"
        advice = "apply it in parts, or import it with `remit store import`"
        refusals.append(Refusal(code="limit_exceeded", message=message, advice=advice))
    changes = () if refusals else tuple(_changes(current, rebased.world, differences))
    return Plan(differences=differences, changes=changes, refusals=tuple(refusals), result=rebased.world)


def _foreign(current: World, wanted: World) -> list[Refusal]:
    is_new = not current.principals and not current.resource_types and not current.edges
    if is_new or current.realm.name == wanted.realm.name:
        return []
    message = f"this is a world of realm `{wanted.realm.name}`, and the graph is that of `{current.realm.name}`"
    return [Refusal(code="revision_foreign", message=message, dimension="realm", offending=(wanted.realm.name,))]


def _changes(current: World, result: World, differences: Sequence[Difference]) -> Iterator[Change]:
    """Iterate changes: nodes that are put, ended edges, begun edges, nodes that end; each finds what it needs."""
    by_noun: dict[str, list[Difference]] = {}
    for each in differences:
        by_noun.setdefault(each.noun, []).append(each)
    if any(each.after is not None for each in by_noun.get("realm", ())):
        yield Change("realm.set", result.realm.record())
    for noun in _NODES:
        yield from (Change(f"{noun}.put", each.after) for each in by_noun.get(noun, ()) if each.after is not None)
    if "epochs" in by_noun:
        yield Change("epoch.set", result.epochs.record())
    edges = by_noun.get("edge", [])
    yield from _ended(current, [each.id for each in edges if each.kind == "removed"], "removed")
    yield from _ended(current, [each.id for each in edges if each.kind == "changed"], "amended")
    begun = in_order(result.edges[each.id] for each in edges if each.kind != "removed")
    yield from (Change("edge.begin", each.record()) for each in begun)
    for noun in reversed(_NODES):
        ended = [each.id for each in by_noun.get(noun, ()) if each.kind == "removed"]
        yield from (Change(f"{noun}.end", {_NAMES.get(noun, "id"): each}) for each in ended)


def _ended(current: World, edge_ids: Sequence[str], cause: str) -> Iterator[Change]:
    for start in range(0, len(edge_ids), _ENDED_A_ROW):
        chunk = edge_ids[start : start + _ENDED_A_ROW]
        yield Change("edges.end", {"edges": [[each, current.edges[each].version] for each in chunk], "cause": cause})
