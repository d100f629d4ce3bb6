"""How an edge of the ledger looks in the graph: a relationship to walk, and a node for evidence to point at.

- the relationship has the type of the edge and all its properties; ended versions move to `WAS_<type>`;
- the node is `(:Edge:Grant|Delegation|Membership|Relation {edge_id, version, position})` with FROM, TO and UNDER. It is
  also what makes an edge unique: `live` is the edge id while the version is current, `position` is unique for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.edge import AUTHORITY, MEMBERSHIPS, RESOURCE_EDGES, TO_SELECTOR, EdgeType
from remit_graph.neo4j.nouns import Named, principal, resource, selector
from remit_graph.neo4j.properties import OF_EDGES, digest_of, digest_of_end, flatten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from remit_graph.model.instant import Instant

Row = dict[str, Any]
_PAIR: Final = 2


def begun(record: Mapping[str, Any], revision: int) -> Row:
    """Return the parameters that begin the edge of an `edge.begin` change.

    Raises:
        ModelError: the record does not say which edge it is.
    """
    edge_id, version = _checked(record.get("edge_id"), record.get("version"))
    properties = flatten(record)
    properties |= {"position": f"{edge_id}@{version}", "revision_from": revision}
    if isinstance(record.get("rests_on"), list):
        properties["rests_on_edges"] = [
            str(each.get("edge_id")) for each in record["rests_on"] if isinstance(each, dict)
        ]
    properties["row_digest"] = digest_of(properties, OF_EDGES)
    row: Row = {"properties": properties, "position": properties["position"], "under": record.get("under")}
    ends = ends_of(record)
    if ends is not None:
        edge = EdgeType(record["edge"])
        row |= {"edge": str(edge), "label": label_of(edge), **_end("from", ends[0]), **_end("to", ends[1])}
    return row


def ends_of(record: Mapping[str, Any]) -> tuple[Named, Named] | None:
    """Return the nodes that an edge joins, or None if its type is not known or an end is missing."""
    name, from_, to = (record.get(each) for each in ("edge", "from", "to"))
    if not isinstance(name, str) or name not in EdgeType.__members__:
        return None
    if not isinstance(from_, str) or not isinstance(to, str) or not from_ or not to:
        return None
    edge = EdgeType(name)
    if edge in RESOURCE_EDGES:
        return resource(from_), resource(to)
    return principal(from_), selector(to) if edge in TO_SELECTOR else principal(to)


def label_of(edge: EdgeType) -> str:
    """Return the second label of an edge's node."""
    if edge is EdgeType.DELEGATES:
        return "Delegation"
    if edge in AUTHORITY:
        return "Grant"
    return "Membership" if edge in MEMBERSHIPS else "Relation"


def ended(body: Mapping[str, Any], revision: int, at: Instant) -> list[Row]:
    """Return the parameters that end the edges of an `edges.end` change.

    Raises:
        ModelError: it does not list pairs of an id and a version.
    """
    facts = {"revision_to": revision, "ended_at": at}
    for member, name in (("cause", "ended_by"), ("code", "ended_code")):
        if body.get(member) is not None:
            facts[name] = body[member]
    digest = digest_of_end(facts)
    return [
        {"edge_id": edge_id, "version": version, "ended": facts, "digest": digest}
        for edge_id, version in pairs(body.get("edges", ()))
    ]


def pairs(listed: Iterable[Any]) -> list[tuple[str, int]]:
    """Return the (edge id, version) pairs of an `edges.end` change."""
    found: list[tuple[str, int]] = []
    for each in listed:
        if not isinstance(each, list | tuple) or len(each) != _PAIR:
            raise ModelError(f"`{each}` is no pair of edge id and version")
        found.append(_checked(*each))
    return found


def _checked(edge_id: Any, version: Any) -> tuple[str, int]:
    if not isinstance(edge_id, str) or not isinstance(version, int):
        raise ModelError(f"`{edge_id}`, `{version}` are no edge id and version")
    return edge_id, version


def _end(side: str, node: Named) -> Row:
    labels = [node.label] if node.label == "Selector" else [node.label, "Mentioned"]
    return {f"{side}_ref": node.ref, f"{side}_labels": labels, f"{side}_properties": dict(node.identity)}
