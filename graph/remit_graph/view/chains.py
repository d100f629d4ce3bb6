"""Proof search: the chains by which a subject may act, shortest first (model.md 5, rules.md 3).

A chain is a root grant, then DELEGATES edges with ACTS_AS between them, then any memberships down to the subject.
The search runs twice:

1. *backward* from the subject over edges that could hold, breadth first, noting how far each state is from it; a
   state is a principal, the number of delegations below it, and whether memberships may still be used;
2. *forward* from the roots that were reached, best first by (number of edges, edge ids), guided by those distances,
   so that the first chain found is the shortest and no dead end is walked.

Cost grows with the edges around the subject, never with the graph; bounds cut it, and say so. Nothing found here is
kept for another search: a branch that was cut because of a cycle would be a false 'no' there.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from remit_graph.model.edge import MEMBERSHIPS, Edge, EdgeType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from remit_graph.view.state import View

MAX_CANDIDATES: Final = 16
"""Chains handed to the policy (rules.md 3)."""

MAX_EDGE_VISITS: Final = 20_000
"""Edges one search may look at: about 20 ms; beyond it the answer is `proof_search_truncated` (F077)."""

MAX_EXPANSIONS: Final = 4_000
"""Partial chains the forward search may extend."""

State = tuple[str, int, bool]
"""Principal, delegations below it, and whether MEMBER_OF may still be used above it (only below all delegations)."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A path from a root grant to the subject; `edges` hold memberships too, root first."""

    edges: tuple[Edge, ...]

    @property
    def hops(self) -> tuple[Edge, ...]:
        """The root grant and the delegations."""
        return tuple(edge for edge in self.edges if edge.edge not in MEMBERSHIPS)

    @property
    def ids(self) -> tuple[str, ...]:
        """The positions of all edges: what orders chains of one length."""
        return tuple(edge.position for edge in self.edges)


@dataclass(slots=True)
class Found:
    """What a search brought.

    Attributes:
        chains: At most the wanted number, shortest first.
        truncated: A bound on work, or on the number of chains, cut the search.
        depth_bound_hit: A chain longer than the realm allows was left out.
    """

    chains: list[Chain] = field(default_factory=list)
    truncated: bool = False
    depth_bound_hit: bool = False


@dataclass(slots=True, kw_only=True)
class Rules:
    """Which edges one search may use.

    Attributes:
        usable: Whether a delegation or membership may stand with this many delegations after it.
        roots: The root grants a principal holds that may begin a chain, with the number of delegations below.
        incoming: The DELEGATES edges to a principal.
        memberships: The ACTS_AS and MEMBER_OF edges from a principal.
        max_depth: Delegations in a chain.
        max_edges: Edges in a chain, memberships included.
        limit: Chains wanted.
    """

    usable: Callable[[Edge, int], bool]
    roots: Callable[[str, int], Iterable[Edge]]
    incoming: Callable[[str], Iterable[Edge]]
    memberships: Callable[[str, bool], Iterable[Edge]]
    max_depth: int
    max_edges: int
    limit: int = MAX_CANDIDATES


def current_memberships(view: View) -> Callable[[str, bool], Iterable[Edge]]:
    """Return the memberships a search steps over: ACTS_AS always, MEMBER_OF only below every delegation."""
    acts_as, member_of = view.out[EdgeType.ACTS_AS], view.out[EdgeType.MEMBER_OF]

    def memberships(principal: str, free: bool) -> Iterable[Edge]:  # noqa: FBT001 - a callback's only flag
        found = tuple(acts_as[principal].values()) if principal in acts_as else ()
        if free and principal in member_of:
            return (*found, *member_of[principal].values())
        return found

    return memberships


def search(subject: str, rules: Rules) -> Found:
    """Find chains to `subject`, in order of (number of edges, edge ids)."""
    found = Found()
    backward = _backward(subject, rules, found)
    _forward(subject, rules, backward, found)
    return found


@dataclass(slots=True)
class _Backward:
    """Distances from the subject, and for each state the steps that lead back toward it."""

    distance: dict[State, int]
    toward: dict[State, list[tuple[Edge, State]]]
    beyond: set[str] = field(default_factory=set)

    @property
    def hides_somebody(self) -> bool:
        """Whether a bound kept a principal from being looked at.

        Going round a cycle ends at a bound too, but leads to nobody who was not met with fewer delegations below.
        """
        return bool(self.beyond) and not self.beyond <= {principal for principal, _, _ in self.distance}


def _backward(subject: str, rules: Rules, found: Found) -> _Backward:
    start: State = (subject, 0, True)
    result = _Backward({start: 0}, {})
    frontier = [start]
    visits = 0
    for distance in range(1, rules.max_edges):
        reached: list[State] = []
        for state in frontier:
            for edge, above in _steps(state, rules, result):
                visits += 1
                if visits > MAX_EDGE_VISITS:
                    found.truncated = True
                    return result
                result.toward.setdefault(above, []).append((edge, state))
                if above not in result.distance:
                    result.distance[above] = distance
                    reached.append(above)
        if not reached:
            break
        frontier = reached
    else:
        result.beyond.update(above[0] for state in frontier for _, above in _steps(state, rules, result))
    found.depth_bound_hit = result.hides_somebody
    return result


def _steps(state: State, rules: Rules, result: _Backward) -> Iterator[tuple[Edge, State]]:
    """Iterate the edges into `state` from one step nearer to a root."""
    principal, below, free = state
    for edge in rules.memberships(principal, free):
        if rules.usable(edge, below):
            yield edge, (edge.to, below, free)
    for edge in rules.incoming(principal):
        if rules.usable(edge, below):
            if below >= rules.max_depth:
                result.beyond.add(edge.from_)
            else:
                yield edge, (edge.from_, below + 1, False)


def _forward(subject: str, rules: Rules, backward: _Backward, found: Found) -> None:
    roots = [(root, state) for state in backward.distance for root in rules.roots(state[0], state[1])]
    if len(roots) == 1 and (only := _only_way(subject, *roots[0], backward)):
        found.chains.append(Chain(only))
        return
    heap: list[tuple[int, tuple[str, ...], int, tuple[Edge, ...], State]] = []
    for order, (root, state) in enumerate(roots):
        heapq.heappush(heap, (backward.distance[state] + 1, (root.position,), order, (root,), state))
    order = len(roots)
    expansions = 0
    while heap:
        _, ids, _, edges, state = heapq.heappop(heap)
        if state == (subject, 0, True):
            if len(found.chains) == rules.limit:
                found.truncated = True
                return
            found.chains.append(Chain(edges))
            continue
        expansions += 1
        if expansions > MAX_EXPANSIONS:
            found.truncated = True
            return
        visited = {root_holder(edges[0]), *(_lower(edge) for edge in edges[1:])}
        for edge, below in backward.toward.get(state, ()):
            length = len(edges) + 1 + backward.distance[below]
            if length <= rules.max_edges and below[0] not in visited:
                order += 1
                heapq.heappush(heap, (length, (*ids, edge.position), order, (*edges, edge), below))


def _only_way(subject: str, root: Edge, state: State, backward: _Backward) -> tuple[Edge, ...] | None:
    """Return the one chain below a root where no state on its way has a choice, which is the usual case."""
    edges = [root]
    while state != (subject, 0, True):
        ways = backward.toward[state]
        if len(ways) != 1 or len(edges) > len(backward.distance):
            return None
        edge, state = ways[0]
        edges.append(edge)
    return tuple(edges)


def root_holder(edge: Edge) -> str:
    """The principal that holds a root grant."""
    return edge.from_


def _lower(edge: Edge) -> str:
    """The end of an edge that is nearer to the subject: delegations point down, memberships point up."""
    return edge.from_ if edge.edge in MEMBERSHIPS else edge.to
