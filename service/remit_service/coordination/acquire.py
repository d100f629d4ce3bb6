"""Acquiring: all the leases of a request or none, now or in turn (coordination.md 3).

Steps:
    (1) Bounds of the request itself.
    (2) The policy's verdict on every resource: authority, ownership, capability, approval, conflicts.
    (3) What is over on the keys it touches ends, and those who wait for them come first.
    (4) What the policy does not judge: quotas, lock order, declared work.
    (5) Take over where that was asked for and allowed; wait or be refused where something is in the way.
    (6) Grant. A conflict is not a failure: a refusal says what to do next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.coordination.behind import before, keys_of, newcomer_of, still_asks, waiters_near
from remit_service.coordination.deadlock import grant_closes_cycle
from remit_service.coordination.expire import expire_near
from remit_service.coordination.fence import Blocked
from remit_service.coordination.gate import WAITABLE, Gate, gate_of
from remit_service.coordination.grant import grant, tokens_of
from remit_service.coordination.guards import first_refusal
from remit_service.coordination.holding import Holding, held_keys, wanted
from remit_service.coordination.origin import Origin, origin_of
from remit_service.coordination.preempt import take_over
from remit_service.coordination.priority import priority_of
from remit_service.coordination.sequence import is_turn
from remit_service.coordination.settle import settle
from remit_service.coordination.values import Answer, Ask, Claim, Refusal, Steps, Verdict
from remit_service.coordination.wait import busy, resting, wait_or_refuse
from remit_service.coordination.work import Work, refuse

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from remit_service.coordination.command import Acquire


def acquire(work: Work, command: Acquire) -> Steps:
    """Carry out `Acquire`."""
    # (1) Bounds.
    refusal = _out_of_bounds(work, command)
    if refusal is not None:
        return refusal
    # (2) The policy, and (3) what is over on these keys.
    gate, holdings = yield from _judged(work, command)
    if not _may_go_on(gate):
        return gate.refusal()
    # (4) What the policy does not judge.
    origin = origin_of(command, work.tables)
    refusal = first_refusal(work, origin, gate.claims)
    if refusal is not None:
        return refusal
    # (5) What is in the way, and (6) the grant.
    newcomer = _newcomer(work, origin, gate, holdings)
    if gate.outcome == "preempt" and command.preempt:
        return (yield from _take_over(work, origin, gate, holdings, newcomer))
    tokens = _in_turn(work, gate, holdings, newcomer, origin)
    if isinstance(tokens, Refusal):
        return wait_or_refuse(work, command, origin, gate, holdings, newcomer, tokens)
    return Answer(result=grant(work, origin, gate, holdings, tokens))


def _judged(work: Work, command: Acquire) -> Generator[Ask, Verdict, tuple[Gate, list[Holding]]]:
    """Return the verdicts, on the state in which what is over has ended and been given on, and the holdings."""
    gate = gate_of((yield from _verdicts(work, command)))
    if not _may_go_on(gate):
        return gate, []
    holdings = _holdings(work, command, gate.claims)
    freed, changed = [*expire_near(work, holdings), *_lapsed_near(work, holdings)], len(work.changes)
    yield from settle(work, freed)
    if freed or len(work.changes) > changed:
        gate = gate_of((yield from _verdicts(work, command)))
    return gate, holdings


def _lapsed_near(work: Work, holdings: Sequence[Holding]) -> list[str]:
    """Return the keys of those around these that have stopped asking: whoever is behind one of them may go."""
    near = waiters_near(work, held_keys(holdings))
    return [key for waiter in near if not still_asks(work, waiter) for key in keys_of(waiter)]


def _take_over(work: Work, origin: Origin, gate: Gate, holdings: Sequence[Holding], newcomer: dict[str, Any]) -> Steps:
    """End all that stand in the way, grant, and give on what else became free."""
    freed = take_over(work, gate, holdings)
    if isinstance(freed, Refusal):
        return freed
    tokens = _tokens(work, origin, holdings, newcomer)
    granted = tokens if isinstance(tokens, Refusal) else Answer(result=grant(work, origin, gate, holdings, tokens))
    yield from settle(work, freed)
    return granted


def _may_go_on(gate: Gate) -> bool:
    return gate.is_resolved and (gate.is_open or gate.outcome in WAITABLE or gate.outcome == "preempt")


def _verdicts(work: Work, command: Acquire) -> Generator[Ask, Verdict, list[Verdict]]:
    verdicts: list[Verdict] = []
    for request in command.requests:
        work.questions += 1
        ask = Ask(request=request, caller=command.caller, phase="begin", mode=command.mode, preempt=command.preempt)
        verdicts.append((yield ask))
    return verdicts


def _out_of_bounds(work: Work, command: Acquire) -> Refusal | None:
    bounds = work.tables.leases
    ttl = bounds.ttl_us if command.ttl_us is None else command.ttl_us
    if not bounds.min_ttl_us <= ttl <= bounds.max_ttl_us:
        problem = f"a lease lives from {bounds.min_ttl_us} to {bounds.max_ttl_us} us, not {ttl}"
        return refuse("malformed_request", pointer="/ttl_seconds", problem=problem)
    if not 0 <= command.wait_us <= bounds.max_wait_us:
        problem = f"a wait lasts at most {bounds.max_wait_us} us"
        return refuse("malformed_request", pointer="/wait_seconds", problem=problem)
    if not command.requests or len(command.requests) != len(command.lease_ids):
        return refuse("malformed_request", pointer="/resources", problem="it names no resource")
    known = work.view.coordination.closed.get(command.coordination_id)
    if known is not None or work.record("operation", command.coordination_id) is not None:
        return refuse("already_exists", id=command.coordination_id)
    return None


def _holdings(work: Work, command: Acquire, claims: Sequence[Claim]) -> list[Holding]:
    return [wanted(work.view, claim, command.mode, work.at, is_next=is_turn(work.view, claim)) for claim in claims]


def _newcomer(work: Work, origin: Origin, gate: Gate, holdings: Sequence[Holding]) -> dict[str, Any]:
    claim = gate.claims[0]
    priority = 0
    if work.view.coordination.waiters or not gate.is_open:
        proof = gate.verdicts[0].proof
        priority = priority_of(work.view, work.tables, claim.subject, claim.key, work.at, proof=proof)
    requests = [each.request for each in gate.claims]
    return newcomer_of(work, holdings, requests, origin, priority)


def _in_turn(
    work: Work, gate: Gate, holdings: Sequence[Holding], newcomer: dict[str, Any], origin: Origin
) -> list[Mapping[str, int]] | Refusal:
    """Return the tokens, or why there are none now: the policy's conflicts, a resting key, the queue, or the fence."""
    if not gate.is_open:
        return gate.refusal()
    if origin.leaseless:
        # It blocks nobody and waits for nobody; it meets others at the version (rules.md 6).
        return []
    rests = resting(work, newcomer)
    if rests is not None:
        return rests
    ahead = next(before(work, newcomer), None)
    if ahead is not None:
        return busy(work, (ahead["id"],))
    return _tokens(work, origin, holdings, newcomer)


def _tokens(
    work: Work, origin: Origin, holdings: Sequence[Holding], newcomer: dict[str, Any]
) -> list[Mapping[str, int]] | Refusal:
    if origin.leaseless:
        return []
    cycle = grant_closes_cycle(work, newcomer)
    if cycle is not None:
        return refuse("deadlock_avoided", "wait", key=holdings[0].key, holder=cycle)
    tokens = tokens_of(work, holdings)
    if isinstance(tokens, Blocked) and tokens.for_one_step:
        work.put_off(keys_of(newcomer))
    return busy(work, tokens.by) if isinstance(tokens, Blocked) else tokens
