"""Settling a queue: the step that frees a key grants it, so that no polling can race for it (coordination.md 3).

Waiters are looked at in their order. One that is not free to go keeps its place, and whoever collides with it behind it
stays behind: nobody overtakes, and nobody waits for an operation it does not meet. Authority is decided again at the
moment of the grant; who has stopped asking is passed over and told so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.coordination.behind import collide, in_the_way, still_asks, waiters_near
from remit_service.coordination.fence import Blocked
from remit_service.coordination.gate import WAITABLE, gate_of
from remit_service.coordination.grant import grant, tokens_of
from remit_service.coordination.holding import wanted
from remit_service.coordination.origin import origin_in
from remit_service.coordination.queue import after_serving, rank
from remit_service.coordination.sequence import is_turn
from remit_service.coordination.starvation import note_starvation
from remit_service.coordination.values import Ask
from remit_service.coordination.wait import rests_until
from remit_service.coordination.work_set import work_set_refusal

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from remit_service.coordination.values import Asking, Record, Verdict
    from remit_service.coordination.work import Work


def settle(work: Work, keys: Iterable[str]) -> Asking:
    """Grant what the waiters around some keys can be granted now."""
    near = waiters_near(work, dict.fromkeys(keys))
    for waiter in sorted(near, key=lambda each: each["id"]):
        if not still_asks(work, waiter):
            end_waiter(work, waiter, "TIMEOUT", code="coordination_timeout", outcome="wait")
    queue = _Queue(work)
    for waiter in sorted((each for each in near if still_asks(work, each)), key=lambda each: rank(work, each)):
        if not queue.may_try(waiter):
            continue
        if not work.may_ask:
            work.is_unfinished = True
            return
        yield from _try(work, queue, waiter)


def _try(work: Work, queue: _Queue, waiter: Record) -> Asking:
    """Put one waiter to the policy again, and grant, end or keep it as it says."""
    origin = origin_in(waiter)
    gate = gate_of((yield from _verdicts(work, waiter)))
    if not gate.is_resolved or not (gate.is_open or gate.outcome in WAITABLE | {"preempt"}):
        refusal = gate.refusal()
        end_waiter(work, waiter, "REFUSED", code=refusal.code, reasons=refusal.reasons, outcome=refusal.outcome)
        return
    refused = work_set_refusal(work, origin.work_set_id, gate.claims)
    if refused is not None:
        end_waiter(work, waiter, "REFUSED", code=refused.code, outcome=refused.outcome)
        return
    holdings = [
        wanted(work.view, each, waiter["mode"], work.at, is_next=is_turn(work.view, each)) for each in gate.claims
    ]
    tokens = tokens_of(work, holdings)
    if not gate.is_open or isinstance(tokens, Blocked):
        queue.stays(waiter)
        return
    end_waiter(work, waiter, "GRANTED", fair=after_serving(work, waiter))
    note_starvation(work, waiter)
    grant(work, origin, gate, holdings, tokens)
    queue.went(waiter)


def _verdicts(work: Work, waiter: Record) -> Generator[Ask, Verdict, list[Verdict]]:
    verdicts: list[Verdict] = []
    for claim in waiter["claims"]:
        work.questions += 1
        verdicts.append((yield Ask(request=claim["request"], phase="begin", mode=waiter["mode"])))
    return verdicts


class _Queue:
    """Who has been passed over so far, and is not to be overtaken.

    Requests of one shape that exclude each other are told apart by nothing: once one of them was granted or stays,
    every later one of another holder is behind it, which a long queue for one key is decided by without comparing.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._closed: dict[str, str] = {}
        self._staying: dict[tuple[str, str], Record] = {}

    def may_try(self, waiter: Record) -> bool:
        """Whether nothing stands in a waiter's way as far as the machine can tell; the policy has the last word."""
        ahead = self._closed.get(waiter["shape"])
        if ahead is not None and ahead != waiter["holder"]:
            return False
        if self._is_free(waiter):
            return True
        self.stays(waiter)
        return False

    def _is_free(self, waiter: Record) -> bool:
        work = self._work
        if rests_until(work, waiter) is not None or any(True for _ in in_the_way(work, waiter)):
            return False
        others = (each for each in self._staying.values() if each["holder"] != waiter["holder"])
        return not any(collide(work, waiter, each) for each in others)

    def stays(self, waiter: Record) -> None:
        """Note that a waiter keeps its place."""
        self._staying.setdefault((waiter["holder"], waiter["shape"]), waiter)
        self._close(waiter)

    def went(self, waiter: Record) -> None:
        """Note that a waiter was granted; what it holds now is compared like any lease."""
        self._close(waiter)

    def _close(self, waiter: Record) -> None:
        if waiter["shape"] not in self._closed and collide(self._work, waiter, waiter):
            self._closed[waiter["shape"]] = waiter["holder"]


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
