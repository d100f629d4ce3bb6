"""From the sections of a file to types, actions, principals, resources and enforcement points.

An entry that breaks a rule is reported and still counts as declared, so that one fault does not make every edge that
names the entry look dangling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from remit_graph.errors import ModelError
from remit_graph.model.builtin import BUILTIN_ACTIONS, BUILTIN_TYPES
from remit_graph.model.key import parse_key
from remit_graph.model.principal import Principal, check_attributes, parse_principal
from remit_graph.model.realm import EnforcementPoint, Realm, parse_enforcement_point, parse_realm
from remit_graph.model.registry import GRAPH_KEY
from remit_graph.model.resource_type import Action, FieldSpec, ResourceType, parse_action, parse_resource_type
from remit_graph.model.template import parse_template
from remit_graph.world.grammar import SECTIONS
from remit_graph.world.shapes import ListOf, MapOf
from remit_graph.world.value import FIRST_EPOCH, Epochs

if TYPE_CHECKING:
    from remit_graph.world.document import Node
    from remit_graph.world.source import Problems

Record = dict[str, Any]
T = TypeVar("T")
REALM_MEMBERS = ("root", "dimensions", "subject_types", "max_delegation_depth", "max_chain_hops")


@dataclass(slots=True)
class Nodes:
    """What a file declares besides edges, with the line of each; filled section by section."""

    realm: Realm
    epochs: Epochs
    types: dict[str, ResourceType] = field(default_factory=dict)
    actions: dict[str, Action] = field(default_factory=dict)
    principals: dict[str, Principal] = field(default_factory=dict)
    resources: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    points: dict[str, EnforcementPoint] = field(default_factory=dict)
    lines: dict[tuple[str, str], int] = field(default_factory=dict)

    def line(self, section: str, name: str) -> int:
        """Return where an entry was declared."""
        return self.lines.get((section, name), 0)


def read_nodes(root: Node, problems: Problems) -> Nodes:
    """Read every section that declares a node."""
    nodes = Nodes(realm=_realm(root, problems), epochs=_epochs(root, problems))
    table = _Table(root, nodes, problems)
    table.fill("resource_types", nodes.types, _type, _bare_type)
    table.fill("actions", nodes.actions, _action, lambda name, _: Action(name=name, class_="read"))
    table.fill(
        "principals", nodes.principals, lambda _, record: parse_principal(record), lambda name, _: Principal(id=name)
    )
    table.fill("resources", nodes.resources, _resource, lambda _name, _node: {})
    table.fill(
        "enforcement_points",
        nodes.points,
        lambda _, record: parse_enforcement_point(record),
        lambda name, _: EnforcementPoint(id=name),
    )
    return nodes


@dataclass(frozen=True, slots=True)
class _Table:
    """Fills one table after the other."""

    root: Node
    nodes: Nodes
    problems: Problems

    def fill(
        self, section: str, table: dict[str, T], build: Callable[[str, Record], T], bare: Callable[[str, Node], T]
    ) -> None:
        """Read a section into `table`; what `build` refuses is reported and entered as `bare`."""
        for name, record, node in entries(self.root, section, self.problems):
            before = self.nodes.lines.setdefault((section, name), node.line)
            if name in table:
                self.problems.add(
                    node.line, f"`{name}` is declared twice, first on line {before}", code="already_exists"
                )
                continue
            try:
                table[name] = bare(name, node) if record is None else build(name, record)
            except ModelError as error:
                self.problems.add(node.line, error.message, code=error.code, advice=error.advice)
                table[name] = bare(name, node)


def entries(root: Node, section: str, problems: Problems) -> Iterator[tuple[str, Record | None, Node]]:
    """Iterate the entries of a section as (name, record, node); the record is None where its shape does not fit.

    An entry without a name is reported by its shape and left out.
    """
    node = root.mapping.get(section)
    if node is None:
        return
    shape = SECTIONS[section].shape
    if isinstance(shape, MapOf) and isinstance(node.value, Mapping):
        for name, each in node.value.items():
            yield name, shape.item.read(each, problems), each
    elif isinstance(shape, ListOf) and isinstance(node.value, tuple):
        for each in node.value:
            record = shape.item.read(each, problems)
            if (named := _name(each)) is not None:
                yield named, record, each
    else:
        shape.read(node, problems)


def _name(node: Node) -> str | None:
    for member in ("id", "key"):
        named = node.mapping.get(member)
        if named is not None and isinstance(named.value, str):
            return named.value
    return None


def _realm(root: Node, problems: Problems) -> Realm:
    record: Record = {"name": "unnamed"}
    for member in ("realm", *REALM_MEMBERS):
        node = root.mapping.get(member)
        if node is not None:
            value = SECTIONS[member].shape.read(node, problems)
            if value is not None:
                record["name" if member == "realm" else member] = value
    if "realm" not in root.mapping:
        problems.add(root.line, "a world needs `realm`", advice="begin with `realm: <name>`")
    try:
        return parse_realm(record)
    except ModelError as error:
        problems.add(
            root.line_of("subject_types" if "subject type" in error.message else "realm"),
            error.message,
            code=error.code,
        )
        return Realm(name="unnamed", root=tuple(sorted(record.get("root", ()))))


def _epochs(root: Node, problems: Problems) -> Epochs:
    node = root.mapping.get("epochs")
    record: Record = (SECTIONS["epochs"].shape.read(node, problems) or {}) if node is not None else {}
    floors = record.get("minimum_authority", {})
    epochs = Epochs(
        authority=record.get("authority", FIRST_EPOCH),
        minimum_read=floors.get("read", 0),
        minimum_write=floors.get("write", 0),
    )
    if node is not None and max(epochs.minimum_read, epochs.minimum_write) > epochs.authority:
        problems.add(
            node.line_of("minimum_authority"),
            f"a floor lies above the authority epoch {epochs.authority}, so that every edge would be dead",
            code="stale_authority_epoch",
        )
    return epochs


def _type(name: str, record: Record) -> ResourceType:
    if name in BUILTIN_TYPES:
        raise ModelError(f"resource type `{name}` is built in", code="already_exists")
    return parse_resource_type({**record, "name": name})


def _bare_type(name: str, node: Node) -> ResourceType:
    """Return as much of a faulty type as edges refer to: its keys and the names of its fields."""
    template = node.mapping.get("key")
    text = template.value if template is not None and isinstance(template.value, str) else ""
    try:
        key = parse_template(text)
    except ModelError:
        key = parse_template(f"{GRAPH_KEY}:faulty:{node.line}")
    fields = node.mapping.get("fields")
    names = fields.mapping if fields is not None else {}
    return ResourceType(name=name, key=key, fields={each: FieldSpec() for each in names})


def _action(name: str, record: Record) -> Action:
    if name in BUILTIN_ACTIONS:
        raise ModelError(f"action `{name}` is built in", code="already_exists")
    return parse_action({**record, "name": name})


def _resource(key: str, record: Record) -> Mapping[str, Any]:
    parse_key(key)
    if key == GRAPH_KEY:
        raise ModelError(f"resource `{key}` is built in", code="already_exists")
    return check_attributes(record.get("attributes", {}), key)
