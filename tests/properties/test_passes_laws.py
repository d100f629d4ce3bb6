"""What was given out carries what was asked for with it, and no longer than it counts itself (coordination.md 5)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_graph.model.change import Change
from remit_graph.model.instant import SECOND
from remit_service.coordination import command as commands
from remit_service.coordination.resting import end_what_rests_on
from tests.model.machine import GROUPS, PEOPLE, TABLES, Bench

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit_service.coordination.values import Ask, Record, Verdict

KEYS = ("fifo:1", "prio:1", "doc:1")
REVOKED = "capability_revoked"
Step = tuple[Any, ...]


class PassBench(Bench):
    """A bench whose policy looks at the capability that a request shows, and at nothing else beside the conflicts."""

    def __init__(self) -> None:
        """Know the code that says so."""
        super().__init__(tables=replace(TABLES, groups={**GROUPS, REVOKED: "capability"}))

    def judge(self, ask: Ask, at: int) -> Verdict:
        """Deny what shows a capability that is not there; bind a permit to its end."""
        verdict = super().judge(ask, at)
        shown = (ask.request.get("context") or {}).get("capability")
        if shown is None:
            return verdict
        record = self.passes().get(shown["capability_id"])
        if record is None or record["expires_at"] <= at:
            return replace(verdict, effect="deny", outcome="deny", codes=(REVOKED,), proof=())
        return replace(verdict, not_after=record["expires_at"])

    def passes(self) -> dict[str, Record]:
        """Return the capabilities that are there, by id."""
        return dict(self.view.records.get("capability", {}))

    def give_out(self, name: str, seconds: int) -> None:
        """Give a capability out, unless one of the name is or was there."""
        if name in self.passes() or self.view.coordination.spent.get(name) is not None:
            return
        ends = max(self.at, self.view.at) + seconds * SECOND
        body = {"id": name, "capability_id": name, "point": "service:gateway", "proof": [], "expires_at": ends}
        self.append([Change("capability.put", body)])

    def take_back(self, name: str) -> int | None:
        """Revoke a capability with all that follows; returns the revision, or None where there is none."""
        if name not in self.passes():
            return None
        at = max(self.at, self.view.at)
        own = [Change("capability.end", {"id": name, "state": "REVOKED", "ended_at": at})]
        more = end_what_rests_on(self.view, own, at, tables=self.tables, ask=lambda _view, ask: self.judge(ask, at))
        return self.append([*own, *more.changes])

    def take_with(self, who: str, key: str, name: str | None, wait: int) -> None:
        """Ask for a lease, with a capability or without."""
        asked = self.acquire(who, "WHOLE", key, ttl=30, wait=wait, keep_alive=60)
        if name is not None:
            context = {"capability": {"capability_id": name}}
            asked = replace(asked, requests=tuple({**each, "context": context} for each in asked.requests))
        self.run(asked)

    def resting(self) -> Iterable[tuple[Record, str]]:
        """Iterate the live leases with the capability that each was asked for with."""
        for lease in self.live():
            shown = (lease["request"].get("context") or {}).get("capability")
            if shown is not None:
                yield lease, shown["capability_id"]


NAMES = st.sampled_from(["cap_1", "cap_2", "cap_3"])
PLAYS = st.lists(
    st.one_of(
        st.tuples(st.just("give"), NAMES, st.sampled_from([5, 20, 90])),
        st.tuples(
            st.just("take"), st.sampled_from(PEOPLE), st.sampled_from(KEYS), NAMES | st.none(), st.sampled_from([0, 60])
        ),
        st.tuples(st.just("back"), NAMES),
        st.tuples(st.just("tick"), st.sampled_from([1, 4, 11, 31])),
        st.tuples(st.just("renew"), st.integers(0, 5)),
        st.just(("sweep",)),
    ),
    min_size=8,
    max_size=40,
)  # fmt: skip


def do(bench: PassBench, step: Step) -> None:
    """Carry one step out."""
    verb, *rest = step
    if verb == "give":
        bench.give_out(*rest)
    elif verb == "take":
        bench.take_with(*rest)
    elif verb == "back":
        bench.take_back(*rest)
    elif verb == "tick":
        bench.tick(*rest)
    elif verb == "sweep":
        bench.run(commands.Sweep())
    elif leases := bench.live():
        lease = leases[rest[0] % len(leases)]
        bench.run(commands.Renew(lease_id=lease["id"], holder=lease["holder"], token=lease["lease_epoch"]))


@pytest.mark.feature("S33", "S37")
@given(plan=PLAYS)
@settings(max_examples=120)
def test_no_lease_outlives_what_it_was_asked_for_with(plan: list[Step]) -> None:
    """After every step each live lease that showed a capability ends no later than it, and it is there and live."""
    bench = PassBench()
    for step in [("give", "cap_1", 90), ("take", PEOPLE[0], KEYS[0], "cap_1", 0), *plan]:
        do(bench, step)

        at = max(bench.at, bench.view.at)
        for lease, name in bench.resting():
            record = bench.passes()[name]
            assert record["expires_at"] > at
            assert lease["expires_at"] <= record["expires_at"]


@pytest.mark.feature("S33")
@given(plan=PLAYS, name=NAMES)
@settings(max_examples=120)
def test_taking_a_capability_back_ends_what_showed_it_and_nothing_else(plan: list[Step], name: str) -> None:
    """One revision: every lease and wait that showed it is gone, every other lease is as it was, token and all."""
    bench = PassBench()
    for step in [("give", name, 90), ("take", PEOPLE[0], KEYS[0], name, 0), *plan]:
        do(bench, step)
    showing = {lease["id"] for lease, each in bench.resting() if each == name}
    others = {each["id"]: each for each in bench.live() if each["id"] not in showing}

    bench.take_back(name)

    after = {each["id"]: each for each in bench.live()}
    assert not showing & set(after)
    assert {each: after.get(each) for each in others} == others
    for waiter in bench.waiters().values():
        shown = {str((each["request"].get("context") or {}).get("capability")) for each in waiter["claims"]}
        assert name not in bench.passes()
        assert str({"capability_id": name}) not in shown
    assert bench.view.coordination.shown.get(("capability", name)) is None


def test_the_index_follows_what_is_held() -> None:
    """A lease stands under what it showed while it is held, and leaves nothing behind."""
    bench = PassBench()
    bench.give_out("cap_1", 90)
    bench.take_with(PEOPLE[0], "fifo:1", "cap_1", 0)
    (lease,) = bench.live()
    assert list(bench.view.coordination.shown[("capability", "cap_1")]) == [("lease", lease["id"])]

    bench.release(lease)

    assert bench.view.coordination.shown == {}
