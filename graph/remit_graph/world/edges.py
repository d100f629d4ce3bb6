"""From the sections of a file to edges, short forms included; stamps that the file leaves out are filled in later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.edge import Edge, EdgeType, parse_edge
from remit_graph.world.grammar import SECTIONS
from remit_graph.world.names import edge_id_of
from remit_graph.world.shapes import Either, ListOf, Members, Shape
from remit_graph.world.source import Problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from remit_graph.laws.refusal import Refusal
    from remit_graph.world.document import Node

_FIXED: Final[Mapping[str, EdgeType | None]] = {
    "coordinates": EdgeType.MUST_COORDINATE_WITH,
    "owns": EdgeType.OWNS,
    "grants": None,
    "may_delegate": EdgeType.MAY_DELEGATE,
    "delegations": EdgeType.DELEGATES,
    "may_preempt": EdgeType.MAY_PREEMPT,
    "may_revoke": EdgeType.MAY_REVOKE,
    "memberships": None,
    "reports_to": EdgeType.REPORTS_TO,
}
"""Sections of edges; None where the entry names its type."""

_SHORT: Final = (
    ("principals", "id", "acts_as", EdgeType.ACTS_AS),
    ("principals", "id", "member_of", EdgeType.MEMBER_OF),
    ("principals", "id", "reports_to", EdgeType.REPORTS_TO),
    ("resources", "key", "part_of", EdgeType.PART_OF),
)
_IN_SCOPE: Final = ("fields", "conditions")
"""Members that may stand beside `scope` for short and mean the same inside it."""


@dataclass(slots=True)
class Draft:
    """An edge as the file says it.

    Attributes:
        edge: With defaults where the file is silent.
        node: The entry, for lines.
        stated: The members the file gives.
    """

    edge: Edge
    node: Node
    stated: frozenset[str]

    @property
    def line(self) -> int:
        """Where the entry begins."""
        return self.node.line

    def line_of(self, refusal: Refusal) -> int:
        """Return where the entry says what is refused, or where it begins."""
        name = refusal.dimension or ""
        for path in ((name,), ("scope", name), ("scope", "where", name)):
            line = self.node.find(*path)
            if line is not None:
                return line
        return self.line


def read_edges(root: Node, problems: Problems) -> list[Draft]:
    """Read every section and short form that declares edges, in the order of the file's grammar."""
    drafts = [*_short_forms(root, problems), *_effects(root, problems)]
    for section, fixed in _FIXED.items():
        drafts.extend(_section(root, section, fixed, problems))
    return drafts


def _section(root: Node, section: str, fixed: EdgeType | None, problems: Problems) -> Iterator[Draft]:
    node = root.mapping.get(section)
    shape = SECTIONS[section].shape
    if node is None or not isinstance(shape, ListOf):
        return
    if not isinstance(node.value, tuple):
        shape.read(node, problems)
        return
    for each in node.value:
        record = shape.item.read(each, problems)
        if record is not None:
            yield from _draft(record, fixed, each, problems)


def _effects(root: Node, problems: Problems) -> Iterator[Draft]:
    keys = root.mapping.get("keys")
    node = keys.mapping.get("affects") if keys is not None else None
    shape = SECTIONS["keys"].shape
    if node is None or not isinstance(shape, Members):
        return
    item = shape.members["affects"]
    if isinstance(item, ListOf):
        for each in node.items:
            # What does not fit was reported with the section.
            record = item.item.read(each, Problems(problems.file))
            if record is not None:
                yield from _draft(record, EdgeType.AFFECTS, each, problems)


def _short_forms(root: Node, problems: Problems) -> Iterator[Draft]:
    for section, name, member, edge in _SHORT:
        links = _link_shape(section, member)
        node = root.mapping.get(section)
        for entry in node.items if node is not None else ():
            from_, targets = entry.mapping.get(name), entry.mapping.get(member)
            if from_ is None or targets is None or not isinstance(from_.value, str):
                continue
            for each in targets.items:
                silent = Problems(problems.file)  # What does not fit was reported with the entry itself.
                link = links.read(each, silent)
                if link is not None and not len(silent):
                    record = {"to": link} if isinstance(link, str) else link
                    yield from _draft({**record, "from": from_.value}, edge, each, problems)


def _link_shape(section: str, member: str) -> Shape:
    listed = SECTIONS[section].shape
    if isinstance(listed, ListOf) and isinstance(listed.item, Members):
        links = listed.item.members[member]
        if isinstance(links, ListOf) and isinstance(links.item, Either):
            return links.item
    raise AssertionError(f"`{section}.{member}` is no list of links")


def _draft(record: dict[str, Any], fixed: EdgeType | None, node: Node, problems: Problems) -> Iterator[Draft]:
    record = dict(record)
    stated = frozenset(record)
    edge = fixed or EdgeType(record["edge"])
    record["edge"] = edge.value
    record["edge_id"] = (
        record.pop("delegation_id", None) or record.get("edge_id") or edge_id_of(edge, record["from"], record["to"])
    )
    for member in _IN_SCOPE:
        if member in record:
            scope = dict(record.get("scope", {}))
            if member in scope:
                problems.add(
                    node.line_of(member), f"`{record['edge_id']}` gives `{member}` twice, beside `scope` and in it"
                )
            record["scope"] = {**scope, member: record.pop(member)}
    try:
        yield Draft(parse_edge(record), node, stated)
    except ModelError as error:
        problems.add(node.line, _prefixed(record["edge_id"], error.message), code=error.code, advice=error.advice)


def _prefixed(edge_id: str, message: str) -> str:
    return message if f"`{edge_id}`" in message else f"`{edge_id}`: {message}"
