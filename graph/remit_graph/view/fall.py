"""What falls when edges end or are narrowed: every delegation that rested on them alone (rules.md 3).

A delegation rests on a right (`under`) and on authority to hand on. Of what rests on something that ended or changed:

1. what its own right still contains whole stays as it is;
2. else what another live right of its delegator contains whole, in scope, window and depth, moves under that right;
3. else what its own right contains in part, because the right was narrowed, is cut down to that part;
4. else it ends.

What ended never revives. The result does not depend on the order in which edges are looked at: support is handed on in
rounds, each judged on what the rounds before it settled, so that nothing is carried by what falls itself, and no two
delegations carry each other.

    fallen = fall(view, [view.edges["g-1"]], at, scales)
    fallen.ended, fallen.moved, fallen.narrowed
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from remit_graph.laws.delegation import Bounds
from remit_graph.model.edge import MEMBERSHIPS, ROOT_GRANTS, Edge, EdgeType
from remit_graph.view.sorting import sorted_in_steps
from remit_graph.view.support import Support

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from remit_graph.model.condition import Scales
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View

SLICE: Final = 256
"""Delegations judged between two places where a fall that is found in slices may pause."""


@dataclass(slots=True)
class Fall:
    """What an ending takes along.

    Attributes:
        ended: Edges that end, by id and in that order: those that were named, and those that fall with them.
        moved: Delegations that stay, under another right; the version they will have.
        narrowed: Delegations that stay in part; the version they will have.
    """

    ended: dict[str, Edge] = field(default_factory=dict)
    moved: dict[str, Edge] = field(default_factory=dict)
    narrowed: dict[str, Edge] = field(default_factory=dict)

    def begun(self) -> list[Edge]:
        """Return the versions that begin, by edge id."""
        begun = self.moved | self.narrowed
        return [begun[each] for each in sorted(begun)]


def fall(view: View, named: Iterable[Edge], at: Instant, scales: Scales, *, amended: Iterable[Edge] = ()) -> Fall:
    """Return what ends when the `named` current edges end and the `amended` ones stand as given."""
    steps = falling(view, named, at, scales, amended=amended)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            found: Fall = stop.value
            return found


def falling(
    view: View, named: Iterable[Edge], at: Instant, scales: Scales, *, amended: Iterable[Edge] = ()
) -> Generator[None, None, Fall]:
    """Find the same in slices: pauses now and then, so that a large subtree holds up nobody.

    What it returns holds only if the graph did not change meanwhile; that is for the caller to look at. If it did,
    something comes of it all the same, and no error.
    """
    bounds = Bounds(max_depth=view.realm.max_delegation_depth, scales=scales, actions=view.actions)
    search = _Search(view, at, bounds, list(named), {edge.edge_id: edge for edge in amended})
    return (yield from search.run())


class _Search:
    """One search. Whoever is `pending` carries nobody; whoever is settled carries as it then stands.

    INVARIANT: no table of the view is walked across a pause, and nothing from before one is taken to be in it still.
    """

    def __init__(self, view: View, at: Instant, bounds: Bounds, named: list[Edge], amended: dict[str, Edge]) -> None:
        self.view = view
        self.result = Fall(ended={edge.edge_id: edge for edge in named})
        self.touched = [*named, *(view.edges[each] for each in sorted(amended))]
        self.pending: dict[str, Edge] = {}
        self.amended = amended
        self.support = Support(view, at, bounds, ended=self.result.ended, pending=self.pending, amended=amended)
        self.lost: set[str] = set()

    def run(self) -> Generator[None, None, Fall]:
        exposed = yield from self._exposed_at_first()
        self.pending.update(exposed)
        yield from self._add_descendants(exposed)
        while exposed:
            settled = yield from self._judge(exposed)
            exposed = yield from self._next(exposed, settled)
        self.result.ended.update(self.pending)
        # Sorted here, in steps; whoever sorts it again passes over it once.
        ids = yield from sorted_in_steps(self.result.ended)
        ended: dict[str, Edge] = {}
        for count, each in enumerate(ids, 1):
            ended[each] = self.result.ended[each]
            if count % SLICE == 0:
                yield
        self.result.ended = ended
        return self.result

    def _exposed_at_first(self) -> Generator[None, None, dict[str, Edge]]:
        """Return the delegations whose own ground is lost with what was named or amended."""
        exposed: dict[str, Edge] = {}
        for count, delegation in enumerate(self._candidates()):
            if count % SLICE == SLICE - 1:
                yield
            if delegation.edge_id not in exposed and not self.support.own(delegation):
                exposed[delegation.edge_id] = delegation
        return exposed

    def _candidates(self) -> Iterator[Edge]:
        seen: set[str] = set()
        for edge in self.touched:
            for delegation in self._resting_on(edge):
                fresh = delegation.edge_id not in seen and delegation.edge_id not in self.result.ended
                if fresh and delegation.edge_id not in self.amended:
                    seen.add(delegation.edge_id)
                    yield delegation

    def _resting_on(self, edge: Edge) -> Iterator[Edge]:
        """Iterate the current delegations that may rest on an edge."""
        yield from self._made_under(edge.edge_id)
        if edge.edge in ROOT_GRANTS or edge.edge in MEMBERSHIPS:
            for holder in self._who_acts_as(edge.from_):
                yield from self._with_a_right(self.view.outgoing(EdgeType.DELEGATES, holder))
                if edge.edge in MEMBERSHIPS:
                    yield from self._with_a_right(self.view.incoming(EdgeType.DELEGATES, holder))

    @staticmethod
    def _with_a_right(delegations: Iterable[Edge]) -> list[Edge]:
        """Leave out what was made under nothing: it came into the store past every law, and stays for `graph check`."""
        return [each for each in delegations if each.under is not None]

    def _made_under(self, edge_id: str) -> Iterator[Edge]:
        """Iterate the current delegations under a right; those that end during a pause are passed over."""
        for each in list(self.view.under.get(edge_id, ())):
            edge = self.view.edges.get(each)
            if edge is not None:
                yield edge

    def _who_acts_as(self, principal: str) -> list[str]:
        """Return the principal and all that reach it over memberships, dead ones included: they are asked anyway."""
        found, frontier = {principal}, [principal]
        while frontier:
            each = frontier.pop()
            for kind in MEMBERSHIPS:
                for edge in self.view.incoming(kind, each):
                    if edge.from_ not in found:
                        found.add(edge.from_)
                        frontier.append(edge.from_)
        return sorted(found)

    def _add_descendants(self, exposed: dict[str, Edge]) -> Generator[None, None, None]:
        frontier = list(exposed)
        count = 0
        for edge_id in frontier:
            for child in self._made_under(edge_id):
                count += 1
                if count % SLICE == 0:
                    yield
                if child.edge_id not in self.pending and child.edge_id not in self.result.ended:
                    self.pending[child.edge_id] = child
                    frontier.append(child.edge_id)

    def _judge(self, exposed: dict[str, Edge]) -> Generator[None, None, list[Edge]]:
        """Return those that stay, as they then stand, all judged on what was settled before this round."""
        settled: list[Edge] = []
        self.support.begin_round()
        ids = yield from sorted_in_steps(exposed)
        for count, edge_id in enumerate(ids):
            if count % SLICE == SLICE - 1:
                yield
            delegation = exposed[edge_id]
            table, stays = self.result.moved, self.support.other(delegation)
            if stays is None:
                table, stays = self.result.narrowed, self.support.part(delegation)
            if stays is not None:
                table[edge_id] = replace(stays, version=delegation.version + 1)
                settled.append(table[edge_id])
        return settled

    def _next(self, judged: dict[str, Edge], settled: list[Edge]) -> Generator[None, None, dict[str, Edge]]:
        """Settle, hand support down, and return who is exposed now."""
        for edge in settled:
            self._settle(edge.edge_id)
            self.support.settle(edge)
        exposed = yield from self._below_the_lost(judged)
        exposed |= yield from self._below_the_settled(settled)
        return {edge_id: edge for edge_id, edge in exposed.items() if edge_id in self.pending}

    def _below_the_lost(self, judged: dict[str, Edge]) -> Generator[None, None, dict[str, Edge]]:
        exposed: dict[str, Edge] = {}
        for edge_id in self._often(judged):
            if edge_id is None:
                yield
            elif edge_id in self.pending:
                self.lost.add(edge_id)
                for child_id in self._often(self._children(edge_id)):
                    if child_id is None:
                        yield
                    elif child_id not in self.lost:
                        exposed[child_id] = self.pending[child_id]
        return exposed

    def _below_the_settled(self, settled: list[Edge]) -> Generator[None, None, dict[str, Edge]]:
        exposed: dict[str, Edge] = {}
        frontier = list(settled)
        for edge in frontier:
            yield
            for child_id in self._often(sorted(self._children(edge.edge_id))):
                if child_id is None:
                    yield
                elif self.support.own(self.pending[child_id]):
                    frontier.append(self._settle(child_id))
                else:
                    exposed[child_id] = self.pending[child_id]
            # Whoever found nothing before may find this one now.
            exposed.update(self._may_move_under(edge))
        return exposed

    @staticmethod
    def _often(ids: Iterable[str]) -> Iterator[str | None]:
        """Iterate ids, and None wherever it is time for a pause."""
        for count, each in enumerate(ids, 1):
            yield each
            if count % SLICE == 0:
                yield None

    def _settle(self, edge_id: str) -> Edge:
        self.lost.discard(edge_id)
        return self.pending.pop(edge_id)

    def _children(self, edge_id: str) -> list[str]:
        return [each for each in self.view.under.get(edge_id, ()) if each in self.pending]

    def _may_move_under(self, edge: Edge) -> Iterator[tuple[str, Edge]]:
        if not self.lost:
            return
        for holder in self._who_acts_as(edge.to):
            for each in self.view.outgoing(EdgeType.DELEGATES, holder):
                if each.edge_id in self.lost:
                    yield each.edge_id, each
