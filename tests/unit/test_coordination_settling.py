"""Settling a queue: nobody is overtaken, whoever leaves frees a place, and what is too much goes on afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.model.change import Change
from remit_graph.view.image import pack, unpack
from remit_service.coordination import command as commands
from remit_service.coordination.bounds import MAX_QUESTIONS
from remit_service.coordination.deadlock import blockers
from remit_service.coordination.settle import settle
from remit_service.coordination.values import Ask, Changed, Refusal
from remit_service.coordination.work import Work
from tests.model.machine import Bench

if TYPE_CHECKING:
    from remit_service.coordination.values import Record

A, B, C, D = (f"instance:{name}" for name in "abcd")


def holders(bench: Bench) -> list[tuple[str, str]]:
    """Return who holds what now."""
    return sorted((each["holder"], each["resource_key"]) for each in bench.live())


def granted(outcome: Changed | Refusal) -> Record:
    """Return the one lease that was granted."""
    assert isinstance(outcome, Changed), outcome
    lease: Record | None = outcome.result.get("lease")
    assert lease is not None, outcome
    return {**lease, "id": lease["lease_id"]}


@pytest.mark.feature("S72", "S116")
def test_nobody_overtakes_whom_it_meets_far_from_what_became_free() -> None:
    """B waits for two keys, C behind it for one of them and another; what is freed is near C alone, and C stays."""
    bench = Bench()
    held = granted(bench.take(A, "WHOLE", "fifo:1", ttl=600))
    other = granted(bench.take(A, "WHOLE", "fifo:3", ttl=600))
    bench.take(B, "WHOLE", "fifo:1", "fifo:2", wait=500, keep_alive=500)
    bench.take(C, "WHOLE", "fifo:3", "fifo:2", wait=500, keep_alive=500)
    bench.release(other)

    assert holders(bench) == [(A, "fifo:1")]
    bench.release(held)
    assert holders(bench) == [(B, "fifo:1"), (B, "fifo:2")]


@pytest.mark.feature("S65")
def test_no_two_exclusive_grants_share_a_token() -> None:
    """Two requests of one holder for one key are granted in two revisions, each with a token of its own."""
    bench = Bench()
    held = granted(bench.take(A, "WHOLE", "fifo:1", ttl=600))
    for _ in range(2):
        bench.take(B, "WHOLE", "fifo:1", wait=500, keep_alive=500)
    released = bench.release(held)

    assert isinstance(released, Changed)
    assert released.result["unfinished"] is True
    assert holders(bench) == [(B, "fifo:1")]
    bench.run(commands.Sweep())
    first, second = sorted(each["lease_epoch"] for each in bench.live())
    assert (first, second) == (bench.view.revision - 1, bench.view.revision)
    assert bench.view.records["backlog"] == {}


@pytest.mark.feature("S65")
def test_no_newcomer_shares_the_token_of_its_own_other_request() -> None:
    """Who asks again in the very step that grants its first request waits for the next revision."""
    bench = Bench()
    bench.take(A, "WHOLE", "fifo:1", ttl=5)
    bench.take(B, "WHOLE", "fifo:1", wait=500, keep_alive=500)
    bench.tick(6)
    asked = bench.take(B, "WHOLE", "fifo:1", wait=500, keep_alive=500)

    assert isinstance(asked, Changed)
    assert asked.result["decision"] is False
    bench.run(commands.Sweep())
    tokens = [each["lease_epoch"] for each in bench.live()]
    assert len(set(tokens)) == len(tokens) == 2


@pytest.mark.feature("S71")
def test_who_stops_asking_lets_those_behind_it_go_in_the_same_step() -> None:
    """B has stopped asking when the key near it is freed; C, whom it kept elsewhere, is granted in that step."""
    bench = Bench()
    held = granted(bench.take(A, "WHOLE", "fifo:1", ttl=600))
    bench.take(B, "WHOLE", "fifo:1", "fifo:2", wait=500, keep_alive=5)
    bench.take(C, "WHOLE", "fifo:2", wait=500, keep_alive=500)
    bench.tick(6)
    bench.release(held)

    assert holders(bench) == [(C, "fifo:2")]
    assert bench.waiters() == {}


@pytest.mark.feature("S71")
def test_who_is_refused_at_its_turn_lets_those_behind_it_go_in_the_same_step() -> None:
    """B has lost its authority when its turn comes; C, whom it kept on another key, is granted in that step."""
    bench = Bench()
    held = granted(bench.take(A, "WHOLE", "fifo:1", ttl=600))
    bench.take(B, "WHOLE", "fifo:1", "fifo:2", wait=500, keep_alive=500)
    bench.take(C, "WHOLE", "fifo:2", wait=500, keep_alive=500)
    bench.allowed.discard(B)
    bench.release(held)

    assert holders(bench) == [(C, "fifo:2")]


@pytest.mark.feature("S71")
def test_a_newcomer_ends_those_around_it_that_stopped_asking() -> None:
    """D asks for a key where B has stopped asking; C, whom B kept back, is granted before D."""
    bench = Bench()
    bench.take(A, "WHOLE", "fifo:1", ttl=600)
    bench.take(B, "WHOLE", "fifo:1", "fifo:2", wait=500, keep_alive=5)
    bench.take(C, "WHOLE", "fifo:2", wait=500, keep_alive=500)
    bench.tick(6)
    asked = bench.take(D, "WHOLE", "fifo:2", wait=500, keep_alive=500)

    assert isinstance(asked, Changed)
    assert holders(bench) == [(A, "fifo:1"), (C, "fifo:2")]


def crowd(bench: Bench, count: int) -> Record:
    """Let many readers wait for one writer; return the writer's lease."""
    held = granted(bench.take(A, "WHOLE", "index:1", ttl=600))
    for _ in range(count):
        bench.take(B, "READ_IT", "index:1", mode="shared", wait=500, keep_alive=500, ttl=600)
    return held


@pytest.mark.feature("S71", "S77")
def test_a_queue_longer_than_one_command_goes_on_in_the_next() -> None:
    """Three commands' worth of readers are all granted by the release and two sweeps; a fourth finds nothing."""
    bench = Bench()
    held = crowd(bench, 2 * MAX_QUESTIONS + 9)
    bench.release(held)

    left: list[int] = [len(bench.waiters())]
    for _ in range(3):
        bench.run(commands.Sweep())
        left.append(len(bench.waiters()))
    assert left == [MAX_QUESTIONS + 9, 9, 0, 0]
    assert bench.view.records["backlog"] == {}


def test_a_follow_up_does_not_ask_the_same_again() -> None:
    """Where the policy lets nobody go, every waiter is asked about once, and then there is nothing left to do."""
    bench = Bench()
    held = crowd(bench, MAX_QUESTIONS + 9)
    asked: list[str] = []
    judge = bench.judge

    def hold(ask: Ask, at: int) -> object:
        asked.append(repr(ask.request))
        verdict = judge(ask, at)
        return type(verdict)(effect="deny", outcome="hold", codes=("resource_busy",), claim=verdict.claim)

    bench.judge = hold  # type: ignore[method-assign, assignment]
    bench.release(held)
    before = bench.view.revision
    outcomes = [bench.run(commands.Sweep()) for _ in range(2)]

    assert len(asked) == MAX_QUESTIONS + 9
    assert [isinstance(each, Changed) and bool(each.result["unfinished"]) for each in outcomes] == [False, False]
    assert bench.view.revision == before + 1


def test_what_is_left_over_survives_the_process() -> None:
    """The rest of a queue is a record: an image of the view has it, and it is due at once."""
    bench = Bench()
    bench.release(crowd(bench, MAX_QUESTIONS + 9))
    bench.view = unpack(pack(bench.view))
    bench.run(commands.Sweep())

    assert bench.waiters() == {}


def test_what_a_revocation_frees_is_left_over_too() -> None:
    """A step that is not a command of its own leaves the rest of the queue to the next sweep as well."""
    bench = Bench()
    crowd(bench, MAX_QUESTIONS + 9)
    at = bench.at
    work = Work(bench.view, bench.tables, at)
    work.change("lease.end", {"id": bench.live()[0]["id"], "state": "RELEASED", "ended_at": at})
    steps = settle(work, ["index:1"])
    asked = next(steps)
    while True:
        try:
            asked = steps.send(bench.judge(asked, at))
        except StopIteration:
            break
    work.undo()
    bench.append(work.changes)
    bench.run(commands.Sweep())

    assert bench.waiters() == {}


@pytest.mark.feature("S70")
def test_a_takeover_that_would_close_a_cycle_is_refused() -> None:
    """C waits for a key of A's and one of B's; A, who waits behind C, may not take B's key over from under it."""
    bench = Bench()
    bench.join(A, "role:high")
    bench.take(D, "WHOLE", "fifo:1", ttl=600)
    bench.take(B, "WHOLE", "fifo:2", ttl=600)
    bench.take(C, "WHOLE", "fifo:1", "fifo:2", wait=500, keep_alive=500)
    bench.take(A, "WHOLE", "fifo:1", wait=500, keep_alive=500)
    taken = bench.take(A, "WHOLE", "fifo:2", preempt=True)

    assert isinstance(taken, Refusal)
    assert taken.code == "deadlock_avoided"
    assert holders(bench) == [(B, "fifo:2"), (D, "fifo:1")]


@pytest.mark.feature("S70")
def test_a_wait_that_makes_another_request_of_its_holder_wait_for_itself_is_refused() -> None:
    """C waits behind E's two keys; a second request of C that comes before E's would let E wait for C too."""
    bench = Bench()
    e = "instance:e"
    bench.take(A, "WHOLE", "prio:1", ttl=600)
    bench.take(e, "WHOLE", "fifo:2", "prio:1", wait=500, keep_alive=500)
    bench.take(C, "WHOLE", "fifo:2", wait=500, keep_alive=500)
    again = bench.take(C, "WHOLE", "prio:1", wait=500, keep_alive=500)

    assert isinstance(again, Refusal)
    assert again.code == "deadlock_avoided"


@pytest.mark.feature("S73")
def test_a_newcomer_is_placed_by_its_own_deadline() -> None:
    """By DEADLINE, who comes with a later one is behind who waits already, also while the key itself is free."""
    bench = Bench()
    held = granted(bench.take(A, "WHOLE", "fifo:1", ttl=600))
    bench.take(B, "WHOLE", "dead:1", "fifo:1", wait=60, keep_alive=500)
    later = bench.take(C, "WHOLE", "dead:1", wait=500, keep_alive=500)

    assert isinstance(later, Changed)
    assert later.result["decision"] is False
    bench.release(held)
    assert holders(bench) == [(B, "dead:1"), (B, "fifo:1")]


@pytest.mark.feature("S73")
def test_served_shares_that_close_a_cycle_end_the_youngest_wait() -> None:
    """A's first request costs its class the turn: its second comes behind C, who waits for the first, and gives way."""
    bench = Bench()
    held = granted(bench.take(D, "WHOLE", "fifo:1", ttl=600))
    bench.take(B, "WHOLE", "fifo:2", ttl=600)
    bench.take(A, "WHOLE", "fair:1", "fifo:1", wait=500, keep_alive=500)
    bench.take(C, "WHOLE", "fifo:1", wait=500, keep_alive=500)
    bench.take(A, "WHOLE", "fair:1", "fifo:2", "fifo:1", wait=500, keep_alive=500)
    bench.release(held)

    assert holders(bench) == [(A, "fair:1"), (A, "fifo:1"), (B, "fifo:2")]
    assert [each["holder"] for each in bench.waiters().values()] == [C]


@pytest.mark.feature("S65")
def test_who_waited_for_an_older_token_goes_on_when_its_holder_raises_it() -> None:
    """C stands with B and not with D, who expired under B's token; when B raises it past its own lease, C goes on."""
    bench = Bench()
    bench.take(D, "TAGS", "doc:1", ttl=5, set_operations={"add": ["x"]})
    bench.take(B, "TAGS", "doc:1", ttl=600, set_operations={"add": ["y"]})
    bench.tick(6)
    bench.run(commands.Sweep())
    blocked = bench.take(C, "TAGS", "doc:1", wait=500, keep_alive=500, set_operations={"remove": ["x"]})

    assert isinstance(blocked, Changed)
    assert blocked.result["decision"] is False
    bench.take(B, "TAGS", "doc:1", ttl=600, set_operations={"remove": ["y"]})
    bench.run(commands.Sweep())
    assert [each["holder"] for each in bench.live()] == [B, C, B]


def test_an_editor_that_touches_less_lets_others_go() -> None:
    """E edits the whole document, then its body alone: who waits to change what it no longer touches is looked at."""
    bench = Bench()
    resource = {"type": "doc", "id": "1"}
    signal: dict[str, Any] = {"actor": D, "interactive_editor": True, "last_activity": bench.at, "ttl_us": 600_000_000}
    more: dict[str, Any] = {"point": "service:gateway", "from_actor": False}
    bench.run(commands.SignalPresence(resource=resource, fields=(), **signal, **more))
    bench.take(A, "META", "doc:1", ttl=600)
    bench.take(B, "META", "doc:1", wait=500, keep_alive=500)
    bench.append([Change("lease.end", {"id": bench.live()[0]["id"], "state": "RELEASED", "ended_at": bench.at})])
    bench.run(commands.SignalPresence(resource=resource, fields=("body",), **signal, **more))

    assert holders(bench) == [(B, "doc:1")]


@pytest.mark.feature("S70")
def test_a_long_queue_is_asked_once_for_whom_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A holder of something joins a queue of a hundred: of those before it only the last is asked for whom it waits."""
    bench = Bench()
    bench.take(A, "WHOLE", "fifo:1", ttl=600)
    bench.take(B, "WHOLE", "fifo:2", ttl=600)
    people = [f"instance:queue-{number}" for number in range(100)]
    bench.append([Change("principal.put", {"id": each}) for each in people])
    bench.allowed.update(people)
    for who in people:
        bench.take(who, "WHOLE", "fifo:1", wait=500, keep_alive=500)
    asked: list[str] = []

    def counted(work: Work, waiter: Record) -> set[str]:
        asked.append(waiter["holder"])
        return blockers(work, waiter)

    monkeypatch.setattr("remit_service.coordination.deadlock.blockers", counted)
    joined = bench.take(B, "WHOLE", "fifo:1", wait=500, keep_alive=500)

    assert isinstance(joined, Changed)
    assert joined.result["position"] == 101
    assert asked == [B, people[-1]]
