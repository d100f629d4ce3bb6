"""The owners over all that a selector covers: what a grant rests on (rules.md 4).

A selector covers the parts of what it covers, and a part's owners are those of all that it is part of. Windows are not
judged: an owner changes by transfer, never because a time has come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.laws.selectors import Selectors
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.key import contains, prefixes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from remit_graph.view.state import View


def owners_over(view: View, selector: str) -> tuple[Edge, ...]:
    """Return the current OWNS edges over what a selector covers, by segments and over PART_OF, by edge id."""
    owners: Selectors[str] = Selectors()
    for each in view.owners:
        owners.add(each, each)
    found = set(owners.overlapping(selector))
    inside = _inside(view, selector)
    beyond = _covered(view, selector, inside) - inside
    around = [each for each in prefixes(selector) if each in view.out[EdgeType.PART_OF]]
    for part in (*around, *beyond):
        if len(found) == len(view.owners):
            break
        found.update(owners.overlapping(part))
    # Whoever owns what lies inside the selector overlaps it; what those parts belong to may have other owners.
    for above in _above(view, (*around, *beyond, *inside)):
        found.update(owners.containing(above))
    edges = {edge_id: edge for each in found for edge_id, edge in view.owners[each].items()}
    return tuple(edges[each] for each in sorted(edges))


def past_owners(view: View) -> Iterator[Edge]:
    """Iterate the OWNS versions that have ended."""
    for ended in view.was_grants.values():
        for versions in ended.values():
            yield from (edge for edge in versions.values() if edge.edge is EdgeType.OWNS)


def ancestors(view: View, key: str) -> tuple[str, ...]:
    """Return the key, its prefixes, and all they are PART_OF, transitively and whenever; itself first."""
    found = dict.fromkeys(prefixes(key))
    frontier = list(found)
    while frontier:
        for edge in view.outgoing(EdgeType.PART_OF, frontier.pop()):
            new = [each for each in prefixes(edge.to) if each not in found]
            found.update(dict.fromkeys(new))
            frontier.extend(new)
    return tuple(found)


def _inside(view: View, selector: str) -> set[str]:
    """Return the parts whose key a selector covers."""
    literal = selector.partition("*")[0].rstrip(":")
    near = (part for part in view.out[EdgeType.PART_OF] if part.startswith(literal))
    return {part for part in near if contains(selector, part)}


def _covered(view: View, selector: str, inside: set[str]) -> set[str]:
    """Return the parts that a selector covers by their key, and over PART_OF, transitively."""
    parts, wholes = view.out[EdgeType.PART_OF], view.into[EdgeType.PART_OF]
    covered = set(inside)
    reached: set[str] = set()
    frontier = [each for each in wholes if contains(selector, each)]
    while frontier:
        reached.update(frontier)
        new = {edge.from_ for whole in frontier for edge in wholes[whole].values()} - covered
        covered |= new
        # What lies below a covered part is covered too, and so is what is part of that.
        below = new and {each for each in parts if any(above in new for above in prefixes(each))} - covered
        covered |= below
        frontier = [each for each in wholes if each not in reached and any(up in covered for up in prefixes(each))]
    return covered


def _above(view: View, parts: Iterable[str]) -> set[str]:
    """Return all that some parts lie under: their prefixes, and what these are PART_OF, transitively."""
    links = view.out[EdgeType.PART_OF]
    found: set[str] = set()
    frontier = set(parts)
    while frontier:
        found |= frontier
        above = {edge.to for each in frontier if each in links for edge in links[each].values()}
        frontier = {each for key in (frontier | above) for each in prefixes(key)} - found
    return found
