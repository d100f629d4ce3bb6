"""A world's edges with the few look-ups that laws ask for."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from remit_graph.laws.owns import owns_overlap
from remit_graph.laws.selectors import Selectors
from remit_graph.model.edge import MEMBERSHIPS, ROOT_GRANTS, Edge, EdgeType
from remit_graph.model.key import contains, prefixes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class WorldGraph:
    """Indexes edges by what laws look for; `add` enters a delegation once it is known to hold.

    It is the `Grounds` of `remit_graph.laws.ground`. Windows are not judged: an edge of a world counts as live.
    """

    def __init__(self, edges: Iterable[Edge]) -> None:
        """Index `edges`; delegations are left out until they are added."""
        self.owns: Selectors[Edge] = Selectors()
        self._memberships: dict[str, list[Edge]] = defaultdict(list)
        self._rights: dict[tuple[str, str], list[Edge]] = defaultdict(list)
        self._roots: dict[str, list[Edge]] = defaultdict(list)
        self._parts: dict[str, list[str]] = defaultdict(list)
        self._held: dict[str, list[Edge]] = defaultdict(list)
        self._by_id: dict[str, Edge] = {}
        self._owners_over: dict[str, tuple[Edge, ...]] = {}
        for edge in edges:
            self._enter(edge)
        self._wholes = self._index_parts()

    def _index_parts(self) -> Selectors[tuple[str, str]]:
        """Index every part under itself and under all that it is part of, as (whole, part)."""
        wholes: Selectors[tuple[str, str]] = Selectors()
        for key in self._parts:
            for above in self.ancestors(key):
                wholes.add(above, (above, key))
        return wholes

    def _enter(self, edge: Edge) -> None:
        self._by_id[edge.edge_id] = edge
        if edge.edge in MEMBERSHIPS:
            self._memberships[edge.from_].append(edge)
        elif edge.edge is EdgeType.MAY_DELEGATE:
            self._rights[edge.from_, edge.to].append(edge)
        elif edge.edge is EdgeType.PART_OF:
            self._parts[edge.from_].append(edge.to)
        elif edge.edge in ROOT_GRANTS:
            self._roots[edge.from_].append(edge)
            if edge.edge is EdgeType.OWNS:
                self.owns.add(edge.to, edge)

    def add(self, delegation: Edge) -> None:
        """Enter a delegation that holds, so that others may rest on it."""
        self._by_id[delegation.edge_id] = delegation
        self._held[delegation.to].append(delegation)

    def acts_as(self, principal: str) -> frozenset[str]:
        """Return the principal and all it reaches over ACTS_AS."""
        return self._closure(principal, (EdgeType.ACTS_AS,))

    def reaches(self, principal: str) -> frozenset[str]:
        """Return the principal and all it reaches over ACTS_AS and MEMBER_OF."""
        return self._closure(principal, tuple(MEMBERSHIPS))

    def _closure(self, principal: str, kinds: tuple[EdgeType, ...]) -> frozenset[str]:
        found = {principal}
        open_ends = [principal]
        while open_ends:
            for edge in self._memberships.get(open_ends.pop(), ()):
                if edge.edge in kinds and edge.to not in found:
                    found.add(edge.to)
                    open_ends.append(edge.to)
        return frozenset(found)

    def rights(self, delegator: str, delegate: str) -> Iterable[Edge]:
        """Return the MAY_DELEGATE edges from the one to the other."""
        return self._rights.get((delegator, delegate), ())

    def held(self, principal: str) -> Iterable[Edge]:
        """Return the delegations to this principal that were added."""
        return self._held.get(principal, ())

    def roots(self, principal: str) -> Iterable[Edge]:
        """Return the root grants from this principal."""
        return self._roots.get(principal, ())

    def parent(self, delegation: Edge) -> Edge | None:
        """Return what a delegation's `under` names, by its edge id."""
        return None if delegation.under is None else self._by_id.get(delegation.under.rpartition("@")[0])

    def owned_by(self, principal: str) -> list[Edge]:
        """Return the OWNS edges of a principal."""
        return [each for each in self.roots(principal) if each.edge is EdgeType.OWNS]

    def overlapping_owns(self, owns: Edge) -> list[Edge]:
        """Return the other OWNS edges that claim a common resource and field."""
        return [
            each for each in self.owns.overlapping(owns.to) if each.edge_id != owns.edge_id and owns_overlap(owns, each)
        ]

    def owners_over(self, selector: str) -> tuple[Edge, ...]:
        """Return the OWNS edges over what a selector covers: by segments, and over PART_OF of declared resources.

        A selector covers the parts of what it covers, and their owners are those of all that they are part of.
        """
        if selector not in self._owners_over:
            found = {each.edge_id: each for each in self.owns.overlapping(selector)}
            for part in self._parts_of(selector):
                found.update((each.edge_id, each) for each in self.owns.overlapping(part))
                for above in self.ancestors(part):
                    found.update((each.edge_id, each) for each in self.owns.containing(above))
            self._owners_over[selector] = tuple(found[each] for each in sorted(found))
        return self._owners_over[selector]

    def _parts_of(self, selector: str) -> list[str]:
        """Return the declared parts that a selector covers, and those that it lies inside of."""
        near = self._wholes.overlapping(selector)
        return sorted({part for whole, part in near if contains(selector, whole) or contains(part, selector)})

    def ancestors(self, key: str) -> tuple[str, ...]:
        """Return the key, its prefixes, and all they are PART_OF, transitively; itself first."""
        found = dict.fromkeys(prefixes(key))
        open_ends = list(found)
        while open_ends:
            for parent in self._parts.get(open_ends.pop(), ()):
                new = [each for each in prefixes(parent) if each not in found]
                found.update(dict.fromkeys(new))
                open_ends.extend(new)
        return tuple(found)


def cycles(links: Mapping[str, Iterable[str]]) -> Iterator[list[str]]:
    """Iterate cycles of a directed graph, each from its least node on; of several that share nodes not every one."""
    state: dict[str, int] = {}
    for start in sorted(links):
        path: list[str] = []
        stack: list[tuple[str, Iterator[str]]] = [(start, iter(sorted(links[start])))] if start not in state else []
        while stack:
            node, targets = stack[-1]
            if node not in state:
                state[node] = 1
                path.append(node)
            target = next(targets, None)
            if target is None:
                state[node] = 2
                path.pop()
                stack.pop()
            elif state.get(target) == 1:
                circle = path[path.index(target) :]
                first = circle.index(min(circle))
                yield circle[first:] + circle[:first]
            elif target not in state and target in links:
                stack.append((target, iter(sorted(links[target]))))
