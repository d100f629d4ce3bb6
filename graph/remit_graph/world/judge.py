"""The laws of edges over a whole world: names, ownership, issuers, structure, delegations, stamps.

Steps, each on what the one before left:

1. defaults: issuer, authority epoch, ownership epoch;
2. one id, one edge; names and shapes (`laws.vocabulary`);
3. one owner for a field (`laws.owns`), also where two owners meet over PART_OF;
4. issuers of grants and rights (`laws.grant`); what grants rest on;
5. PART_OF and MEMBER_OF have no cycles;
6. delegations, filled in (`laws.delegation`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from remit_graph.laws.delegation import Bounds
from remit_graph.laws.grant import check_grant
from remit_graph.laws.owns import check_owns, rests_on
from remit_graph.model.edge import GRANT_CLASS, Edge, EdgeType
from remit_graph.world.graph import WorldGraph, cycles
from remit_graph.world.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from remit_graph.laws.vocabulary import Vocabulary
    from remit_graph.world.edges import Draft
    from remit_graph.world.source import Problems
    from remit_graph.world.value import Epochs

_RIGHTS: Final = frozenset({*GRANT_CLASS, EdgeType.MAY_DELEGATE, EdgeType.MAY_PREEMPT, EdgeType.MAY_REVOKE})
_ACYCLIC: Final = (EdgeType.PART_OF, EdgeType.MEMBER_OF)


def judge_edges(drafts: Iterable[Draft], vocabulary: Vocabulary, epochs: Epochs, problems: Problems) -> dict[str, Edge]:
    """Return the edges of a world, filled in, by id; what breaks a law goes to `problems`."""
    by_id = _unique(drafts, problems)
    for draft in by_id.values():
        draft.edge = _with_defaults(draft, vocabulary, epochs, problems)
        for refusal in vocabulary.edge(draft.edge):
            problems.add_refusal(draft.line, refusal)
    graph = WorldGraph(each.edge for each in by_id.values() if each.edge.edge is not EdgeType.DELEGATES)
    _judge_owners(by_id, graph, vocabulary, problems)
    _judge_issuers(by_id, graph, vocabulary, problems)
    _judge_structure(by_id, problems)
    for draft in by_id.values():
        if draft.edge.edge in GRANT_CLASS and "rests_on" not in draft.stated:
            draft.edge = replace(draft.edge, rests_on=rests_on(draft.edge, graph.owners_over(draft.edge.to)))
    _judge_delegations(by_id, graph, vocabulary, problems)
    return {edge_id: by_id[edge_id].edge for edge_id in sorted(by_id)}


def _unique(drafts: Iterable[Draft], problems: Problems) -> dict[str, Draft]:
    by_id: dict[str, Draft] = {}
    for draft in drafts:
        before = by_id.setdefault(draft.edge.edge_id, draft)
        if before is not draft:
            problems.add(
                draft.line,
                f"edge id `{draft.edge.edge_id}` is taken, first on line {before.line}",
                code="already_exists",
                advice="every edge has an id of its own",
            )
    return by_id


def _with_defaults(draft: Draft, vocabulary: Vocabulary, epochs: Epochs, problems: Problems) -> Edge:
    edge = draft.edge
    issuer = edge.issuer
    if not issuer:
        roots = vocabulary.realm.root
        issuer = edge.from_ if edge.edge is EdgeType.DELEGATES else roots[0] if roots else ""
        if not issuer:
            problems.add(draft.line, f"`{edge.edge_id}` has no issuer and the realm no root", advice="declare `root`")
    epoch = edge.epoch if "epoch" in draft.stated else epochs.authority
    if epoch > epochs.authority:
        problems.add(
            draft.node.line_of("epoch"),
            f"`{edge.edge_id}` has epoch {epoch}, and the authority epoch is {epochs.authority}",
            code="stale_authority_epoch",
        )
    ownership_epoch = edge.ownership_epoch
    if edge.edge is EdgeType.OWNS and ownership_epoch is None:
        ownership_epoch = 1
    return replace(edge, issuer=issuer, epoch=epoch, ownership_epoch=ownership_epoch)


def _judge_owners(by_id: dict[str, Draft], graph: WorldGraph, vocabulary: Vocabulary, problems: Problems) -> None:
    for draft in by_id.values():
        if draft.edge.edge is EdgeType.OWNS:
            # Of two that conflict, the one written later is reported, once.
            others = [each for each in graph.overlapping_owns(draft.edge) if by_id[each.edge_id].line < draft.line]
            for refusal in check_owns(draft.edge, others, vocabulary.realm.root):
                problems.add_refusal(draft.line, refusal)
    for key in vocabulary.resources:
        for field, owners in _rival_owners(key, graph, vocabulary):
            problems.add(
                max(by_id[each.edge_id].line for each in owners),
                f"`{field}` of `{key}` has {len(owners)} owners: {', '.join(f'`{each.edge_id}`' for each in owners)}",
                code="ownership_conflict",
                advice="one of them reaches it over PART_OF: name its fields, or `except` the part",
            )


def _rival_owners(key: str, graph: WorldGraph, vocabulary: Vocabulary) -> Iterator[tuple[str, list[Edge]]]:
    """Iterate managed fields of a declared resource that several owners reach who do not overlap by segments."""
    ancestors = graph.ancestors(key)
    if len(ancestors) == len(key.split(":")):
        return
    declared = vocabulary.registry.resolve_key(key)
    owners = {each.edge_id: each for above in ancestors for each in graph.owns.containing(above)}
    excluded = set(ancestors)
    reaching = [each for each in owners.values() if excluded.isdisjoint(each.except_)]
    for name, spec in sorted(declared.type.fields.items()) if declared is not None else ():
        mine = [each for each in reaching if each.scope.fields is None or name in each.scope.fields]
        if spec.managed and len(mine) > 1 and not any(one in graph.overlapping_owns(mine[0]) for one in mine[1:]):
            yield name, sorted(mine, key=lambda each: each.edge_id)


def _judge_issuers(by_id: dict[str, Draft], graph: WorldGraph, vocabulary: Vocabulary, problems: Problems) -> None:
    for draft in by_id.values():
        if draft.edge.edge in _RIGHTS:
            owned = graph.owned_by(draft.edge.issuer)
            for refusal in check_grant(draft.edge, owned, vocabulary.realm.root, vocabulary.scales or {}):
                problems.add_refusal(draft.line, refusal)


def _judge_structure(by_id: dict[str, Draft], problems: Problems) -> None:
    for kind in _ACYCLIC:
        links: dict[str, list[str]] = defaultdict(list)
        lines: dict[str, int] = {}
        for draft in by_id.values():
            if draft.edge.edge is kind:
                links[draft.edge.from_].append(draft.edge.to)
                lines[draft.edge.from_] = draft.line
        for cycle in cycles(links):
            walk = " -> ".join(f"`{each}`" for each in [*cycle, cycle[0]])
            problems.add(
                max(lines[each] for each in cycle), f"{kind} runs in a circle: {walk}", advice="take one of them out"
            )


def _judge_delegations(by_id: dict[str, Draft], graph: WorldGraph, vocabulary: Vocabulary, problems: Problems) -> None:
    delegations = [each.edge for each in by_id.values() if each.edge.edge is EdgeType.DELEGATES]
    bounds = Bounds(
        max_depth=vocabulary.realm.max_delegation_depth,
        scales=vocabulary.scales or {},
        actions=dict(vocabulary.actions),
    )
    result = resolve(delegations, graph, bounds, lambda edge: by_id[edge.edge_id].edge.under)
    for edge_id, edge in result.held.items():
        by_id[edge_id].edge = edge
    for edge_id, refusals in result.refused.items():
        for refusal in refusals:
            node = by_id[edge_id].node
            problems.add_refusal(
                node.line_of("scope", refusal.dimension or "") if refusal.dimension else node.line, refusal
            )
