"""Who and what can be reached at all: the candidates of a search, before each is decided on its own.

Both directions leave scopes, windows and depths open, so that they leave out only what no decision could permit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.model.edge import GRANT_CLASS, MEMBERSHIPS, EdgeType

if TYPE_CHECKING:
    from collections.abc import Generator

    from remit_graph.view.ground import Ground
    from remit_graph.view.state import Edges, View

STEP: Final = 256
"""Principals that are looked at between two pauses."""

TOGETHER: Final = 1_024
"""Selectors that are put together at once, within a millisecond."""


class Roots:
    """The root grants from which some path leads down to a subject."""

    def __init__(self, view: View, subject: str, class_: str) -> None:
        """Look for whoever holds them; grants of other classes do not count."""
        self._class = class_
        self._held: list[dict[str, Edges]] = []
        found, frontier = {subject}, [subject]
        while frontier:
            principal = frontier.pop()
            if held := view.grants.get(principal):
                self._held.append(held)
            above = [edge.to for kind in MEMBERSHIPS for edge in view.outgoing(kind, principal)]
            above += [edge.from_ for edge in view.incoming(EdgeType.DELEGATES, principal)]
            for each in above:
                if each not in found:
                    found.add(each)
                    frontier.append(each)
        # Selectors of many small holders are put together; those of a large one are asked where they are.
        self._all: frozenset[str] | None = None
        if sum(len(held) for held in self._held) <= TOGETHER:
            self._all = frozenset(each for held in self._held for each in held if self._gives(held, each))

    @property
    def any(self) -> bool:
        """Whether there may be one at all."""
        return bool(self._held if self._all is None else self._all)

    def cover(self, ground: Ground) -> bool:
        """Whether one of them has a selector that covers a resource."""
        if self._all is not None:
            return not self._all.isdisjoint(ground.covering)
        return any(each in held and self._gives(held, each) for held in self._held for each in ground.covering)

    def _gives(self, held: dict[str, Edges], selector: str) -> bool:
        return any(GRANT_CLASS.get(edge.edge, self._class) == self._class for edge in held[selector].values())


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
