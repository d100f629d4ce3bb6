"""Who waits in a circle: found in one pass, however long the queues are.

Each request of a queue waits for all before it that it collides with: of a thousand, half a million pairs. Requests of
one shape collide with the same ones, so the pairs need not be written down. Here a request waits for a *place* in the
queue of each shape it collides with, and a place for the one who stands there and for the place before it.

    a request of F, third of its shape  ->  place 2  ->  E, and place 1  ->  D

Who is reached from himself by way of somebody else is in a circle: the strongly connected parts of that graph that have
two holders or more. That somebody comes behind an own request of the same queue leads to nobody else by itself.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice
from typing import TYPE_CHECKING

from remit_service.coordination.behind import collide, in_the_way, keys_of, still_asks, waiters_near
from remit_service.coordination.queue import rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from remit_service.coordination.queue import Rank
    from remit_service.coordination.values import Record
    from remit_service.coordination.work import Work

Place = tuple[str, int]
"""A shape, and how many requests of it stand up to there."""

Node = str | Place


def in_circles(work: Work) -> set[str]:
    """Return the holders whose requests lead back to themselves by way of others.

    In each is somebody entangled: without a lease in it, all would wait for one who comes before, up to the first.
    """
    found: set[str] = set()
    for part in _Parts(_Waits(work)).of(work.view.coordination.entangled):
        holders = {each for each in part if isinstance(each, str)}
        if len(holders) > 1:
            found |= holders
    return found


class _Waits:
    """Who waits for whom, looked up as far as it is asked about."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._waiting, self._waiters = work.view.coordination.waiting, work.view.records.get("waiter", {})
        self._ranks: dict[str, Rank] = {}
        self._queues: dict[str, list[Record]] = {}
        self._before: dict[str, tuple[set[str], list[str]]] = {}

    def of(self, node: Node) -> Iterator[Node]:
        """Iterate what a node waits for."""
        if isinstance(node, str):
            for each in self._waiting.get(node, ()):
                if still_asks(self._work, waiter := self._waiters[each]):
                    yield from self._of_request(waiter)
            return
        shape, count = node
        yield self._queues[shape][count - 1]["holder"]
        if count > 1:
            yield (shape, count - 1)

    def _of_request(self, waiter: Record) -> Iterator[Node]:
        holding, shapes = self._in_the_way(waiter)
        yield from holding - {waiter["holder"]}
        for shape in shapes:
            count = bisect_left(self._queues[shape], self._rank(waiter), key=self._rank)
            if count:
                yield (shape, count)

    def _rank(self, waiter: Record) -> Rank:
        known = self._ranks.get(waiter["id"])
        if known is None:
            known = self._ranks[waiter["id"]] = rank(self._work, waiter)
        return known

    def _in_the_way(self, waiter: Record) -> tuple[set[str], list[str]]:
        """Return who holds what the shape of a request collides with, and the shapes that it collides with."""
        known = self._before.get(waiter["shape"])
        if known is None:
            near: dict[str, list[Record]] = {}
            for each in waiters_near(self._work, keys_of(waiter)):
                if still_asks(self._work, each):
                    near.setdefault(each["shape"], []).append(each)
            shapes = [shape for shape, queue in near.items() if collide(self._work, waiter, queue[0])]
            for shape in shapes:
                # Whoever is near one request of a shape is near all of them: they are for the same keys.
                if shape not in self._queues:
                    self._queues[shape] = sorted(near[shape], key=self._rank)
            known = self._before[waiter["shape"]] = self._holding(near[waiter["shape"]]), shapes
        return known

    def _holding(self, queue: list[Record]) -> set[str]:
        # Nobody is in his own way, so that one alone does not see all leases; two do.
        two = islice({each["holder"]: each for each in queue}.values(), 2)
        return {lease["holder"] for one in two for lease, _ in in_the_way(self._work, one)} & self._waiting.keys()


class _Parts:
    """The strongly connected parts (Tarjan, 1972), without recursion: queues may be long."""

    def __init__(self, waits: _Waits) -> None:
        self._waits = waits
        self._number: dict[Node, int] = {}
        self._lowest: dict[Node, int] = {}
        self._open: dict[Node, None] = {}
        self._path: list[tuple[Node, Iterator[Node]]] = []

    def of(self, holders: Iterable[str]) -> Iterator[set[Node]]:
        """Iterate the parts that can be reached from some holders."""
        for holder in holders:
            if holder not in self._number:
                self._enter(holder)
                yield from self._explored()

    def _enter(self, node: Node) -> None:
        self._number[node] = self._lowest[node] = len(self._number)
        self._open[node] = None
        self._path.append((node, self._waits.of(node)))

    def _explored(self) -> Iterator[set[Node]]:
        while self._path:
            node, others = self._path[-1]
            other = next(others, None)
            if other is None:
                self._path.pop()
                if self._path:
                    self._reach(self._path[-1][0], self._lowest[node])
                if self._lowest[node] == self._number[node]:
                    yield self._closed(node)
            elif other not in self._number:
                self._enter(other)
            elif other in self._open:
                self._reach(node, self._number[other])

    def _reach(self, node: Node, number: int) -> None:
        self._lowest[node] = min(self._lowest[node], number)

    def _closed(self, node: Node) -> set[Node]:
        """Take what was entered since a node from what is open."""
        part: set[Node] = set()
        while node not in part:
            part.add(self._open.popitem()[0])
        return part
