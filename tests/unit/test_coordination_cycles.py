"""Cycles of waits that no request has closed: the order of a queue moves with age, and when an incident is declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from remit_service.coordination import command as commands
from remit_service.coordination.deadlock import tied
from remit_service.coordination.values import Changed
from remit_service.coordination.work import Work
from tests.model.machine import Bench
from tests.model.town import Town
from tests.support.desk import desk_on, sqlite_in

if TYPE_CHECKING:
    from pathlib import Path

A, C, D, F = (f"instance:{name}" for name in "acdf")
LONG: dict[str, Any] = {"ttl": 600, "wait": 500, "keep_alive": 500}


def entangled(bench: Bench, later: str) -> None:
    """A holds what `later` waits for, and both wait for what D holds: A, of high priority, before `later`."""
    bench.take(A, "WHOLE", "fifo:1", **LONG)
    bench.take(D, "WHOLE", "prio:1", **LONG)
    bench.take(later, "WHOLE", "fifo:1", **LONG)
    bench.take(later, "WHOLE", "prio:1", **LONG)
    bench.tick(1)
    bench.take(A, "WHOLE", "prio:1", **LONG)


def is_tied(bench: Bench) -> bool:
    """Whether some wait leads back to its holder now."""
    return any(True for _ in tied(Work(bench.view, bench.tables, max(bench.at, bench.view.at))))


def refused(bench: Bench) -> list[tuple[str, str, str | None]]:
    """Return who was sent away from which queue, and why."""
    left = bench.view.coordination.left.items.values()
    return [(each["holder"], each["resource_key"], each.get("code")) for each in left if each["state"] == "REFUSED"]


@pytest.mark.feature("S70", "S72", "S77")
@pytest.mark.parametrize("by", ["a sweep", "a request", "a release"])
def test_ageing_closes_a_cycle_and_the_next_step_opens_it(by: str) -> None:
    """C comes before A at the ageing bound, and each waits for the other; A, the youngest, is told, and C goes on."""
    bench = Town()
    entangled(bench, C)
    assert not is_tied(bench)
    bench.tick(59.5)
    assert is_tied(bench)
    if by == "a sweep":
        bench.run(commands.Sweep())
    elif by == "a request":
        bench.take(F, "WHOLE", "doc:1:x", **LONG)
    else:
        bench.release(next(each for each in bench.live() if each["holder"] == D))

    assert not is_tied(bench)
    assert refused(bench) == [(A, "prio:1", "deadlock_avoided")]
    assert [each["holder"] for each in bench.live() if each["resource_key"] == "prio:1"] == (
        [C] if by == "a release" else [D]
    )


@pytest.mark.feature("S70", "S75")
def test_an_incident_that_closes_a_cycle_opens_it_in_its_own_revision() -> None:
    """Declared, it puts its responder before A, whom it waits for; of their two waits that of A is the younger."""
    bench = Town()
    bench.take(A, "WHOLE", "fifo:1", **LONG)
    bench.take(D, "WHOLE", "prio:1", **LONG)
    bench.take(F, "WHOLE", "fifo:1", **LONG)
    bench.take(A, "WHOLE", "prio:1", **LONG)
    bench.take(F, "WHOLE", "prio:1", **LONG)
    asked = {"subject": F, "action": "WHOLE", "key": "prio:1"}
    before = bench.view.revision
    outcome = bench.run(
        commands.DeclareIncident(
            incident_id="inc-1", actor=F, caller=None, resource=asked, severity="SEV1", status="OPEN"
        )
    )

    assert isinstance(outcome, Changed)
    assert bench.view.revision == before + 1
    assert [change.kind for change in outcome.changes] == ["incident.put", "waiter.end"]
    assert refused(bench) == [(A, "prio:1", "deadlock_avoided")]
    assert not is_tied(bench)


def test_an_order_that_never_moves_is_not_looked_at() -> None:
    """Where everybody is served as they came, time closes nothing, however entangled they are."""
    bench = Bench()
    bench.take(A, "WHOLE", "fifo:1", **LONG)
    bench.take(D, "WHOLE", "fifo:2", **LONG)
    bench.take(A, "WHOLE", "fifo:2", **LONG)

    assert list(bench.view.coordination.entangled) == [A]
    assert not bench.view.coordination.may_be_tied


@pytest.mark.feature("S70", "S77")
async def test_the_sweeper_looks_while_time_may_close_a_cycle(tmp_path: Path) -> None:
    """Nothing is over, and yet there is something to look for."""
    async with desk_on(sqlite_in(tmp_path)) as desk:
        await desk.take("instance:release-1", "WORK", "queue:fifo:1", ttl=600)
        await desk.take("instance:d", "WORK", "queue:priority:1", ttl=600)
        options: dict[str, Any] = {"wait": 500, "keep_alive": 200}
        waiting = [
            await desk.take("instance:c", "WORK", key, **options) for key in ("queue:fifo:1", "queue:priority:1")
        ]
        await desk.to(1)
        waiting.append(await desk.take("instance:release-1", "WORK", "queue:priority:1", **options))
        sweeper = desk.coordinator.sweeper
        idle = (await desk.sweep()).body["ended"]
        await desk.to(60.5)
        had_work, due = sweeper.has_work(), sweeper.due_in_seconds()
        await desk.sweep()
        told = await desk.leases.wait(waiting[2].body["waiter_id"], desk.caller)

    assert all(each.is_waiting for each in waiting)
    assert (idle, had_work, due > 0) == (0, True, True)
    assert told.code == "deadlock_avoided"
