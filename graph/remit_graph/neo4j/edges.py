"""How an edge of the ledger looks in the graph: a relationship to walk, and a node for evidence to point at.

- the relationship has the type of the edge and all its properties; ended versions move to `WAS_<type>`;
- the node is `(:Edge:Grant|Delegation|Membership|Relation {edge_id, version, position})` with FROM, TO and UNDER. It is
  also what makes an edge unique: `live` is the edge id while the version is current, `position` is unique for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from remit_graph.errors import ModelError
from remit_graph.model.edge import AUTHORITY, MEMBERSHIPS, RESOURCE_EDGES, TO_SELECTOR, EdgeType
from remit_graph.neo4j.nouns import Named, principal, resource, selector
from remit_graph.neo4j.properties import OF_EDGES, digest_of, digest_of_end, flatten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from remit_graph.model.instant import Instant

Properties = dict[str, Any]
_PAIR: Final = 2

UNJOINED: Final = "Unjoined"
"""The second label of the node of an edge that joins nothing."""


class Begun(NamedTuple):
    """An edge that begins.

    Attributes:
        query: What makes it; each shape of edge has its own, and so has an edge that joins nothing.
        label: The second label of its node.
        properties: Of the relationship.
    """

    query: str
    label: str
    properties: Properties


class Ended(NamedTuple):
    """Edges that end together.

    Attributes:
        facts: What they say about their end.
        digest: What that adds to their digests.
        edges: Pairs of edge id and version.
    """

    facts: Properties
    digest: int
    edges: Sequence[tuple[str, int]]


def begun(record: Mapping[str, Any], revision: int) -> Begun:
    """Return how the edge of an `edge.begin` change begins.

    Raises:
        ModelError: the record does not say which edge it is.
    """
    edge_id, version = _checked(record.get("edge_id"), record.get("version"))
    properties = flatten(record)
    properties |= {"position": f"{edge_id}@{version}", "revision_from": revision}
    if isinstance(record.get("rests_on"), list):
        properties["rests_on_edges"] = [str(one.get("edge_id")) for one in record["rests_on"] if isinstance(one, dict)]
    properties["row_digest"] = digest_of(properties, OF_EDGES)
    if ends_of(record) is None:
        return Begun("edges_begin_unjoined", UNJOINED, properties)
    edge = EdgeType(record["edge"])
    return Begun(_query(edge), label_of(edge), properties)


def _query(edge: EdgeType) -> str:
    if edge in RESOURCE_EDGES:
        return "edges_begin_between_resources"
    return "edges_begin_to_selectors" if edge in TO_SELECTOR else "edges_begin_between_principals"


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


def ended(body: Mapping[str, Any], revision: int, at: Instant) -> Ended:
    """Return how the edges of an `edges.end` change end.

    Raises:
        ModelError: it does not list pairs of an id and a version.
    """
    facts: Properties = {"revision_to": revision, "ended_at": at}
    for member, name in (("cause", "ended_by"), ("code", "ended_code")):
        if body.get(member) is not None:
            facts[name] = body[member]
    return Ended(facts, digest_of_end(facts), pairs(body.get("edges", ())))


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
