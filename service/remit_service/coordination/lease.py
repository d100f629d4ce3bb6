"""Leases: their record, the answer a holder gets, and every way a lease ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.coordination.holding import domains_of, held_keys
from remit_service.coordination.states import Cause, LeaseState, step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_service.coordination.holding import Holding
    from remit_service.coordination.tables import Tables
    from remit_service.coordination.values import Claim, Record, Verdict
    from remit_service.coordination.work import Work


def begin_lease(
    work: Work,
    claim: Claim,
    verdict: Verdict,
    held: Holding,
    tokens: Mapping[str, int],
    origin: Mapping[str, Any],
) -> Record:
    """Grant a lease and return its record.

    Args:
        work: The step.
        claim: What it is for.
        verdict: What permits it: a lease is bound to its authority by its proof.
        held: The keys it is on.
        tokens: The token of each fence key.
        origin: `lease_id`, `coordination_id`, `point`, `purpose`, `ttl_us`, `priority`.
    """
    step(step(LeaseState.AVAILABLE, LeaseState.ACQUIRING), LeaseState.HELD)
    max_until = work.at + work.tables.hold_us(claim.type.name)
    epochs = verdict.epochs
    record = {
        "id": origin["lease_id"],
        "lease_id": origin["lease_id"],
        "coordination_id": origin["coordination_id"],
        "resource_key": claim.key,
        "resource_type": claim.type.name,
        "holder": claim.subject,
        "point": origin["point"],
        "action": claim.action.name,
        "fields": list(claim.fields),
        "domains": domains_of(held),
        "keys": list(held.keys),
        "mode": held.mode,
        "concurrency": held.concurrency,
        "fencing_tokens": dict(tokens),
        "lease_epoch": max(tokens.values()),
        "state": str(LeaseState.HELD),
        "version": 1,
        "acquired_at": work.at,
        "renewed_at": work.at,
        "progress_at": work.at,
        "ttl_us": origin["ttl_us"],
        "max_until": max_until,
        "expires_at": ends_at(work.at, origin["ttl_us"], max_until, verdict.not_after),
        "priority": origin["priority"],
        "proof": list(verdict.proof),
        "authority_epoch": epochs.get("authority", 0),
        "policy_epoch": epochs.get("policy", 0),
        "ownership_epochs": dict(epochs.get("ownership") or {}),
        "obligations": [dict(each) for each in verdict.obligations],
        "request": claim.request,
    }
    optional = {
        "purpose": origin.get("purpose"),
        "change_id": claim.context.get("change_id"),
        "capability_id": claim.context.get("capability_id"),
        "set_operations": held.set_operations,
        "is_next": held.is_next or None,
    }
    record |= {name: value for name, value in optional.items() if value is not None}
    work.change("lease.put", record)
    return record


def ends_at(at: Instant, ttl_us: int, max_until: Instant, not_after: Instant | None) -> Instant:
    """Return the end of a lease: never beyond what it may be held, nor beyond what its authority lasts (rules.md 9)."""
    return min(at + ttl_us, max_until, max_until if not_after is None else not_after)


def answer_of(lease: Record, tables: Tables) -> dict[str, Any]:
    """Return what its holder is told of a lease; instants are microseconds."""
    names = (
        "lease_id", "coordination_id", "resource_key", "holder", "purpose", "fields", "domains", "mode",
        "fencing_tokens", "lease_epoch", "state", "version", "acquired_at", "renewed_at", "expires_at", "max_until",
        "proof", "change_id", "capability_id", "authority_epoch", "policy_epoch", "ownership_epochs",
    )  # fmt: skip
    told = {name: lease[name] for name in names if name in lease}
    margin = min(tables.leases.renew_margin_us, (lease["expires_at"] - lease["renewed_at"]) // 2)
    return {**told, "renew_before": lease["expires_at"] - margin}


def end_lease(
    work: Work,
    lease: Record,
    state: LeaseState,
    *,
    cause: Cause | None = None,
    code: str | None = None,
    by: str | None = None,
    reason: str | None = None,
) -> None:
    """End one lease; its operation and its receipt are the caller's business.

    A revocation raises the fence at once: whoever still acts on the lease is behind it. After an expiry or a takeover
    the resource may rest for a while, if it cannot check tokens itself (`lock_delay`).
    """
    step(LeaseState(lease["state"]), state)
    body: dict[str, Any] = {
        "id": lease["id"],
        "lease_id": lease["lease_id"],
        "holder": lease["holder"],
        "resource_key": lease["resource_key"],
        "coordination_id": lease["coordination_id"],
        "lease_epoch": lease["lease_epoch"],
        "expires_at": lease["expires_at"],
        "state": str(state),
        "ended_at": work.at,
    }
    told = {"cause": cause and str(cause), "code": code, "by": by, "reason": reason}
    body |= {name: value for name, value in told.items() if value is not None}
    if state is LeaseState.REVOKED:
        body["raised"] = dict.fromkeys(lease["fencing_tokens"], work.token)
    if cause is Cause.PREEMPTION:
        body["cooldown_until"] = work.at + work.tables.cooldown_us
    delay = work.tables.delay_us(lease["resource_type"])
    if delay and (state is LeaseState.EXPIRED or cause is Cause.PREEMPTION):
        # Measured from when the lease ended, which for an expiry nobody noticed is some time ago.
        body["free_at"] = min(work.at, lease["expires_at"]) + delay
    work.change("lease.end", body)
    if state is LeaseState.REVOKED:
        _tell(work, lease, body)


def _tell(work: Work, lease: Record, end: Record) -> None:
    """Tell the old holder what it lost, and what it may have left half done."""
    notice = {
        "id": work.new_id("note"),
        "subject": lease["holder"],
        "code": end.get("code", "lease_revoked"),
        "lease_id": lease["lease_id"],
        "coordination_id": lease["coordination_id"],
        "dirty_keys": held_keys([lease]),
        "lease_epoch": lease["lease_epoch"],
        "current_token": work.token,
        "at": work.at,
    }
    for name in ("cause", "by", "reason"):
        if name in end:
            notice[name] = end[name]
    work.change("notice.put", notice)
