"""Who stands behind whom in a queue: the requests around some keys, and which of them collide.

Two requests collide or not by their shapes alone, whoever makes them; a step compares each pair of shapes once, so that
a long queue for one key is not compared at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.view.ground import ground_of
from remit_service.coordination.compare import judge
from remit_service.coordination.holding import Holding, held_keys, holding_of
from remit_service.coordination.matrix import COMPATIBLE
from remit_service.coordination.overlap import leases_near
from remit_service.coordination.queue import DEFAULT_CLASS, rank, share_class, share_floor

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from remit_service.coordination.origin import Origin
    from remit_service.coordination.values import Record
    from remit_service.coordination.work import Work


def newcomer_of(
    work: Work, holdings: Sequence[Holding], requests: Sequence[Record], origin: Origin, priority: int
) -> dict[str, Any]:
    """Return a request as a waiter that has only just come.

    Args:
        work: The step.
        holdings: What it asks for.
        requests: The same, as they are to be asked again.
        origin: What else it asks for; its id, should it have to wait, and for how long it would.
        priority: Its governed priority.
    """
    declared = work.view.registry.resolve_key(holdings[0].key)
    acquisition = "FIFO" if declared is None else declared.type.acquisition
    holder = holdings[0].holder
    return {
        "id": origin.waiter_id,
        "holder": holder,
        "since": work.at,
        "revision": work.revision,
        "wait_until": work.at + origin.wait_us,
        "priority": priority,
        "acquisition": acquisition,
        "resource_key": holdings[0].key,
        "class": share_class(work, holder) if acquisition == "WEIGHTED_FAIR" else DEFAULT_CLASS,
        "floor": share_floor(work, holdings[0].key),
        "shape": " & ".join(held.shape for held in holdings),
        "claims": [_claim(held, request) for held, request in zip(holdings, requests, strict=True)],
    }


def _claim(held: Holding, request: Record) -> dict[str, Any]:
    return {
        "keys": list(held.keys),
        "mode": held.mode,
        "concurrency": held.concurrency,
        "set_operations": held.set_operations,
        "is_next": held.is_next,
        "request": request,
    }


def holdings_of(waiter: Record) -> list[Holding]:
    """Return what a waiter asks for."""
    return [holding_of({**claim, "holder": waiter["holder"]}) for claim in waiter["claims"]]


def keys_of(waiter: Record) -> list[str]:
    """Return the keys a waiter asks for."""
    return held_keys(waiter["claims"])


def still_asks(work: Work, waiter: Record) -> bool:
    """Whether a waiter may still be granted anything: it has asked lately, and its time is not up."""
    return bool(waiter["alive_until"] > work.at and waiter["wait_until"] > work.at)


def waiters_near(work: Work, keys: Iterable[str]) -> list[Record]:
    """Return the waiters at, above or below some keys, in no order."""
    index = work.view.coordination.waiters
    if not index:
        return []
    waiters = work.view.records["waiter"]
    ids = {each for key in keys for each in index.near(ground_of(work.view, key, work.at).keys)}
    return [waiters[each] for each in ids]


def collide(work: Work, one: Record, other: Record) -> bool:
    """Whether two requests stand in each other's way, whoever makes them."""
    pair = (one["shape"], other["shape"])
    known = work.collisions.get(pair)
    if known is None:
        known = any(
            judge(work.view, work.tables, mine, theirs, work.at) != COMPATIBLE
            for mine in holdings_of(one)
            for theirs in holdings_of(other)
        )
        work.collisions[pair] = known
    return known


def before(work: Work, waiter: Record, *, without: Collection[str] = ()) -> Iterator[Record]:
    """Iterate the requests of others that come before one and collide with it, in no order, but those `without`."""
    place = None
    for other in rivals(work, waiter, without=without):
        # A long queue is mostly asked about none, which needs no place.
        place = place or rank(work, waiter)
        if rank(work, other) < place:
            yield other


def after(work: Work, waiter: Record) -> Iterator[Record]:
    """Iterate the requests of others that come after one and collide with it, in no order."""
    place = rank(work, waiter)
    return (other for other in rivals(work, waiter) if rank(work, other) > place)


def rivals(work: Work, waiter: Record, *, without: Collection[str] = ()) -> Iterator[Record]:
    """Iterate the requests of others that collide with one, in no order, but those of ids `without`."""
    for other in waiters_near(work, keys_of(waiter)):
        if other["id"] in without or other["holder"] == waiter["holder"]:
            continue
        if still_asks(work, other) and collide(work, waiter, other):
            yield other


def in_the_way(work: Work, waiter: Record) -> Iterator[tuple[Record, str]]:
    """Iterate the live leases of others that a request collides with, each with the result of the comparison."""
    for held in holdings_of(waiter):
        for lease in leases_near(work.view, held, work.at):
            result = judge(work.view, work.tables, held, holding_of(lease), work.at)
            if result != COMPATIBLE:
                yield lease, result


def position(work: Work, waiter: Record) -> int:
    """Return the place of a waiter among those it collides with; 1 is next."""
    return 1 + sum(1 for _ in before(work, waiter))
