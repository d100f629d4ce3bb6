"""Who is next: the order of a queue under each acquisition policy (coordination.md 3).

A rank is compared from its first member on: waiters past the ageing bound come before all others, oldest first; then
what the policy of the resource type orders by; then age (of one instant, the earlier revision), then id. Priority grows
with the time waited and reaches the top at the bound, so that a stream of higher priority delays nobody for longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.view.ground import ground_of
from remit_graph.view.members import reached
from remit_service.coordination.compare import judge
from remit_service.coordination.holding import Holding, holding_of
from remit_service.coordination.matrix import COMPATIBLE
from remit_service.coordination.priority import incident_priority

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from remit_service.coordination.tables import Tables
    from remit_service.coordination.values import Record
    from remit_service.coordination.work import Work

Rank = tuple[int, int, int, int, str]

AGED: Final = 0
IN_TURN: Final = 1
SHARE: Final = 1_000_000
"""Virtual time that one grant costs a class of weight 1."""

DEFAULT_CLASS: Final = "default"


def rank(work: Work, waiter: Record) -> Rank:
    """Return the place of a waiter, lowest first."""
    since, age = waiter["since"], work.at - waiter["since"]
    if age >= work.tables.ageing_us:
        return (AGED, 0, since, waiter["revision"], waiter["id"])
    return (IN_TURN, _ORDERS[waiter["acquisition"]](work, waiter, age), since, waiter["revision"], waiter["id"])


def _first_come(_work: Work, _waiter: Record, _age: int) -> int:
    return 0


def _by_priority(work: Work, waiter: Record, age: int) -> int:
    return -_aged(work.tables, max(waiter["priority"], _incident(work, waiter)), age)


def _by_incident(work: Work, waiter: Record, age: int) -> int:
    return -_aged(work.tables, _incident(work, waiter), age)


def _by_deadline(_work: Work, waiter: Record, _age: int) -> int:
    return int(waiter["wait_until"])


def _by_share(work: Work, waiter: Record, _age: int) -> int:
    times = work.view.coordination.fair.get(waiter["resource_key"]) or {}
    return times.get(waiter["class"], min(times.values(), default=0))


_ORDERS: Final = {
    "FIFO": _first_come,
    "PRIORITY": _by_priority,
    "INCIDENT_PREEMPTIVE": _by_incident,
    "DEADLINE": _by_deadline,
    "WEIGHTED_FAIR": _by_share,
}


def _aged(tables: Tables, priority: int, age: int) -> int:
    return priority + max(tables.top_priority - priority, 0) * age // tables.ageing_us


def _incident(work: Work, waiter: Record) -> int:
    """An incident that was declared while a request waits counts for it from then on."""
    if not work.view.coordination.incidents:
        return 0
    roles = [waiter["holder"], *reached(work.view, waiter["holder"], work.at, writes=True)]
    return incident_priority(work.view, work.tables, roles, waiter["resource_key"], work.at)


def share_class(work: Work, principal: str) -> str:
    """Return the role by whose share a principal is served: of those with a weight, the heaviest."""
    roles = [principal, *reached(work.view, principal, work.at, writes=True)]
    weighted = [(work.tables.weights[each], each) for each in roles if each in work.tables.weights]
    return max(weighted)[1] if weighted else DEFAULT_CLASS


def after_serving(work: Work, waiter: Record) -> dict[str, dict[str, int]]:
    """Return the virtual times of a WEIGHTED_FAIR queue once this waiter was served."""
    if waiter["acquisition"] != "WEIGHTED_FAIR":
        return {}
    key, name = waiter["resource_key"], waiter["class"]
    times = dict(work.view.coordination.fair.get(key) or {})
    weight = max(work.tables.weights.get(name, work.tables.default_weight), 1)
    times[name] = times.get(name, min(times.values(), default=0)) + SHARE // weight
    return {key: times}


def waiters_near(work: Work, keys: Iterable[str]) -> list[Record]:
    """Return the waiters at, above or below some keys, in no order."""
    index = work.view.coordination.waiters
    if not index:
        return []
    waiters = work.view.records["waiter"]
    ids = {each for key in keys for each in index.near(ground_of(work.view, key, work.at).keys)}
    return [waiters[each] for each in ids]


def still_asks(work: Work, waiter: Record) -> bool:
    """Whether a waiter may still be granted anything: it has asked lately, and its time is not up."""
    return bool(waiter["alive_until"] > work.at and waiter["wait_until"] > work.at)


def holdings_of(waiter: Record) -> list[Holding]:
    """Return what a waiter asks for."""
    return [holding_of({**claim, "holder": waiter["holder"]}) for claim in waiter["claims"]]


def collide(work: Work, mine: Sequence[Holding], theirs: Sequence[Holding]) -> bool:
    """Whether any of two requests' holdings stand in each other's way."""
    return any(judge(work.view, work.tables, one, other, work.at) != COMPATIBLE for one in mine for other in theirs)


def ahead_of(work: Work, holdings: Sequence[Holding], newcomer: Record) -> list[str]:
    """Return a waiter that comes before a newcomer and stands in its way, as a list of ids; empty where none does."""
    place = rank(work, newcomer)
    for waiter in waiters_near(work, [entry["key"] for held in holdings for entry in held.keys]):
        if waiter["holder"] == newcomer["holder"] or not still_asks(work, waiter) or rank(work, waiter) > place:
            continue
        if collide(work, holdings, holdings_of(waiter)):
            return [waiter["id"]]
    return []


def position(work: Work, waiter: Record) -> int:
    """Return the place of a waiter among those it can collide with, 1 is next."""
    mine, place = holdings_of(waiter), rank(work, waiter)
    near = waiters_near(work, [entry["key"] for held in mine for entry in held.keys])
    before = [
        each for each in near if each["id"] != waiter["id"] and still_asks(work, each) and rank(work, each) < place
    ]
    return 1 + sum(collide(work, mine, holdings_of(each)) for each in before)


def newcomer_of(work: Work, holdings: Sequence[Holding], origin: Any, priority: int, type_name: str) -> dict[str, Any]:
    """Return a request as a waiter that has only just come."""
    declared = work.view.types[type_name]
    waits_fairly = declared.acquisition == "WEIGHTED_FAIR"
    return {
        "id": origin.waiter_id,
        "holder": holdings[0].holder,
        "since": work.at,
        "revision": work.revision,
        "wait_until": work.at,
        "priority": priority,
        "acquisition": declared.acquisition,
        "resource_key": holdings[0].key,
        "class": share_class(work, holdings[0].holder) if waits_fairly else DEFAULT_CLASS,
    }
