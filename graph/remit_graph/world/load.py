"""World files: text to a `World`, or every fault of it at once.

```python
world = load_world(Path("fixtures/worlds/example.yaml").read_text(), file="example.yaml")
```

The file is judged by itself: every law that does not need the graph it will be applied to is checked here, and the
rest (ownership that may only move by transfer, epochs that only grow) by `plan`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.errors import ModelError
from remit_graph.laws.delegation import Bounds
from remit_graph.laws.vocabulary import Vocabulary
from remit_graph.model.builtin import BUILTIN_TYPES
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.key import WILDCARD
from remit_graph.model.template import Template, parse_template
from remit_graph.world.defaults import unique, with_defaults, with_foundation
from remit_graph.world.document import Node, parse_document
from remit_graph.world.edges import Draft, read_edges
from remit_graph.world.grammar import SECTIONS
from remit_graph.world.graph import WorldGraph
from remit_graph.world.judge import judge
from remit_graph.world.nodes import Nodes, read_nodes
from remit_graph.world.resolve import resolve
from remit_graph.world.source import Problems
from remit_graph.world.value import World

if TYPE_CHECKING:
    from pathlib import Path

    from remit_graph.model.condition import Scales
    from remit_graph.model.resource_type import ResourceType

_TEXT: Final = "world"


def load_world(text: str, *, file: str = _TEXT, scales: Scales | None = None) -> World:
    """Read and judge a world.

    Args:
        text: YAML.
        file: How messages call it.
        scales: Ordered scales of policy data. Without them conditions compare by equality alone, and values of scales
            are not checked.

    Raises:
        WorldRefused: with every fault and its line; nothing of the file is usable.
    """
    problems = Problems(file)
    root = parse_document(text, problems)
    if root is None or not isinstance(root.value, dict):
        if root is not None:
            problems.add(root.line, "a world is a mapping", advice="begin with `realm: <name>`")
        problems.refuse()
        raise AssertionError("an unreadable document has a problem")
    _refuse_unknown_sections(root, problems)
    nodes = read_nodes(root, problems)
    aliases = _read_aliases(root, nodes.types, problems)
    drafts = read_edges(root, problems)
    vocabulary = _vocabulary(nodes, aliases, root, problems, scales)
    _judge_nodes(nodes, vocabulary, root, problems)
    edges = _judge_edges(drafts, vocabulary, nodes, problems)
    problems.refuse()
    return World(
        realm=nodes.realm,
        resource_types=nodes.types,
        actions=nodes.actions,
        principals=nodes.principals,
        resources=nodes.resources,
        aliases=aliases,
        edges=edges,
        enforcement_points=nodes.points,
        epochs=nodes.epochs,
    )


def _judge_edges(drafts: list[Draft], vocabulary: Vocabulary, nodes: Nodes, problems: Problems) -> dict[str, Edge]:
    """Return the edges by id, filled in; what breaks a law goes to `problems` with the line of its edge."""
    by_id = unique(drafts, problems)
    for draft in by_id.values():
        draft.edge = with_defaults(draft, nodes.realm, nodes.epochs, problems)
    graph = WorldGraph(each.edge for each in by_id.values() if each.edge.edge is not EdgeType.DELEGATES)
    written = {edge_id: by_id[edge_id].edge for edge_id in sorted(by_id, key=lambda each: by_id[each].line)}
    for edge_id, refusal in judge(written, graph, vocabulary):
        problems.add_refusal(by_id[edge_id].line_of(refusal), refusal)
    for draft in by_id.values():
        draft.edge = with_foundation(draft, graph)
    delegations = [each.edge for each in by_id.values() if each.edge.edge is EdgeType.DELEGATES]
    bounds = Bounds(
        max_depth=nodes.realm.max_delegation_depth, scales=vocabulary.scales or {}, actions=vocabulary.actions
    )
    result = resolve(delegations, graph, bounds, lambda edge: by_id[edge.edge_id].edge.under)
    for edge_id, refusals in result.refused.items():
        for refusal in refusals:
            problems.add_refusal(by_id[edge_id].line_of(refusal), refusal)
    return {edge_id: result.held.get(edge_id, by_id[edge_id].edge) for edge_id in sorted(by_id)}


def load_world_file(path: Path, *, scales: Scales | None = None) -> World:
    """Read and judge a world file.

    Raises:
        WorldRefused: as `load_world`; also where the file is no UTF-8.
        OSError: it cannot be read.
    """
    return load_world(read_world_text(path), file=str(path), scales=scales)


def read_world_text(path: Path) -> str:
    """Read a world file without judging it.

    Raises:
        WorldRefused: the file is no UTF-8.
        OSError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        problems = Problems(str(path))
        line = error.object.count(b"\n", 0, error.start) + 1
        problems.add(line, f"not UTF-8: {error.reason} at byte {error.start}", advice="save it as UTF-8")
        problems.refuse()
        raise


def _refuse_unknown_sections(root: Node, problems: Problems) -> None:
    for name, line in (root.keys or {}).items():
        if name not in SECTIONS:
            problems.add(line, f"a world has no section `{name}`", advice=f"known are {', '.join(SECTIONS)}")


def _read_aliases(root: Node, types: dict[str, ResourceType], problems: Problems) -> dict[str, str]:
    keys = root.mapping.get("keys")
    record = None if keys is None else SECTIONS["keys"].shape.read(keys, problems)
    node = None if keys is None else keys.mapping.get("aliases")
    aliases: dict[str, str] = {}
    for source, target in sorted((record or {}).get("aliases", {}).items()):
        line = node.line_of(source) if node is not None else 0
        with problems.at(line):
            _judge_alias(source, target, aliases, types)
            aliases[source] = target
    return aliases


def _judge_alias(source: str, target: str, aliases: dict[str, str], types: dict[str, ResourceType]) -> None:
    """Refuse an alias that would make a name mean two things, so that canonicalising twice is canonicalising once."""
    spelling, canonical = parse_template(source), parse_template(target)
    for each in types.values():
        if _meet(spelling, each.key):
            raise ModelError(
                f"alias `{source}` spells keys of resource type `{each.name}`", code="malformed_resource_key"
            )
    for other in (*aliases, *aliases.values()):
        if other in aliases and (_meet(spelling, parse_template(other)) or _meet(canonical, parse_template(other))):
            raise ModelError(f"alias `{source}` and alias `{other}` meet in one key", code="malformed_resource_key")


def _meet(one: Template, other: Template) -> bool:
    """Whether some key is of both templates."""
    shorter, longer = sorted((one, other), key=lambda each: len(each.parts))
    if len(shorter.parts) < len(longer.parts) and not shorter.open_ended:
        return False
    pairs = zip(one.parts, other.parts, strict=False)
    return all(isinstance(a, tuple) or isinstance(b, tuple) or a == b for a, b in pairs)


def _vocabulary(
    nodes: Nodes, aliases: dict[str, str], root: Node, problems: Problems, scales: Scales | None
) -> Vocabulary:
    types = _without_ties(nodes, problems)
    known = dict(aliases)
    while True:
        try:
            return Vocabulary(
                nodes.realm, types, nodes.actions, known, nodes.principals, nodes.resources, scales=scales
            )
        except ModelError as error:
            # The registry names the alias it refuses; each is reported once, and the rest of the file is judged on.
            culprit = next((each for each in known if f"`{each}`" in error.message), None)
            if culprit is None:
                raise
            problems.add(root.line_of("keys", "aliases", culprit), error.message, code=error.code)
            del known[culprit]


def _without_ties(nodes: Nodes, problems: Problems) -> dict[str, ResourceType]:
    kept: dict[str, ResourceType] = dict(BUILTIN_TYPES)
    for name, each in nodes.types.items():
        rival = next((other for other in kept.values() if other.key.ties_with(each.key)), None)
        if rival is None:
            kept[name] = each
        else:
            problems.add(
                nodes.line("resource_types", name),
                f"resource types `{rival.name}` and `{name}` tie: `{each.key.text}`, `{rival.key.text}`",
            )
    return {name: each for name, each in kept.items() if name not in BUILTIN_TYPES}


def _judge_nodes(nodes: Nodes, vocabulary: Vocabulary, root: Node, problems: Problems) -> None:
    for each in nodes.realm.root:
        if each not in nodes.principals:
            problems.add(
                root.line_of("root"), f"root `{each}` is not declared under `principals`", code="unknown_subject"
            )
    for name, action in nodes.actions.items():
        for field in action.fields:
            if field not in vocabulary.fields:
                line = nodes.line("actions", name)
                problems.add(line, f"action `{name}`: no resource type has a field `{field}`", code="unknown_field")
    for key in nodes.resources:
        if refusal := vocabulary.selector(key):
            problems.add_refusal(nodes.line("resources", key), refusal)
    _judge_identities(nodes, problems)
    _judge_points(nodes, problems)


def _judge_points(nodes: Nodes, problems: Problems) -> None:
    for point in nodes.points.values():
        for each in point.speaks_for:
            if WILDCARD not in each.split(":") and each not in nodes.principals:
                line = nodes.line("enforcement_points", point.id)
                problems.add(line, f"`{point.id}` speaks for `{each}`, which is not declared", code="unknown_subject")


def _judge_identities(nodes: Nodes, problems: Problems) -> None:
    owners: dict[str, str] = {}
    declared = [("principals", each.id, each.identities) for each in nodes.principals.values()]
    declared += [("enforcement_points", each.id, each.identities) for each in nodes.points.values()]
    for section, name, identities in declared:
        for identity in identities:
            owner = owners.setdefault(identity, name)
            if owner != name:
                line = nodes.line(section, name)
                problems.add(
                    line, f"identity `{identity}` is bound to `{owner}` and to `{name}`", code="already_exists"
                )
