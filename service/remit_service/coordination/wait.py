"""Waiting: a request that could not be granted yet becomes a waiter, or is told when to come back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_service.coordination.behind import position
from remit_service.coordination.conflict import record_conflict
from remit_service.coordination.deadlock import closes_cycle
from remit_service.coordination.guards import quota_refusal
from remit_service.coordination.jitter import spread
from remit_service.coordination.states import LeaseState, step
from remit_service.coordination.values import Answer, Refusal
from remit_service.coordination.work import Work, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.model.instant import Instant
    from remit_service.coordination.command import Acquire
    from remit_service.coordination.gate import Gate
    from remit_service.coordination.holding import Holding
    from remit_service.coordination.origin import Origin
    from remit_service.coordination.values import Record

SOON: Final = 1_000_000
"""When to ask again where nothing says how long it takes."""


def wait_or_refuse(
    work: Work,
    command: Acquire,
    origin: Origin,
    gate: Gate,
    holdings: Sequence[Holding],
    newcomer: Record,
    why: Refusal,
) -> Answer | Refusal:
    """Put a request in the queue if it wants to wait; else refuse it with a hint when to come back."""
    told = _with_hint(work, why, holdings)
    if command.wait_us <= 0 or why.code == "deadlock_avoided":
        return told
    cycle = closes_cycle(work, newcomer)
    if cycle is not None:
        return refuse("deadlock_avoided", "wait", key=holdings[0].key, holder=cycle)
    over = quota_refusal(work, "waiter", holdings[0].holder, command.point, 1)
    if over is not None:
        return over
    keep_alive = command.keep_alive_us or work.tables.leases.waiter_ttl_us
    step(LeaseState.AVAILABLE, LeaseState.ACQUIRING)
    record = {
        **newcomer,
        **origin.record(),
        "resource_type": gate.claims[0].type.name,
        "state": str(LeaseState.ACQUIRING),
        "keep_alive_us": keep_alive,
        "alive_until": work.at + keep_alive,
        "proof": sorted({each for verdict in gate.verdicts for each in verdict.proof}),
    }
    record["conflict_id"] = _record(work, record, told)
    work.change("waiter.put", record)
    return Answer(result=waiting_answer(work, record, told))


def waiting_answer(work: Work, waiter: Record, why: Refusal | None = None) -> dict[str, Any]:
    """Return what a waiting caller is told."""
    told: dict[str, Any] = {
        "waiter_id": waiter["waiter_id"],
        "coordination_id": waiter["coordination_id"],
        "decision": False,
        "outcome": "wait" if why is None else why.outcome,
        "position": position(work, waiter),
        "keep_alive_before": waiter["alive_until"],
        "wait_until": waiter["wait_until"],
        "conflict_id": waiter["conflict_id"],
    }
    return told if why is None else {**told, "conflicts": [dict(each) for each in why.conflicts]}


def _record(work: Work, waiter: Record, why: Refusal) -> str:
    first = why.conflicts[0] if why.conflicts else {}
    return record_conflict(
        work,
        waiter["resource_key"],
        [each["holder"] for each in why.conflicts if each.get("holder")] + [waiter["holder"]],
        [each["key"] for each in why.conflicts if each.get("key")] or [waiter["resource_key"]],
        {
            "decision": why.outcome,
            "winner": first.get("holder"),
            "reason_code": why.code,
            "relation": first.get("relation"),
            "shared": waiter["mode"] == "shared",
        },
        waiter_id=waiter["id"],
        cell=first.get("result"),
    )


def busy(work: Work, in_the_way: Sequence[str]) -> Refusal:
    """Return the refusal for leases or waiters that a grant has to wait for."""
    rows: list[dict[str, Any]] = []
    for each in in_the_way:
        lease, waiter = work.record("lease", each), work.record("waiter", each)
        if lease is not None:
            rows.append({**_in_the_way(lease), "lease_id": lease["id"]})
        elif waiter is not None:
            rows.append({"waiter_id": waiter["id"], "holder": waiter["holder"], "key": waiter["resource_key"]})
    facts = {name: value for name, value in rows[0].items() if name != "domain"} if rows else {}
    conflicts = tuple({**row, "result": "wait"} for row in rows)
    return Refusal(code="resource_busy", outcome="wait", facts=facts, conflicts=conflicts)


def _in_the_way(lease: Record) -> dict[str, Any]:
    return {
        "holder": lease["holder"],
        "key": lease["resource_key"],
        "expires_at": lease["expires_at"],
        "held_until": lease["expires_at"],
        "fencing_token": lease["lease_epoch"],
        "lease_epoch": lease["lease_epoch"],
    }


def resting(work: Work, newcomer: Record) -> Refusal | None:
    """Refuse a grant on a key that rests after an expiry or a takeover (`lock_delay`)."""
    until = rests_until(work, newcomer)
    if until is None:
        return None
    facts = {"key": newcomer["resource_key"], "held_until": until}
    return Refusal(code="resource_busy", outcome="wait", facts=facts, retry_at=until)


def rests_until(work: Work, waiter: Record) -> Instant | None:
    """Return until when one of a request's own keys rests, or None."""
    delays = work.view.coordination.delays.items
    own = [claim["keys"][0]["key"] for claim in waiter["claims"]] if delays else []
    return max((delays[key] for key in own if delays.get(key, 0) > work.at), default=None)


def _with_hint(work: Work, why: Refusal, holdings: Sequence[Holding]) -> Refusal:
    """Say when asking again can help: when what is in the way ends, spread so that a crowd does not return at once."""
    conflicts = tuple(_enriched(work, each) for each in why.conflicts)
    ends = [each["held_until"] for each in conflicts if each.get("held_until", 0) > work.at]
    soonest = why.retry_at or min(ends, default=work.at + SOON)
    queue = len(work.view.coordination.waiters.at.get(holdings[0].key, ()))
    hint = spread(soonest, SOON * (1 + queue), holdings[0].holder, holdings[0].key, str(work.revision))
    return Refusal(
        code=why.code,
        outcome=why.outcome,
        facts=_facts_of(why, conflicts),
        reasons=why.reasons,
        conflicts=conflicts,
        retry_at=hint,
    )


def _facts_of(why: Refusal, conflicts: Sequence[Record]) -> dict[str, Any]:
    if why.facts or not conflicts:
        return dict(why.facts)
    return dict(conflicts[0])


def _enriched(work: Work, conflict: Record) -> Record:
    """Add what the policy does not show of a lease: until when it is held, and its token."""
    lease = work.record("lease", conflict.get("lease_id"))
    return (
        dict(conflict) if lease is None else {**conflict, **{k: v for k, v in _in_the_way(lease).items() if k != "key"}}
    )
