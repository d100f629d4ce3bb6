"""Who and what can be reached at all: the candidates of a search, before each is decided on its own.

Both directions leave scopes, windows and depths open, so that they leave out only what no decision could permit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.model.edge import GRANT_CLASS, MEMBERSHIPS, EdgeType

if TYPE_CHECKING:
    from remit_graph.view.ground import Ground
    from remit_graph.view.state import View


def root_selectors(view: View, subject: str, class_: str) -> frozenset[str]:
    """Return the selectors of the root grants from which some path leads down to `subject`."""
    found, frontier = {subject}, [subject]
    selectors: set[str] = set()
    while frontier:
        principal = frontier.pop()
        for selector, grants in view.grants.get(principal, {}).items():
            if any(GRANT_CLASS.get(edge.edge, class_) == class_ for edge in grants.values()):
                selectors.add(selector)
        above = [edge.to for kind in MEMBERSHIPS for edge in view.outgoing(kind, principal)]
        above += [edge.from_ for edge in view.incoming(EdgeType.DELEGATES, principal)]
        for each in above:
            if each not in found:
                found.add(each)
                frontier.append(each)
    return frozenset(selectors)


def reachable_subjects(view: View, ground: Ground, class_: str) -> frozenset[str]:
    """Return the principals to which some path leads down from a root grant over the resource."""
    frontier = [
        holder
        for holder, held in view.grants.items()
        for selector in ground.covering
        for edge in held.get(selector, {}).values()
        if GRANT_CLASS.get(edge.edge, class_) == class_
    ]
    found = set(frontier)
    while frontier:
        principal = frontier.pop()
        below = [edge.from_ for kind in MEMBERSHIPS for edge in view.incoming(kind, principal)]
        below += [edge.to for edge in view.outgoing(EdgeType.DELEGATES, principal)]
        for each in below:
            if each not in found:
                found.add(each)
                frontier.append(each)
    return frozenset(found)
