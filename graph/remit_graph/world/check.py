"""What is wrong with a world that is in the store already: `remit graph check` (model.md 6, faults F036, F038).

Edges of a forbidden shape give no authority at use; here they are found and named, so that somebody takes them out.
The laws are those a file is loaded by. One more is asked: that no two names look alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit_graph.errors import ModelError
from remit_graph.laws.delegation import Bounds
from remit_graph.laws.vocabulary import Vocabulary
from remit_graph.model.edge import EdgeType
from remit_graph.model.key import check_name, parse_key
from remit_graph.world.confusable import confusable
from remit_graph.world.graph import WorldGraph
from remit_graph.world.judge import judge
from remit_graph.world.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.model.condition import Scales
    from remit_graph.world.value import World

CONFUSABLE = "confusable"
"""The one finding that is no reason code: nothing is refused for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that somebody should look at.

    Attributes:
        noun: `edge`, `principal` or `resource`.
        id: Which one.
        code: A reason code, or `confusable`.
        message: What is wrong, in one sentence.
    """

    noun: str
    id: str
    code: str
    message: str

    def record(self) -> dict[str, str]:
        """Return the form of `--json`."""
        return {"noun": self.noun, "id": self.id, "code": self.code, "message": self.message}


def check_world(world: World, *, scales: Scales | None = None) -> tuple[Finding, ...]:
    """Return every finding, edges first, each by id; nothing for a world that could be loaded."""
    vocabulary = Vocabulary(
        world.realm,
        world.resource_types,
        world.actions,
        world.aliases,
        world.principals,
        world.resources,
        scales=scales,
    )
    found = [*_edges(world, vocabulary), *_delegations(world, vocabulary), *_names(world)]
    return tuple(sorted(found, key=lambda each: (each.noun, each.id, each.code)))


def _edges(world: World, vocabulary: Vocabulary) -> Iterator[Finding]:
    graph = WorldGraph(world.edges.values())
    for edge_id, refusal in judge(world.edges, graph, vocabulary):
        yield Finding(noun="edge", id=edge_id, code=refusal.code, message=refusal.message)


def _delegations(world: World, vocabulary: Vocabulary) -> Iterator[Finding]:
    delegations = [each for each in world.edges.values() if each.edge is EdgeType.DELEGATES]
    graph = WorldGraph(each for each in world.edges.values() if each.edge is not EdgeType.DELEGATES)
    bounds = Bounds(
        max_depth=world.realm.max_delegation_depth, scales=vocabulary.scales or {}, actions=vocabulary.actions
    )
    result = resolve(delegations, graph, bounds, lambda edge: edge.under)
    for edge_id, refusals in result.refused.items():
        for refusal in refusals:
            yield Finding(noun="edge", id=edge_id, code=refusal.code, message=refusal.message)


def _names(world: World) -> Iterator[Finding]:
    for noun, names, parse in (("principal", world.principals, check_name), ("resource", world.resources, parse_key)):
        for name in names:
            try:
                parse(name)
            except ModelError as error:
                yield Finding(noun=noun, id=name, code=error.code, message=error.message)
        for name, others in confusable(names):
            message = f"`{name}` looks like {', '.join(f'`{each}`' for each in others)} and is not the same"
            yield Finding(noun=noun, id=name, code=CONFUSABLE, message=message)
