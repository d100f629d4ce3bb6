"""Who and what can be reached at all: the candidates of a search, before each is decided on its own.

Both directions leave scopes, windows and depths open, so that they leave out only what no decision could permit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.model.edge import GRANT_CLASS, MEMBERSHIPS, EdgeType

if TYPE_CHECKING:
    from collections.abc import Generator

    from remit_graph.view.ground import Ground
    from remit_graph.view.state import View

STEP: Final = 256
"""Principals that are looked at between two pauses."""


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


def reachable_subjects(view: View, ground: Ground, class_: str) -> Generator[None, None, frozenset[str]]:
    """Return the principals to which some path leads down from a root grant over the resource.

    A generator, since all holders of the realm are looked at: it pauses after each `STEP` of them.
    """
    covering, frontier = frozenset(ground.covering), []
    for count, (holder, held) in enumerate(list(view.grants.items()), 1):
        if count % STEP == 0:
            yield
        grants = [edge for selector in covering.intersection(held) for edge in held[selector].values()]
        if any(GRANT_CLASS.get(edge.edge, class_) == class_ for edge in grants):
            frontier.append(holder)
    found = set(frontier)
    steps = 0
    while frontier:
        principal = frontier.pop()
        below = [edge.from_ for kind in MEMBERSHIPS for edge in view.incoming(kind, principal)]
        below += [edge.to for edge in view.outgoing(EdgeType.DELEGATES, principal)]
        for each in below:
            if each not in found:
                found.add(each)
                frontier.append(each)
        steps += 1
        if steps % STEP == 0:
            yield
    return frozenset(found)
