"""The laws of edges over a whole world, for files that are loaded and for graphs that are checked.

In order: names and shapes (`laws.vocabulary`); one owner for a field, also where two owners meet over PART_OF
(`laws.owns`); issuers of grants and rights (`laws.grant`); no circles in PART_OF and MEMBER_OF. Delegations, which are
filled in while they are judged, are the business of `resolve`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from remit_graph.laws.grant import check_grant
from remit_graph.laws.owns import check_owns, owns_overlap
from remit_graph.laws.refusal import Refusal
from remit_graph.model.edge import GRANT_CLASS, Edge, EdgeType
from remit_graph.model.key import contains
from remit_graph.world.graph import WorldGraph, cycles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from remit_graph.laws.vocabulary import Vocabulary

_RIGHTS: Final = frozenset({*GRANT_CLASS, EdgeType.MAY_DELEGATE, EdgeType.MAY_PREEMPT, EdgeType.MAY_REVOKE})
_ACYCLIC: Final = (EdgeType.PART_OF, EdgeType.MEMBER_OF)

Found = tuple[str, Refusal]
"""An edge id, and what is wrong with that edge."""


def judge(edges: Mapping[str, Edge], graph: WorldGraph, vocabulary: Vocabulary) -> Iterator[Found]:
    """Iterate what breaks a law.

    Args:
        edges: All edges by id, in the order they were written: of two that conflict, the later one is named.
        graph: The same edges, indexed.
        vocabulary: What they may name.
    """
    for edge in edges.values():
        yield from ((edge.edge_id, refusal) for refusal in vocabulary.edge(edge))
    yield from _owners(edges, graph, vocabulary)
    for edge in edges.values():
        if edge.edge in _RIGHTS:
            owned = graph.owned_by(edge.issuer)
            found = check_grant(edge, owned, vocabulary.realm.root, vocabulary.scales or {})
            yield from ((edge.edge_id, refusal) for refusal in found)
    for kind in _ACYCLIC:
        yield from _circles(kind, edges)


def _owners(edges: Mapping[str, Edge], graph: WorldGraph, vocabulary: Vocabulary) -> Iterator[Found]:
    order = {edge_id: place for place, edge_id in enumerate(edges)}
    for edge in edges.values():
        if edge.edge is EdgeType.OWNS:
            earlier = [each for each in graph.overlapping_owns(edge) if order[each.edge_id] < order[edge.edge_id]]
            found = check_owns(edge, earlier, vocabulary.realm.root)
            yield from ((edge.edge_id, refusal) for refusal in found)
    for key in vocabulary.resources:
        for field, owners in _rivals(key, graph, vocabulary):
            named = ", ".join(f"`{each.edge_id}`" for each in owners)
            refusal = Refusal(
                code="ownership_conflict",
                message=f"`{field}` of `{key}` has {len(owners)} owners: {named}",
                dimension="fields",
                offending=(field,),
                advice="one of them reaches it over PART_OF: name its fields, or `except` the part",
            )
            yield max((each.edge_id for each in owners), key=lambda edge_id: order[edge_id]), refusal


def _rivals(key: str, graph: WorldGraph, vocabulary: Vocabulary) -> Iterator[tuple[str, list[Edge]]]:
    """Iterate the managed fields of a declared resource with owners that do not overlap by segments, yet meet here."""
    ancestors = graph.ancestors(key)
    if len(ancestors) == len(key.split(":")):
        return  # It is PART_OF nothing: then owners meet by segments or not at all.
    declared = vocabulary.registry.resolve_key(key)
    owners = {each.edge_id: each for above in ancestors for each in graph.owns.containing(above)}
    reaching = [owners[each] for each in sorted(owners) if not _given_away(owners[each], ancestors)]
    for name, spec in sorted(declared.type.fields.items()) if declared is not None else ():
        mine = [each for each in reaching if each.scope.fields is None or name in each.scope.fields]
        apart = any(not owns_overlap(one, other) for one in mine for other in mine if one is not other)
        if spec.managed and apart:
            yield name, mine


def _given_away(owns: Edge, keys: Iterable[str]) -> bool:
    return any(contains(each, key) for each in owns.except_ for key in keys)


def _circles(kind: EdgeType, edges: Mapping[str, Edge]) -> Iterator[Found]:
    links: dict[str, list[str]] = defaultdict(list)
    ids: dict[tuple[str, str], str] = {}
    for edge in edges.values():
        if edge.edge is kind:
            links[edge.from_].append(edge.to)
            ids[edge.from_, edge.to] = edge.edge_id
    for circle in cycles(links):
        walk = " -> ".join(f"`{each}`" for each in [*circle, circle[0]])
        refusal = Refusal(
            code="malformed_request", message=f"{kind} runs in a circle: {walk}", advice="take one of them out"
        )
        yield ids[circle[-1], circle[0]], refusal
