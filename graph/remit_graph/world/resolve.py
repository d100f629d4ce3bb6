"""Finds for each delegation of a world what it rests on, and fills it in (rules.md 3).

Delegations may stand in any order and rest on each other, so they are resolved in rounds: a round resolves those whose
ground is resolved already. What is left after the last round either breaks a law, or rests on something that does, or
rests on itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from remit_graph.laws.delegation import Bounds, Judgement, check_delegation
from remit_graph.laws.ground import grounds_of
from remit_graph.laws.refusal import Refusal
from remit_graph.model.edge import Edge
from remit_graph.world.changes import parent_id
from remit_graph.world.graph import WorldGraph, cycles

Stated = Callable[[Edge], str | None]
"""The `under` that the file states for a delegation: an edge id, a position, or None."""


@dataclass(slots=True)
class Resolution:
    """What became of the delegations.

    Attributes:
        held: Filled in, by edge id, parents before children.
        refused: Why the others were refused, by edge id.
    """

    held: dict[str, Edge] = field(default_factory=dict)
    refused: dict[str, tuple[Refusal, ...]] = field(default_factory=dict)


def resolve(delegations: Iterable[Edge], graph: WorldGraph, bounds: Bounds, stated: Stated) -> Resolution:
    """Resolve all delegations of a world; those that hold are added to `graph`."""
    result = Resolution()
    waiting = {each.edge_id: each for each in sorted(delegations, key=lambda each: each.edge_id)}
    judgements: dict[str, Judgement] = {}
    progress = True
    while waiting and progress:
        progress = False
        for edge in list(waiting.values()):
            judgements[edge.edge_id] = check_delegation(edge, grounds_of(edge, graph, under=stated(edge)), bounds)
            if (held := judgements[edge.edge_id].edge) is not None:
                held = _as_stated(held, stated(edge))
                result.held[edge.edge_id] = held
                graph.add(held)
                del waiting[edge.edge_id]
                progress = True
    _refuse(waiting, judgements, graph, stated, result)
    return result


def _as_stated(held: Edge, under: str | None) -> Edge:
    """Keep the version that `under` states: an amended right carries what was made under an earlier one."""
    is_position = under is not None and under.startswith(f"{parent_id(held)}@")
    return replace(held, under=under) if is_position else held


def _refuse(
    waiting: dict[str, Edge], judgements: dict[str, Judgement], graph: WorldGraph, stated: Stated, result: Resolution
) -> None:
    rests_on = _possible_parents(waiting, graph, stated)
    tied: set[str] = set()
    for cycle in cycles(rests_on):
        tied.update(cycle)
    for edge_id in waiting:
        if edge_id in tied:
            result.refused[edge_id] = (_cycle(edge_id, rests_on[edge_id]),)
        elif not rests_on[edge_id]:
            result.refused[edge_id] = judgements[edge_id].refusals
        else:
            result.refused[edge_id] = (_rests_on_refused(edge_id, rests_on[edge_id]),)


def _possible_parents(waiting: dict[str, Edge], graph: WorldGraph, stated: Stated) -> dict[str, list[str]]:
    """Return which of the waiting delegations each of them could rest on, were they to hold."""
    to: dict[str, list[str]] = defaultdict(list)
    for each in waiting.values():
        to[each.to].append(each.edge_id)
    parents: dict[str, list[str]] = {}
    for edge in waiting.values():
        wanted = stated(edge)
        found = {each for holder in graph.acts_as(edge.from_) for each in to.get(holder, ()) if each != edge.edge_id}
        parents[edge.edge_id] = sorted(
            each for each in found if wanted is None or each in (wanted, wanted.rpartition("@")[0])
        )
    return parents


def _cycle(edge_id: str, parents: list[str]) -> Refusal:
    return Refusal(
        code="delegation_cycle",
        message=f"`{edge_id}` rests on {', '.join(f'`{each}`' for each in parents)}, which rests on it",
        dimension="from",
        offending=tuple(parents),
        advice="begin the chain at a principal that holds a grant",
    )


def _rests_on_refused(edge_id: str, parents: list[str]) -> Refusal:
    return Refusal(
        code="no_authority",
        message=f"`{edge_id}` rests on {', '.join(f'`{each}`' for each in parents)}, which is refused itself",
        dimension="under",
        offending=tuple(parents),
    )
