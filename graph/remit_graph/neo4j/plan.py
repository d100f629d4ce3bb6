"""From the changes of a batch to the statements that bring the materialised graph to them.

Statements work on lists, so that a batch costs a handful of them and not one for each change. Inside a *wave* they run
in a fixed order:

1. edges end, 2. things end, 3. things are put, 4. edges begin, 5. what refers to what.

A change that would have to run before one that the wave holds already (an edge that ends after it began, a thing that
ends after something used it) opens the next wave. Most batches are one wave.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from remit_graph.model.change import canonical, digest
from remit_graph.neo4j.edges import Begun, Ended, begun, ended, ends_of
from remit_graph.neo4j.nouns import Named, is_noun, named, named_by, was_label
from remit_graph.neo4j.properties import OF_ENTITIES, digest_of, digest_of_end, flatten
from remit_graph.neo4j.references import Reference, proofs_of, references_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from remit_graph.model.change import Change, Entry
    from remit_graph.model.instant import Instant

Row = dict[str, Any]
_JOINED_BY_EDGES: Final = frozenset({"principal", "resource", "resource_type", "action", "alias", "realm", "selector"})
"""Nouns whose members are facts about them; they refer to nothing."""


class Step(NamedTuple):
    """One change, with what the whole revision says of it."""

    revision: int
    at: Instant
    change: Change


class Put(NamedTuple):
    """A thing as it is from now on.

    Attributes:
        thing: Its node.
        properties: All of the node's.
        references: What it refers to by name.
        rests_on: The edges that its authority rests on.
    """

    thing: Named
    properties: Row
    references: list[Reference]
    rests_on: list[Reference]


@dataclass(slots=True)
class Wave:
    """The parameters of one round of statements."""

    edge_ends: list[Ended] = field(default_factory=list)
    entity_ends: list[Row] = field(default_factory=list)
    entity_puts: dict[str, Put] = field(default_factory=dict)
    edge_begins: list[Begun] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    @property
    def size(self) -> int:
        """How many elements it touches."""
        ending = sum(len(each.edges) for each in self.edge_ends)
        return ending + len(self.entity_ends) + len(self.entity_puts) + len(self.edge_begins)


def steps_of(entries: Iterable[Entry]) -> Iterator[Step]:
    """Yield the changes of whole revisions, in order."""
    for entry in entries:
        for change in entry.changes:
            yield Step(entry.revision, entry.at, change)


def plan(steps: Iterable[Step]) -> list[Wave]:
    """Return the waves that bring the graph from before `steps` to after them.

    Raises:
        ModelError: a change of edges does not say which.
    """
    waves = [Wave()]
    for step in steps:
        noun, _, verb = step.change.kind.rpartition(".")
        if step.change.kind == "edge.begin":
            _begin_edge(waves[-1], step)
        elif step.change.kind == "edges.end":
            ending = ended(step.change.body, step.revision, step.at)
            _after(waves, (f"edge/{edge_id}" for edge_id, _ in ending.edges)).edge_ends.append(ending)
        elif verb == "end" and (thing := _thing(noun, step)) is not None:
            _after(waves, (thing.ref,)).entity_ends.append(_end(thing, step))
        elif verb in ("put", "set", "activate") and (thing := _thing(noun, step)) is not None:
            _put(waves[-1], thing, noun, step)
    return [wave for wave in waves if wave.size]


def _after(waves: list[Wave], names: Iterable[str]) -> Wave:
    """Return the wave in which these may end: a new one if the last one uses any of them."""
    if not waves[-1].used.isdisjoint(names):
        waves.append(Wave())
    return waves[-1]


def _thing(noun: str, step: Step) -> Named | None:
    if not is_noun(noun):
        return None
    if noun == "epoch":
        # Each is an event: the newest one holds, and the older ones say when floors were raised.
        return named(noun, step.revision)
    return named_by(noun, step.change.body)


def _begin_edge(wave: Wave, step: Step) -> None:
    edge = begun(step.change.body, step.revision)
    wave.used.add(f"edge/{edge.properties['edge_id']}")
    wave.used.update(end.ref for end in ends_of(step.change.body) or ())
    wave.edge_begins.append(edge)


def _put(wave: Wave, thing: Named, noun: str, step: Step) -> None:
    body = step.change.body
    refers = noun not in _JOINED_BY_EDGES
    references = references_of(body, thing) if refers else []
    rests_on = proofs_of(body) if refers else []
    properties = {**_defaults(noun, body), **flatten(body), **thing.identity, "as_of": step.revision}
    if references or rests_on:
        properties["references"] = digest(canonical([references, rests_on]))
    properties["row_digest"] = digest_of(properties, OF_ENTITIES)
    properties["ref"] = thing.ref
    wave.used |= {thing.ref, *(each["ref"] for each in references)}
    wave.entity_puts[thing.ref] = Put(thing, properties, references, rests_on)


def _defaults(noun: str, body: Mapping[str, Any]) -> Row:
    """Return what the ledger leaves out and Cypher wants to filter on."""
    if noun != "principal":
        return {}
    kind = str(body.get("id")).partition(":")[0]
    return {"kind": kind, "trust": 0, "disabled": False, "minimum_epoch": 0}


def _end(thing: Named, step: Step) -> Row:
    identity = thing.identity.keys()
    told = {name: value for name, value in step.change.body.items() if name not in identity}
    facts = {f"ended_{name.removeprefix('ended_')}": value for name, value in flatten(told).items()}
    facts |= {"revision_to": step.revision, "ended_at": step.at}
    return {
        "ref": thing.ref,
        "label": thing.label,
        "was_label": was_label(thing.label),
        "ended": facts,
        "digest": digest_of_end(facts),
    }
