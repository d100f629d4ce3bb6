"""Settling a queue: the step that frees a key grants it, so that no polling can race for it (coordination.md 3).

Waiters are looked at in their order. One that is not free to go keeps its place, and whoever collides with it behind it
stays behind: nobody overtakes, and nobody waits for an operation it does not meet. Authority is decided again at the
moment of the grant; who has stopped asking is passed over and told so. Whoever leaves a queue unserved frees its place:
those around its keys are looked at too, in the same step. What one command may not ask any more, or may not raise a
second time in one revision, is left to a follow-up command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.coordination.behind import keys_of, still_asks, waiters_near
from remit_service.coordination.deadlock import tied
from remit_service.coordination.fence import Blocked
from remit_service.coordination.gate import WAITABLE, gate_of
from remit_service.coordination.grant import grant, tokens_of
from remit_service.coordination.holding import wanted
from remit_service.coordination.origin import origin_in
from remit_service.coordination.queue import after_serving, rank
from remit_service.coordination.sequence import is_turn
from remit_service.coordination.starvation import note_starvation
from remit_service.coordination.turn import Turns
from remit_service.coordination.values import Ask
from remit_service.coordination.work import Work, refuse
from remit_service.coordination.work_set import work_set_refusal

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from remit_service.coordination.gate import Gate
    from remit_service.coordination.values import Asking, Record, Refusal, Verdict


def settle(work: Work, keys: Iterable[str], looked_at: Iterable[str] = ()) -> Asking:
    """Grant what the waiters around some keys can be granted now, once no wait leads back to its holder.

    Ageing moves the order of a queue with time alone, and an incident moves it when it is declared. Without keys this
    looks only for the cycles that such a move has closed.

    Args:
        work: The step.
        keys: What became free.
        looked_at: Waiters that an earlier command has asked about and that keep their place.
    """
    settling = _Settling(work, keys, looked_at)
    while settling.goes_on:
        yield from settling.look()


class _Settling:
    """The settling of one queue: it widens with every waiter that leaves it, until a look changes nothing.

    Attributes:
        goes_on: Whether there is more to look at.
    """

    def __init__(self, work: Work, keys: Iterable[str], looked_at: Iterable[str]) -> None:
        self.work = work
        self._keys = dict.fromkeys(keys)
        self._looked_at = dict.fromkeys(looked_at)
        self.goes_on = bool(self._keys)
        if work.view.coordination.may_be_tied:
            self._untie()

    def look(self) -> Asking:
        """Go through the queue once, in its order; ends early where that order has changed."""
        work = self.work
        self.goes_on = False
        waiters = sorted(self._alive(), key=lambda each: rank(work, each))
        turns = Turns(work, waiters)
        for waiter in waiters:
            if waiter["id"] in self._looked_at:
                turns.stays(waiter)
                continue
            if not turns.may_try(waiter):
                continue
            if not work.may_ask:
                work.put_off(self._keys, self._looked_at)
                self.goes_on = False
                return
            yield from self._try(turns, waiter)
            if work.record("waiter", waiter["id"]) is None and waiter["acquisition"] == "WEIGHTED_FAIR":
                # Serving one class puts the others before it, in the queue it was served from.
                self._keys.update(dict.fromkeys(keys_of(waiter)))
                self._untie()
                self.goes_on = True
                return

    def _untie(self) -> None:
        """Where a new order has closed a cycle of waits, the youngest gives way."""
        for waiter in tied(self.work):
            self._end_unserved(waiter, refuse("deadlock_avoided", "wait"))

    def _alive(self) -> list[Record]:
        """Return the waiters around the keys that still ask; the others are told, and what they leave is looked at."""
        work = self.work
        while True:
            near = waiters_near(work, self._keys)
            lapsed = [each for each in near if not still_asks(work, each)]
            if not lapsed:
                return near
            for waiter in sorted(lapsed, key=lambda each: each["id"]):
                end_waiter(work, waiter, "TIMEOUT", code="coordination_timeout", outcome="wait")
                self._keys.update(dict.fromkeys(keys_of(waiter)))

    def _try(self, turns: Turns, waiter: Record) -> Asking:
        """Put one waiter to the policy again, and grant, end or keep it as it says."""
        work, origin = self.work, origin_in(waiter)
        gate = gate_of((yield from _verdicts(work, waiter)))
        refused = _refusal(work, gate, origin.work_set_id)
        if refused is not None:
            self._end_unserved(waiter, refused)
            return
        holdings = [
            wanted(work.view, each, waiter["mode"], work.at, is_next=is_turn(work.view, each)) for each in gate.claims
        ]
        tokens = tokens_of(work, holdings)
        if not gate.is_open or isinstance(tokens, Blocked):
            turns.stays(waiter)
            self._looked_at[waiter["id"]] = None
            if gate.is_open and isinstance(tokens, Blocked) and tokens.for_one_step:
                work.put_off(keys_of(waiter))
            return
        end_waiter(work, waiter, "GRANTED", fair=after_serving(work, waiter))
        note_starvation(work, waiter)
        grant(work, origin, gate, holdings, tokens)
        turns.went(waiter)

    def _end_unserved(self, waiter: Record, why: Refusal) -> None:
        end_waiter(self.work, waiter, "REFUSED", code=why.code, reasons=why.reasons, outcome=why.outcome)
        self._keys.update(dict.fromkeys(keys_of(waiter)))
        self.goes_on = True


def _refusal(work: Work, gate: Gate, work_set_id: str | None) -> Refusal | None:
    """Return why a wait has no end to wait for, or None."""
    if not gate.is_resolved or not (gate.is_open or gate.outcome in WAITABLE | {"preempt"}):
        return gate.refusal()
    return work_set_refusal(work, work_set_id, gate.claims)


def _verdicts(work: Work, waiter: Record) -> Generator[Ask, Verdict, list[Verdict]]:
    verdicts: list[Verdict] = []
    for claim in waiter["claims"]:
        work.questions += 1
        verdicts.append((yield Ask(request=claim["request"], phase="begin", mode=waiter["mode"])))
    return verdicts


def end_waiter(
    work: Work,
    waiter: Record,
    state: str,
    *,
    code: str | None = None,
    outcome: str | None = None,
    reasons: Sequence[Record] = (),
    fair: dict[str, dict[str, int]] | None = None,
) -> None:
    """End a wait; it can be asked about for a while afterwards."""
    body: dict[str, Any] = {
        "id": waiter["id"],
        "waiter_id": waiter["waiter_id"],
        "holder": waiter["holder"],
        "coordination_id": waiter["coordination_id"],
        "resource_key": waiter["resource_key"],
        "state": state,
        "ended_at": work.at,
    }
    told = {"code": code, "outcome": outcome, "fair": fair}
    body |= {name: value for name, value in told.items() if value}
    if reasons:
        body["reasons"] = [dict(each) for each in reasons]
    work.change("waiter.end", body)
