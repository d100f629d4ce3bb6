"""The laws of coordination.md 9, each a property by its name, over random plays of clients, clocks and operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from remit_graph.view.apply import apply_changes
from remit_graph.view.coordination.leases import fence_keys
from remit_graph.view.journal import Journal
from remit_service.coordination import command as commands
from remit_service.coordination.behind import still_asks
from remit_service.coordination.deadlock import blockers
from remit_service.coordination.machine import step as step_of_the_machine
from remit_service.coordination.queue import rank
from remit_service.coordination.values import Changed, Question, Refusal
from remit_service.coordination.work import Work
from tests.model.machine import PEOPLE, TABLES, Bench, exclusive_pairs
from tests.model.play import KEYS, Step, do, revoke, steps, takes

if TYPE_CHECKING:
    from remit_service.coordination.values import Record

LAWS = settings(max_examples=60)


def played(plan: list[Step], *, protocol: bool = False) -> Bench:
    """Return a bench after a play."""
    bench = Bench()
    for step in plan:
        do(bench, step, protocol=protocol)
    return bench


def begun(bench: Bench) -> list[tuple[int, int, Record]]:
    """Return every lease that was ever granted, with revision and instant."""
    seen: set[str] = set()
    found: list[tuple[int, int, Record]] = []
    for entry in bench.log:
        for change in entry.changes:
            if change.kind == "lease.put" and change.body["id"] not in seen:
                seen.add(change.body["id"])
                found.append((entry.revision, entry.at, change.body))
    return found


@pytest.mark.feature("S62", "S116")
@given(plan=steps())
@LAWS
def test_at_most_one_exclusive_holder(plan: list[Step]) -> None:
    """After every step, no two holders have live leases that stand in each other's way."""
    bench = Bench()
    for step in plan:
        do(bench, step)

        assert exclusive_pairs(bench) == []


@pytest.mark.feature("S65", "S116")
@given(plan=steps())
@LAWS
def test_tokens_only_grow(plan: list[Step]) -> None:
    """On every fence key each token is higher than all before it, or shared with leases that are still out."""
    last: dict[str, int] = {}
    for revision, _, lease in begun(played(plan)):
        for key, field, _ in fence_keys(lease):
            token = lease["fencing_tokens"][f"{key}#{field}"]
            raised = token == revision

            assert raised or token == last[f"{key}#{field}"]
            assert token >= last.get(f"{key}#{field}", 0)
            last[f"{key}#{field}"] = token


@pytest.mark.feature("S62", "S65")
@given(plan=steps())
@LAWS
def test_no_grant_to_the_dead(plan: list[Step]) -> None:
    """Nobody is granted anything whose wait had lapsed or whose authority was gone, and no grant is over already."""
    bench = Bench()
    for step in plan:
        asking = {
            each["holder"] for each in bench.waiters().values() if each["alive_until"] > max(bench.at, bench.view.at)
        }
        before = len(begun(bench))
        do(bench, step)
        for _, at, lease in begun(bench)[before:]:
            asked = step[0] in ("take", "both") and step[1] == lease["holder"]

            assert lease["holder"] in bench.allowed
            assert asked or lease["holder"] in asking
            assert lease["expires_at"] > at


@pytest.mark.feature("S33", "S112")
@given(plan=steps(), who=st.sampled_from(PEOPLE))
@LAWS
def test_no_permit_after_acknowledged_revocation(plan: list[Step], who: str) -> None:
    """From the revision of a revocation on nothing of the one it concerns is live, and nothing new is granted to it."""
    bench = played(plan)
    bench.allowed.add(who)
    revoke(bench, who)
    acknowledged = bench.view.revision

    assert [each for each in bench.live() if each["holder"] == who] == []
    assert [each for each in bench.waiters().values() if each["holder"] == who] == []
    for key in KEYS:
        refused = bench.take(who, "WHOLE", key)
        assert isinstance(refused, Refusal)
        assert refused.code == "no_authority"
    assert [lease for revision, _, lease in begun(bench) if revision >= acknowledged and lease["holder"] == who] == []


@pytest.mark.feature("S72", "S73")
@given(plan=steps())
@LAWS
def test_queue_order_is_deterministic(plan: list[Step]) -> None:
    """The same play gives the same log, byte for byte, and no two waiters have the same place."""
    one, other = played(plan), played(plan)

    assert [entry.changes for entry in one.log] == [entry.changes for entry in other.log]
    work = Work(one.view, TABLES, max(one.at, one.view.at))
    places = [rank(work, each) for each in one.waiters().values()]
    assert len(set(places)) == len(places)


@pytest.mark.feature("S71", "S77")
@given(plan=steps())
@LAWS
def test_every_waiter_is_served_or_told_within_its_bound(plan: list[Step]) -> None:
    """Once its time is up no wait is left, and each that began has ended in one of four ways."""
    bench = played(plan)
    names = {change.body["id"] for entry in bench.log for change in entry.changes if change.kind == "waiter.put"}
    bench.tick(700)
    bench.run(commands.Sweep())

    assert bench.waiters() == {}
    ends = {each: bench.view.coordination.left.get(each)["state"] for each in names}
    assert set(ends.values()) <= {"GRANTED", "TIMEOUT", "REFUSED", "LEFT"}


LET_IN_BEFORE: list[Step] = [
    ("take", "instance:a", "WHOLE", "prio:1", 1, 0),
    ("both", "instance:b", "fifo:1", "fair:1", 120),
    ("both", "instance:a", "fifo:1", "prio:1", 120),
    ("take", "instance:f", "WHOLE", "prio:1", 1, 5),
]
"""One who neither holds nor asks for anything comes before a waiter that holds what it asks for."""


@pytest.mark.feature("S70")
@given(plan=steps())
@example(plan=LET_IN_BEFORE)
@LAWS
def test_no_cycle_of_waits(plan: list[Step]) -> None:
    """Following who waits for whom never leads back to where it began."""
    bench = Bench()
    for step in plan:
        do(bench, step)
        waits = waits_of(bench)
        for start in waits:
            assert start not in reached(waits, start)


def waits_of(bench: Bench) -> dict[str, set[str]]:
    """Return holder to the holders it waits for."""
    work = Work(bench.view, TABLES, max(bench.at, bench.view.at))
    found: dict[str, set[str]] = {}
    for waiter in bench.waiters().values():
        if still_asks(work, waiter):
            found.setdefault(waiter["holder"], set()).update(blockers(work, waiter))
    return found


def reached(waits: dict[str, set[str]], start: str) -> set[str]:
    """Return everybody a holder waits for, however far away."""
    found: set[str] = set()
    frontier = list(waits.get(start, ()))
    while frontier:
        each = frontier.pop()
        if each not in found:
            found.add(each)
            frontier.extend(waits.get(each, ()))
    return found


@pytest.mark.feature("S62")
@given(plan=steps(), pick=st.integers(0, 7))
@LAWS
def test_release_is_idempotent(plan: list[Step], pick: int) -> None:
    """A second release changes nothing and tells how the lease ended."""
    bench = played(plan)
    live = bench.live()
    if not live:
        return
    lease = live[pick % len(live)]
    first = bench.release(lease)
    after = bench.view.revision
    second = bench.release(lease)

    assert isinstance(first, Changed)
    assert isinstance(second, Changed)
    assert first.result["released"]
    assert (second.changes, second.result["released"], second.result["state"]) == ((), False, "RELEASED")
    assert bench.view.revision == after


@pytest.mark.feature("S06", "S45")
@given(plan=steps(least=8, most=25))
@LAWS
def test_disjoint_operations_never_wait(plan: list[Step]) -> None:
    """Whoever meets nobody is granted at once, however much goes on elsewhere."""
    bench = played(plan)
    bench.run(commands.Sweep())
    work = Work(bench.view, TABLES, max(bench.at, bench.view.at))

    assert [each for each in bench.waiters().values() if still_asks(work, each) and not blockers(work, each)] == []
    bench.allowed.add(PEOPLE[0])
    granted = bench.take(PEOPLE[0], "WHOLE", "fifo:9")
    assert isinstance(granted, Changed)
    assert granted.result["decision"] is True


@pytest.mark.feature("S98", "S116")
@given(plan=steps(most=30))
@LAWS
def test_every_operation_ends_with_a_receipt(plan: list[Step]) -> None:
    """However an operation ends, it leaves one receipt in the same revision, and its leases have ended with it."""
    bench = played(plan, protocol=True)
    bench.tick(2_000)
    bench.run(commands.Sweep())
    bench.tick(2_000)
    bench.run(commands.Sweep())
    started = {c.body["id"] for entry in bench.log for c in entry.changes if c.kind == "operation.put"}

    assert bench.view.records.get("operation", {}) == {}
    assert set(bench.view.records["receipt"]) == started
    for entry in bench.log:
        ended = {change.body["id"] for change in entry.changes if change.kind == "operation.end"}
        written = {change.body["id"] for change in entry.changes if change.kind == "receipt.put"}
        assert ended == written


@pytest.mark.feature("S61")
@given(plan=steps(least=8, most=25), last=takes())
@LAWS
def test_step_is_pure(plan: list[Step], last: Step) -> None:
    """Fed with the same verdicts one by one, `step` ends where the walk ends, and leaves the view as it was."""
    bench = played(plan)
    _, who, action, key, ttl, wait = last
    command = bench.acquire(who, action, key, ttl=ttl, wait=wait)
    at = max(bench.at, bench.view.at)
    before = snapshot(bench)
    verdicts: list[Any] = []
    outcome = step_of_the_machine(bench.view, bench.tables, command, verdicts, at)
    while isinstance(outcome, Question):
        verdicts.append(answered(bench, outcome, at))
        outcome = step_of_the_machine(bench.view, bench.tables, command, verdicts, at)

    assert snapshot(bench) == before
    assert bench.run(command, keep=False) == outcome
    assert snapshot(bench) == before


def answered(bench: Bench, question: Question, at: int) -> Any:
    """Answer a question on the state with the changes it names, and take them back."""
    journal = Journal()
    apply_changes(bench.view, question.changes, journal, revision=bench.view.revision + 1, at=at)
    try:
        return bench.judge(question.ask, at)
    finally:
        journal.undo()


def snapshot(bench: Bench) -> str:
    """Return everything the view holds of coordination, as text."""
    tables = bench.view.coordination
    state: dict[str, Any] = {"records": bench.view.records, "scalars": bench.view.scalars["revision"]}
    for name, value in vars(tables).items():
        state[name] = {each: getattr(value, each) for each in value.__slots__} if hasattr(value, "__slots__") else value
    return repr(ordered(state))


def ordered(value: Any) -> Any:
    """Return a value whose text does not depend on the order of dictionaries."""
    if isinstance(value, dict):
        return sorted(((repr(key), ordered(each)) for key, each in value.items()), key=lambda pair: pair[0])
    if hasattr(value, "items") and hasattr(value, "limit"):
        return ordered(value.items)
    return value
