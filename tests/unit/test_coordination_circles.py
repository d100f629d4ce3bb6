"""Circles of waits in one pass: the same holders as by following every wait, and no queue compared in pairs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.change import Change
from remit_service.coordination import deadlock
from remit_service.coordination.behind import still_asks
from remit_service.coordination.circles import in_circles
from remit_service.coordination.work import Work
from tests.model.machine import PEOPLE
from tests.model.town import Town

if TYPE_CHECKING:
    from remit_service.coordination.values import Record
    from tests.model.machine import Bench

KEYS = ("prio:1", "prio:2", "fair:1", "dead:1", "fifo:1", "doc:1", "doc:1:x", "doc:1:y")
LONG: dict[str, Any] = {"ttl": 600, "wait": 500, "keep_alive": 500}


def work_on(bench: Bench) -> Work:
    """Return a step on a bench as it stands, in which nothing was done yet."""
    return Work(bench.view, bench.tables, max(bench.at, bench.view.at))


def by_every_wait(work: Work) -> set[str]:
    """Return the holders in circles, by following each single wait."""
    asking = [each for each in work.view.records.get("waiter", {}).values() if still_asks(work, each)]
    waits_for: dict[str, set[str]] = {}
    for waiter in asking:
        waits_for.setdefault(waiter["holder"], set()).update(deadlock.blockers(work, waiter))
    return {holder for holder in waits_for if holder in _reached(waits_for, holder)}


def _reached(waits_for: dict[str, set[str]], holder: str) -> set[str]:
    found: set[str] = set()
    left = list(waits_for[holder])
    while left:
        if (each := left.pop()) not in found:
            found.add(each)
            left.extend(waits_for.get(each, ()))
    return found


@pytest.mark.feature("S70", "S72", "S77")
@pytest.mark.parametrize("seed", range(12))
def test_the_holders_in_circles_are_those_whose_waits_lead_back(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was asked for and refused, at any age, also where nobody opens what time and chance have closed."""
    chance = random.Random(seed)  # noqa: S311 - a seeded game, not a secret
    # Nothing is refused for a circle and none is opened, so that there are many.
    monkeypatch.setattr("remit_service.coordination.wait.closes_cycle", lambda *_: None)
    monkeypatch.setattr("remit_service.coordination.acquire.grant_closes_cycle", lambda *_: None)
    monkeypatch.setattr("remit_service.coordination.settle.tied", lambda *_: iter(()))
    bench = Town()
    met = 0
    for _ in range(60):
        key = chance.choice(KEYS)
        action = chance.choice(("WHOLE", "BODY", "META")) if key == "doc:1" else "WHOLE"
        bench.take(chance.choice(PEOPLE), action, key, **LONG)
        bench.tick(chance.choice((0, 1, 20)))
        expected = by_every_wait(work_on(bench))
        assert in_circles(work_on(bench)) == expected
        met += bool(expected)

    assert met


@pytest.mark.feature("S70", "S77")
def test_a_long_queue_without_a_circle_is_not_compared_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty that each hold something wait for one key: nobody is asked for whom it waits, one by one."""
    bench, people = Town(), [f"instance:n{number}" for number in range(40)]
    bench.append([Change("principal.put", {"id": each}) for each in people])
    bench.allowed |= set(people)
    bench.take("instance:d", "WHOLE", "prio:1", **LONG)
    for number, each in enumerate(people):
        bench.take(each, "WHOLE", f"fifo:{number}", **LONG)
        bench.take(each, "WHOLE", "prio:1", **LONG)
    asked: list[Record] = []
    blockers = deadlock.blockers

    def watched(work: Work, waiter: Record) -> set[str]:
        asked.append(waiter)
        return blockers(work, waiter)

    monkeypatch.setattr(deadlock, "blockers", watched)

    assert len(bench.view.coordination.entangled) == len(people)
    assert (list(deadlock.tied(work_on(bench))), asked) == ([], [])
