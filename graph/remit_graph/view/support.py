"""What carries one delegation while it is looked for what falls: its own right, another one, or its own in part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.laws.delegation import Bounds, check_delegation, reanchored
from remit_graph.laws.ground import Ground, grounds_of, principals_above
from remit_graph.laws.narrowing import narrowed
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.view.apply import right_of
from remit_graph.view.grounds import ViewGrounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View


class Support:
    """Answers on the graph as it will be, as far as that is settled.

    Attributes:
        stands: Edges by id that stand otherwise than the view has them.
    """

    def __init__(
        self,
        view: View,
        at: Instant,
        bounds: Bounds,
        *,
        ended: Mapping[str, Edge],
        pending: Mapping[str, Edge],
        amended: Mapping[str, Edge],
    ) -> None:
        """Look at `view` without what has `ended` and what is `pending`; both may grow and shrink meanwhile."""
        self.view = view
        self.bounds = bounds
        self.stands: dict[str, Edge] = dict(amended)
        self._amended = amended
        gone = _Either(ended, pending)
        self._live = ViewGrounds(view=view, at=at, without=gone, moved=self.stands)
        self._stored = ViewGrounds(view=view, at=at, without=gone, moved=self.stands, dormant=True)
        self._hopeless: set[str] = set()

    def settle(self, edge: Edge) -> None:
        """Let an edge stand as given from now on."""
        self.stands[edge.edge_id] = edge

    def begin_round(self) -> None:
        """Forget what was found out about delegators: more may carry them now."""
        self._hopeless.clear()

    def own(self, delegation: Edge) -> bool:
        """Whether the right a delegation was made under still contains it whole, as it stands."""
        return any(reanchored(delegation, [each], self.bounds) for each in self._own_grounds(delegation))

    def other(self, delegation: Edge) -> Edge | None:
        """Return the delegation under another live right that contains it whole, or None."""
        if delegation.from_ in self._hopeless:
            return None
        own = right_of(delegation.under or "")
        found = (each for each in grounds_of(delegation, self._live) if each.right.edge_id != own)
        moved = reanchored(delegation, found, self.bounds)
        if moved is None and not self._may_carry(delegation.from_):
            self._hopeless.add(delegation.from_)
        return moved

    def _may_carry(self, delegator: str) -> bool:
        """Whether a delegator holds anything at all that another of its delegations could rest on."""
        for holder in self._live.acts_as(delegator):
            if any(True for _ in self._live.held(holder)):
                return True
            if any(True for _ in self.view.outgoing(EdgeType.MAY_DELEGATE, holder)):
                return True
        return False

    def part(self, delegation: Edge) -> Edge | None:
        """Return what is left of a delegation where its right, or the grant it handed on, was narrowed; or None."""
        for ground in self._own_grounds(delegation):
            changed = ground.right.edge_id in self.stands or ground.authority.edge_id in self._amended
            if changed and self._rested_on(delegation, ground):
                cut = narrowed(delegation, ground, self.bounds)
                if cut is not None:
                    return cut
        return None

    def _rested_on(self, delegation: Edge, ground: Ground) -> bool:
        """Whether the delegation was contained in this ground before anything changed."""
        right, authority = (self.view.edges.get(each.edge_id) for each in (ground.right, ground.authority))
        if right is None or authority is None:
            # It was there when the search began, which pauses now and then.
            return False
        before = Ground(right=right, authority=authority, above=frozenset())
        return check_delegation(delegation, [before], self.bounds).edge is not None

    def _own_grounds(self, delegation: Edge) -> Iterator[Ground]:
        """Iterate the grounds of a delegation on its own right; whether they are live now does not matter."""
        right = self._stored.stands(right_of(delegation.under or ""))
        if right is None:
            return
        holders = self._stored.acts_as(delegation.from_)
        if right.edge is EdgeType.DELEGATES:
            if right.to in holders:
                above = principals_above(right, self._stored) | {delegation.from_}
                yield Ground(right=right, authority=right, above=above)
            return
        if right.from_ not in holders or right.to not in self._stored.reaches(delegation.to):
            return
        roots = (each for holder in holders for each in self._stored.roots(holder))
        for root in sorted(roots, key=lambda each: each.edge_id):
            yield Ground(right=right, authority=root, above=frozenset({root.from_, right.from_, delegation.from_}))


class _Either:
    """A set that is the union of the keys of two tables, at any moment."""

    __slots__ = ("_one", "_other")

    def __init__(self, one: Mapping[str, Edge], other: Mapping[str, Edge]) -> None:
        self._one = one
        self._other = other

    def __contains__(self, edge_id: object) -> bool:
        return edge_id in self._one or edge_id in self._other
