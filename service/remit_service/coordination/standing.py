"""Who may end what is another's: a right in the graph, never being human or being in a hurry (F066)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.model.edge import EdgeType
from remit_graph.view.members import reached

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View


def may_end(view: View, actor: str, holder: str, at: Instant) -> bool:
    """Whether `actor` may end leases of `holder`: a root, the holder itself, or a live MAY_REVOKE over it or above it.

    MAY_REVOKE reaches its target and all below it: what acts as the target or belongs to it, and whoever a delegation
    comes down to from there.
    """
    if not view.alive(actor):
        return False
    if actor == holder:
        return True
    voices = [actor, *reached(view, actor, at, writes=True)]
    if any(view.is_root(each) for each in acting_as(view, actor, at)):
        return True
    above = _above(view, holder, at)
    for voice in voices:
        for edge in view.outgoing(EdgeType.MAY_REVOKE, voice):
            fresh = edge.epoch >= view.minimum_epoch(edge, writes=True)
            if edge.to in above and edge.is_live(at) and fresh and view.alive(edge.to):
                return True
    return False


def acting_as(view: View, actor: str, at: Instant) -> list[str]:
    """The principal and what it ACTS_AS: root is never reached over MEMBER_OF (rules.md 5)."""
    found = [actor]
    for each in found:
        for edge in view.outgoing(EdgeType.ACTS_AS, each):
            fresh = edge.epoch >= view.minimum_epoch(edge, writes=True)
            if edge.is_live(at) and fresh and view.alive(edge.to) and edge.to not in found:
                found.append(edge.to)
    return found


def _above(view: View, holder: str, at: Instant) -> set[str]:
    """Return the holder, all it acts as or belongs to, and every delegator above any of them."""
    found = {holder, *reached(view, holder, at, writes=True)}
    frontier = list(found)
    while frontier:
        each = frontier.pop()
        for edge in view.incoming(EdgeType.DELEGATES, each):
            if edge.is_live(at):
                more = {edge.from_, *reached(view, edge.from_, at, writes=True)} - found
                found |= more
                frontier.extend(more)
    return found
