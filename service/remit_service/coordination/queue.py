"""Who is next: the order of a queue under each acquisition policy (coordination.md 3).

A rank is compared from its first member on: waiters past the ageing bound come before all others, oldest first; then
what the policy of the resource type orders by; then age (of one instant, the earlier revision), then id. Priority grows
with the time waited and reaches the top at the bound, so that a stream of higher priority delays nobody for longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.view.members import reached
from remit_service.coordination.priority import incident_priority

if TYPE_CHECKING:
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
    return max(int(times.get(waiter["class"], 0)), int(waiter["floor"]))


def share_floor(work: Work, key: str) -> int:
    """Return the virtual time at which a request joins a queue: a class that was idle has saved nothing up."""
    return min((work.view.coordination.fair.get(key) or {}).values(), default=0)


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
    times[name] = max(times.get(name, 0), waiter["floor"]) + SHARE // weight
    return {key: times}
