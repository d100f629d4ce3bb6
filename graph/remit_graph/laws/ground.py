"""What a delegation can rest on: a right to hand on, and the authority that is handed on.

- A held delegation with depth left is both: whoever holds it may hand it on.
- A MAY_DELEGATE edge is a right alone: the authority is a root grant of the delegator, or of what it acts as.

MEMBER_OF lets a principal use authority, not hand it on; so only ACTS_AS is followed from the delegator, while the
delegate may be reached over both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from remit_graph.model.edge import Edge, EdgeType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """One way a delegation may be made.

    Attributes:
        right: The MAY_DELEGATE or DELEGATES edge that `under` names.
        authority: The root grant or DELEGATES edge that is handed on; the same edge for a held delegation.
        above: Every principal that this authority came through, the delegator included.
    """

    right: Edge
    authority: Edge
    above: frozenset[str]


class Grounds(Protocol):
    """What is asked of a graph to find grounds; only live edges count."""

    def acts_as(self, principal: str) -> frozenset[str]:
        """Return the principal and all it reaches over ACTS_AS."""
        ...

    def reaches(self, principal: str) -> frozenset[str]:
        """Return the principal and all it reaches over ACTS_AS and MEMBER_OF."""
        ...

    def rights(self, delegator: str, delegate: str) -> Iterable[Edge]:
        """Return the MAY_DELEGATE edges from the one to the other, exactly."""
        ...

    def held(self, principal: str) -> Iterable[Edge]:
        """Return the DELEGATES edges to this principal, exactly."""
        ...

    def roots(self, principal: str) -> Iterable[Edge]:
        """Return the root grants from this principal, exactly."""
        ...

    def parent(self, delegation: Edge) -> Edge | None:
        """Return the edge that a delegation's `under` names, or None."""
        ...


def grounds_of(delegation: Edge, graph: Grounds, *, under: str | None = None) -> Iterator[Ground]:
    """Iterate the grounds of a delegation, held delegations first, then rights, each by edge ids.

    Args:
        delegation: Only its ends are read.
        graph: Where to look.
        under: Restricts the search to the right of this edge id; `edge_id@version` names it by a version it had.
    """
    holders = sorted(graph.acts_as(delegation.from_))
    held = sorted((each for holder in holders for each in graph.held(holder)), key=lambda each: each.edge_id)
    for each in held:
        if each.edge_id != delegation.edge_id and (under is None or is_named(each, under)):
            yield Ground(right=each, authority=each, above=principals_above(each, graph) | {delegation.from_})
    targets = sorted(graph.reaches(delegation.to))
    rights = [each for holder in holders for target in targets for each in graph.rights(holder, target)]
    roots = sorted((each for holder in holders for each in graph.roots(holder)), key=lambda each: each.edge_id)
    for right in sorted(rights, key=lambda each: each.edge_id):
        if under is None or is_named(right, under):
            for root in roots:
                yield Ground(right=right, authority=root, above=frozenset({root.from_, right.from_, delegation.from_}))


def is_named(right: Edge, under: str) -> bool:
    """Whether `under` names a right, by its id alone or by its present version or an earlier one.

    A right that is amended goes on carrying what was made under it, and `under` goes on naming the version of then.
    """
    if under in (right.edge_id, right.position):
        return True
    edge_id, _, version = under.rpartition("@")
    return edge_id == right.edge_id and version.isdecimal() and 0 < int(version) <= right.version


def principals_above(delegation: Edge, graph: Grounds) -> frozenset[str]:
    """Return every principal on the way from the root down to the delegate; ends on cycles of stored edges."""
    found: set[str] = set()
    seen: set[str] = set()
    step: Edge | None = delegation
    while step is not None and step.edge_id not in seen:
        seen.add(step.edge_id)
        found.add(step.from_)
        if step.edge is EdgeType.DELEGATES:
            found.add(step.to)
        step = graph.parent(step)
    return frozenset(found)
