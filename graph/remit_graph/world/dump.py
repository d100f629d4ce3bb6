"""A world as the text of a world file: byte-stable, sorted, one entry a line, and read back as an equal world.

Every list is sorted by what names its entries, every entry has its members in the order of the grammar, and what the
loader fills in by itself is left out. So two exports of one graph differ in exactly the lines that changed.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.edge import Edge, EdgeType
from remit_graph.world.entries import Entries
from remit_graph.world.flow import flow, text
from remit_graph.world.value import Epochs, World

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SHORT: Final = {
    EdgeType.ACTS_AS: "acts_as",
    EdgeType.MEMBER_OF: "member_of",
    EdgeType.REPORTS_TO: "reports_to",
    EdgeType.PART_OF: "part_of",
}
_SECTIONS: Final = (
    (EdgeType.MUST_COORDINATE_WITH, "coordinates"),
    (EdgeType.OWNS, "owns"),
    (EdgeType.MAY_READ, "grants"),
    (EdgeType.MAY_WRITE, "grants"),
    (EdgeType.MAY_APPROVE, "grants"),
    (EdgeType.MAY_RECONCILE, "grants"),
    (EdgeType.MAY_DELEGATE, "may_delegate"),
    (EdgeType.DELEGATES, "delegations"),
    (EdgeType.MAY_PREEMPT, "may_preempt"),
    (EdgeType.MAY_REVOKE, "may_revoke"),
)


def dump_world(world: World) -> str:
    """Write `world` as a world file that loads back to an equal one."""
    return "".join(f"{line}\n" for line in _lines(world))


def _lines(world: World) -> Iterator[str]:
    by_type = _by_type(world.edges.values())
    entries = Entries(world)
    yield from _head(world)
    yield from _types(world)
    yield from _mapping("actions", {name: _without(each.record(), "name") for name, each in world.actions.items()})
    yield from _list("principals", _principals(world, by_type, entries))
    yield from _list("resources", _resources(world, by_type, entries))
    yield from _keys(world, by_type, entries)
    for section in dict.fromkeys(each for _, each in _SECTIONS):
        kinds = [kind for kind, name in _SECTIONS if name == section]
        edges = sorted((edge for kind in kinds for edge in by_type[kind]), key=lambda edge: edge.edge_id)
        yield from _list(section, (entries.entry(each) for each in edges))
    yield from _list(
        "enforcement_points", (world.enforcement_points[name].record() for name in sorted(world.enforcement_points))
    )


def _by_type(edges: Iterable[Edge]) -> dict[EdgeType, list[Edge]]:
    found: dict[EdgeType, list[Edge]] = defaultdict(list)
    for edge in edges:
        found[edge.edge].append(edge)
    return found


def _without(record: dict[str, Any], name: str) -> dict[str, Any]:
    record.pop(name)
    return record


def _head(world: World) -> Iterator[str]:
    record = world.realm.record()
    yield f"realm: {text(record.pop('name'))}"
    for name, value in record.items():
        yield f"{name}: {flow(value)}"
    if world.epochs != Epochs():
        yield f"epochs: {flow(world.epochs.record())}"


def _types(world: World) -> Iterator[str]:
    if world.resource_types:
        yield "resource_types:"
    for name in sorted(world.resource_types):
        record = _without(world.resource_types[name].record(), "name")
        fields = record.pop("fields", {})
        yield f"  {text(name)}:"
        for member, value in record.items():
            yield f"    {member}: {flow(value)}"
        if fields:
            yield "    fields:"
        for field, spec in fields.items():
            yield f"      {text(field)}: {flow(spec)}"


def _mapping(section: str, records: Mapping[str, Any]) -> Iterator[str]:
    if records:
        yield f"{section}:"
    for name in sorted(records):
        yield f"  {text(name)}: {flow(records[name])}"


def _list(section: str, records: Iterable[Any], indent: str = "") -> Iterator[str]:
    first = True
    for record in records:
        if first:
            yield f"{indent}{section}:"
        first = False
        yield f"{indent}  - {flow(record)}"


def _links(edges: Iterable[Edge], entries: Entries) -> dict[str, dict[str, list[Any]]]:
    """Return the short forms of structural edges: by where they begin, then by member."""
    found: dict[str, dict[str, list[Any]]] = defaultdict(dict)
    for edge in sorted(edges, key=lambda each: (each.to, each.edge_id)):
        found[edge.from_].setdefault(_SHORT[edge.edge], []).append(entries.link(edge))
    return found


def _principals(world: World, by_type: Mapping[EdgeType, list[Edge]], entries: Entries) -> Iterator[dict[str, Any]]:
    kinds = (EdgeType.ACTS_AS, EdgeType.MEMBER_OF, EdgeType.REPORTS_TO)
    links = _links((edge for kind in kinds for edge in by_type.get(kind, ())), entries)
    for name in sorted(world.principals):
        mine = links.get(name, {})
        short = {_SHORT[kind]: mine[_SHORT[kind]] for kind in kinds if _SHORT[kind] in mine}
        yield world.principals[name].record() | short


def _resources(world: World, by_type: Mapping[EdgeType, list[Edge]], entries: Entries) -> Iterator[dict[str, Any]]:
    links = _links(by_type.get(EdgeType.PART_OF, ()), entries)
    for key in sorted(world.resources):
        record: dict[str, Any] = {"key": key}
        if world.resources[key]:
            record["attributes"] = dict(sorted(world.resources[key].items()))
        yield record | links.get(key, {})


def _keys(world: World, by_type: Mapping[EdgeType, list[Edge]], entries: Entries) -> Iterator[str]:
    affects = sorted(by_type.get(EdgeType.AFFECTS, ()), key=lambda edge: edge.edge_id)
    if not world.aliases and not affects:
        return
    yield "keys:"
    if world.aliases:
        yield "  aliases:"
    for alias in sorted(world.aliases):
        yield f"    {text(alias)}: {text(world.aliases[alias])}"
    yield from _list("affects", (entries.entry(each) for each in affects), "  ")
