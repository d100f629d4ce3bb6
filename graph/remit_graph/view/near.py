"""Near misses: complete chains that fail, and the first check each of them fails (rules.md 3).

Searched only when no chain holds, so that a deny can say what stands in the way. Liveness, scope and depth are left
open in the search and asked afterwards, in the order of `CHECKS`; the chains that came furthest come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from remit_graph.model.condition import Scales, Truth
from remit_graph.model.edge import GRANT_CLASS, MEMBERSHIPS, ROOT_GRANTS, Edge, EdgeType
from remit_graph.view.chains import Chain, Rules, search
from remit_graph.view.ownership import issuer_standing
from remit_graph.view.state import HISTORY_KEPT, View

if TYPE_CHECKING:
    from remit_graph.view.prove import Restriction
    from remit_graph.view.target import Target

MAX_NEAR_MISSES: Final = 8
MAX_EXAMINED: Final = 128
"""Complete chains that are judged; more than these are not listed."""

SLACK: Final = 4
"""How far beyond the realm's bounds a near miss may be long, so that a chain that is too long can be named."""

CHECKS: Final = (
    "principal_mismatch",
    "delegation_revoked",
    "delegation_revoked",
    "stale_authority_epoch",
    "delegation_expired",
    "delegation_not_yet_valid",
    "depth_exceeded",
    "attenuation_violated",
    "scope_not_covered",
    "condition_unknown",
    "condition_not_met",
    "stale_ownership_epoch",
)
"""In this order each chain is judged; the index is how far it came. Revoked comes twice: ended, then disabled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """A chain that fails.

    Attributes:
        chain: Its edges, root first.
        reason: Code of the first check it fails.
        rank: Place of that check in `CHECKS`; higher came further.
        failed: The edge at which it fails.
    """

    chain: Chain
    reason: str
    rank: int
    failed: Edge


def near_misses(view: View, target: Target, scales: Scales, restriction: Restriction) -> list[NearMiss]:
    """Return up to eight near misses, furthest first, then by edge ids."""
    past = _History(view, target)
    rules = Rules(
        usable=lambda edge, _below: past.counts(edge),
        roots=lambda principal, _below: past.roots(principal, target.ground.covering),
        incoming=lambda principal: past.into(EdgeType.DELEGATES, principal),
        memberships=past.memberships,
        max_depth=view.realm.max_delegation_depth + SLACK,
        max_edges=view.realm.max_chain_hops + SLACK,
        limit=MAX_EXAMINED,
    )
    chains = search(target.subject.id, rules).chains
    if restriction.proof is not None:
        chains = _shown(view, chains, target, restriction.proof, past)
    judged = [each for each in (judge(view, chain, target, scales, restriction) for chain in chains) if each]
    judged.sort(key=lambda miss: (-miss.rank, len(miss.chain.edges), miss.chain.ids))
    return judged[:MAX_NEAR_MISSES]


class _History:
    """Edges as near misses see them: current ones, and those that ended within the time history is kept."""

    def __init__(self, view: View, target: Target) -> None:
        self.view = view
        self.target = target

    def recent(self, edge: Edge) -> bool:
        return edge.ended_at is None or edge.ended_at > self.target.at - HISTORY_KEPT

    def counts(self, edge: Edge) -> bool:
        # A removed principal leaves no near miss (rules.md 5): a later one of its name is somebody else.
        known = all(each in self.view.principals for each in _principals(edge))
        # What ended by its window is told by the version that is current now, or was never anybody's refusal.
        return known and edge.ended_by not in ("removed", "amended", "replaced", "expired")

    def into(self, kind: EdgeType, principal: str) -> Iterator[Edge]:
        yield from self.view.incoming(kind, principal)
        for edge in self.view.was_into[kind].get(principal, {}).values():
            if self.recent(edge):
                yield edge

    def memberships(self, principal: str, free: bool) -> Iterator[Edge]:  # noqa: FBT001 - a callback's only flag
        for kind in (EdgeType.ACTS_AS, EdgeType.MEMBER_OF) if free else (EdgeType.ACTS_AS,):
            yield from self.view.outgoing(kind, principal)
            for edge in self.view.was_out[kind].get(principal, {}).values():
                if self.recent(edge):
                    yield edge

    def roots(self, principal: str, covering: Sequence[str]) -> Iterator[Edge]:
        held = self.view.grants.get(principal, {})
        for selector in covering:
            yield from (edge for edge in held.get(selector, {}).values() if self._root(edge))
        for selector, ended in self.view.was_grants.get(principal, {}).items():
            if self.target.under(selector):
                yield from (edge for edge in ended.values() if self.recent(edge) and self._root(edge))

    def _root(self, edge: Edge) -> bool:
        if not self.counts(edge) or any(self.target.under(each) for each in edge.except_):
            return False
        conveys = GRANT_CLASS.get(edge.edge, self.target.spec.class_) == self.target.spec.class_
        return conveys and issuer_standing(self.view, edge, self.target.at, self.target) != "none"


def _shown(view: View, chains: list[Chain], target: Target, proof: Sequence[str], past: _History) -> list[Chain]:
    """Return the one chain that was shown, joined up or not, if it begins at a root for the resource."""
    for chain in chains:
        if tuple(hop.edge_id for hop in chain.hops) == tuple(proof):
            return [chain]
    edges = [view.edges.get(each) or _last(view, each) for each in proof]
    known = [edge for edge in edges if edge is not None]
    if not known or len(known) < len(proof) or any(edge.edge is not EdgeType.DELEGATES for edge in known[1:]):
        return []
    holder = known[0].from_
    covering = [known[0].to] if target.under(known[0].to) else []
    if known[0] not in list(past.roots(holder, covering)):
        return []
    return [Chain(tuple(known))]


def _last(view: View, edge_id: str) -> Edge | None:
    ended = view.history.get(edge_id, ())
    return ended[-1] if ended else None


Check = Callable[["_Judged"], Edge | None]


@dataclass(frozen=True, slots=True)
class _Judged:
    view: View
    chain: Chain
    target: Target
    scales: Scales
    restriction: Restriction


def judge(view: View, chain: Chain, target: Target, scales: Scales, restriction: Restriction) -> NearMiss | None:
    """Return the first check that `chain` fails, or None where it passes them all."""
    judged = _Judged(view, chain, target, scales, restriction)
    for rank, (reason, check) in enumerate(zip(CHECKS, _CHECKS, strict=True)):
        failed = check(judged)
        if failed is not None:
            return NearMiss(chain=chain, reason=reason, rank=rank, failed=failed)
    return None


def _misaligned(case: _Judged) -> Edge | None:
    root = case.chain.edges[0]
    if case.restriction.on_behalf_of not in (None, root.from_):
        return root
    at = root.from_
    for edge in case.chain.edges[1:]:
        upper, lower = (edge.to, edge.from_) if edge.edge in MEMBERSHIPS else (edge.from_, edge.to)
        if upper != at:
            return edge
        at = lower
    return None if at == case.target.subject.id else case.chain.edges[-1]


def _revoked(case: _Judged) -> Edge | None:
    return next((edge for edge in case.chain.edges if edge.ended_at is not None), None)


def _disabled(case: _Judged) -> Edge | None:
    return next((edge for edge in case.chain.edges if not all(map(case.view.alive, _principals(edge)))), None)


def _principals(edge: Edge) -> tuple[str, ...]:
    return (edge.from_,) if edge.edge in ROOT_GRANTS else (edge.from_, edge.to)


def _stale(case: _Judged) -> Edge | None:
    writes = case.target.spec.writes
    return next((edge for edge in case.chain.edges if edge.epoch < case.view.minimum_epoch(edge, writes=writes)), None)


def _expired(case: _Judged) -> Edge | None:
    at = case.target.at
    return next((edge for edge in case.chain.edges if edge.valid_until is not None and edge.valid_until <= at), None)


def _not_yet(case: _Judged) -> Edge | None:
    at = case.target.at
    return next((edge for edge in case.chain.edges if edge.valid_from is not None and at < edge.valid_from), None)


def _too_deep(case: _Judged) -> Edge | None:
    hops = case.chain.hops
    for index, edge in enumerate(hops):
        if edge.max_depth is not None and edge.max_depth < len(hops) - 1 - index:
            return edge
    realm = case.view.realm
    if len(hops) - 1 > realm.max_delegation_depth:
        return hops[realm.max_delegation_depth + 1]
    return case.chain.edges[realm.max_chain_hops] if len(case.chain.edges) > realm.max_chain_hops else None


def _dimension_refusals(case: _Judged) -> Iterator[tuple[list[Edge], Callable[[Edge], bool]]]:
    """Iterate, for each dimension, the hops that name it and whether one of them covers the request there."""
    hops, target = case.chain.hops, case.target
    yield [e for e in hops if e.scope.actions is not None], lambda e: target.action in (e.scope.actions or ())
    yield [e for e in hops if e.scope.resources is not None], _covers_resource(target)
    yield [e for e in hops if e.scope.fields is not None], _covers_fields(target)
    # What the world does not declare is no narrower or wider place, but not understood: a later check.
    for name in sorted({name for edge in hops for name, _ in edge.scope.where if target.declares(name)}):
        value = target.dimension(name)
        yield [e for e in hops if name in dict(e.scope.where)], _covers_value(name, value)


def _covers_resource(target: Target) -> Callable[[Edge], bool]:
    return lambda edge: all(any(target.under(each) for each in group) for group in edge.scope.resources or ())


def _covers_fields(target: Target) -> Callable[[Edge], bool]:
    return lambda edge: bool(target.fields) and set(target.fields) <= set(edge.scope.fields or ())


def _covers_value(name: str, value: str | None) -> Callable[[Edge], bool]:
    return lambda edge: value in dict(edge.scope.where)[name]


def _wider(case: _Judged) -> Edge | None:
    """What the last edge to name a dimension covers, every earlier one that names it covers too."""
    for named, covers in _dimension_refusals(case):
        if named and covers(named[-1]):
            for edge in named[:-1]:
                if not covers(edge):
                    return edge
    return None


def _uncovered(case: _Judged) -> Edge | None:
    return next((named[-1] for named, covers in _dimension_refusals(case) if named and not covers(named[-1])), None)


def _unknown(case: _Judged) -> Edge | None:
    for edge in case.chain.hops:
        undeclared = any(not case.target.declares(name) for name, _ in edge.scope.where)
        if edge.scope.unknown or undeclared or Truth.UNKNOWN in _truths(case, edge):
            return edge
    return None


def _unmet(case: _Judged) -> Edge | None:
    return next((edge for edge in case.chain.hops if Truth.NOT_MET in _truths(case, edge)), None)


def _truths(case: _Judged, edge: Edge) -> list[Truth]:
    return [condition.truth(case.target.attribute, case.scales) for condition in edge.scope.conditions]


def _of_a_former_owner(case: _Judged) -> Edge | None:
    root = case.chain.edges[0]
    return root if issuer_standing(case.view, root, case.target.at, case.target) == "former" else None


_CHECKS: Final[tuple[Check, ...]] = (
    _misaligned, _revoked, _disabled, _stale, _expired, _not_yet, _too_deep, _wider, _uncovered, _unknown, _unmet,
    _of_a_former_owner,
)  # fmt: skip
