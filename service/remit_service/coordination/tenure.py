"""Holding on and letting go: renewal, release, and ending somebody else's lease (coordination.md 2, S68)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.model.builtin import Governance
from remit_service.coordination.expire import freed_by
from remit_service.coordination.fence import is_fenced_out
from remit_service.coordination.gate import lasting
from remit_service.coordination.governed import governed
from remit_service.coordination.lease import answer_of, end_lease, ends_at
from remit_service.coordination.presented import accepted
from remit_service.coordination.receipt import lose_lease
from remit_service.coordination.settle import settle
from remit_service.coordination.standing import revocation_facts
from remit_service.coordination.states import Cause, LeaseState, step
from remit_service.coordination.values import Answer, Ask, Refusal, Steps
from remit_service.coordination.work import Work, refuse

if TYPE_CHECKING:
    from remit_service.coordination.command import EndLease, Release, Renew
    from remit_service.coordination.values import Record, Verdict


def renew(work: Work, command: Renew) -> Steps:
    """Carry out `Renew`: the same lease and token, a later end, and authority decided anew."""
    leases = _named(work, command)
    if isinstance(leases, Refusal):
        return leases
    for lease in leases:
        refusal = not_current(work, lease, command.holder, command.token) or _unrenewable(work, lease, command)
        if refusal is not None:
            return refusal
    renewed: list[Record] = []
    for lease in leases:
        work.questions += 1
        verdict: Verdict = yield Ask(request=lease["request"], phase="renew", mode=lease["mode"], lease_id=lease["id"])
        code = lasting(work.tables, verdict)
        if code is not None:
            return Refusal(code=code, outcome=verdict.outcome, reasons=verdict.reasons)
        renewed.append(_renewed(work, lease, command, verdict))
    operation = work.record("operation", leases[0]["coordination_id"])
    if operation is not None:
        ends = min(each["expires_at"] for each in renewed)
        work.change("operation.put", {**operation, "expires_at": ends})
    told = [answer_of(each, work.tables) for each in renewed]
    return Answer(result={"lease": told[0], "leases": told})


def _named(work: Work, command: Renew) -> list[Record] | Refusal:
    if command.coordination_id is None:
        lease = work.record("lease", command.lease_id)
        return [lease] if lease is not None else gone(work, command.lease_id or "", command.holder)
    operation = work.record("operation", command.coordination_id)
    if operation is None:
        return gone_operation(work, command.coordination_id, command.holder)
    known = [work.record("lease", each) for each in operation["lease_ids"]]
    leases = [each for each in known if each is not None]
    return leases or refuse("lease_not_held", subject=command.holder, lease_id=command.coordination_id)


def not_current(work: Work, lease: Record, holder: str, token: int) -> Refusal | None:
    """Refuse anyone but the holder with the current token of a lease that has not ended."""
    if lease["holder"] != holder:
        return refuse("lease_not_held", subject=holder, lease_id=lease["id"])
    if not work.lives(lease):
        return refuse("lease_expired", "acquire", lease_id=lease["id"], expires_at=lease["expires_at"])
    if token not in accepted(lease) or is_fenced_out(work.view, lease):
        if token > lease["lease_epoch"]:
            return refuse("lease_not_held", subject=holder, lease_id=lease["id"])
        return _stale(work, lease, token)
    return None


def _split(fence_key: str) -> tuple[str, str]:
    key, _, field = fence_key.rpartition("#")
    return key, field


def gone(work: Work, lease_id: str, subject: str) -> Refusal:
    """Refuse what names a lease that has ended, or never was: say how it ended to the one who held it."""
    ended = work.view.coordination.ended.get(lease_id)
    if ended is None or ended["holder"] != subject or ended["state"] == LeaseState.RELEASED:
        return refuse("lease_not_held", subject=subject, lease_id=lease_id)
    if ended["state"] == LeaseState.EXPIRED:
        return refuse("lease_expired", "acquire", lease_id=lease_id, expires_at=ended["expires_at"])
    if ended.get("cause") == Cause.PREEMPTION:
        return refuse("preempted", lease_id=lease_id, holder=ended.get("by"))
    return refuse("lease_revoked", lease_id=lease_id, cause=ended.get("code") or ended.get("cause"))


def gone_operation(work: Work, coordination_id: str, subject: str) -> Refusal:
    """Refuse what names an operation that has ended, by how its lease ended."""
    closed = work.view.coordination.closed.get(coordination_id)
    if closed is None or closed["principal"] != subject:
        return refuse("lease_not_held", subject=subject, lease_id=coordination_id)
    for lease_id in closed["lease_ids"]:
        ended = work.view.coordination.ended.get(lease_id)
        if ended is not None and ended["state"] != LeaseState.RELEASED:
            return gone(work, lease_id, subject)
    return refuse("invalid_transition", id=coordination_id, state=closed["status"], step="go on")


def _unrenewable(work: Work, lease: Record, command: Renew) -> Refusal | None:
    bounds = work.tables.leases
    if command.ttl_us is not None and not bounds.min_ttl_us <= command.ttl_us <= bounds.max_ttl_us:
        problem = f"a lease lives from {bounds.min_ttl_us} to {bounds.max_ttl_us} us, not {command.ttl_us}"
        return refuse("malformed_request", pointer="/ttl_seconds", problem=problem)
    if command.version is not None and command.version != lease["version"]:
        return refuse("stale_expected_revision", expected=command.version, revision=lease["version"])
    if not _advances(lease, command) and work.at - lease["progress_at"] > bounds.max_idle_us:
        return refuse("no_progress", lease_id=lease["id"], progress_at=lease["progress_at"])
    return None


def _advances(lease: Record, command: Renew) -> bool:
    return command.progress is not None and command.progress != lease.get("progress")


def _renewed(work: Work, lease: Record, command: Renew, verdict: Verdict) -> Record:
    step(step(LeaseState(lease["state"]), LeaseState.RENEWING), LeaseState.HELD)
    ttl = command.ttl_us or lease["ttl_us"]
    record: dict[str, Any] = {
        **lease,
        "version": lease["version"] + 1,
        "renewed_at": work.at,
        "ttl_us": ttl,
        "expires_at": ends_at(work.at, ttl, lease["max_until"], verdict.not_after),
        "proof": list(verdict.proof),
    }
    if _advances(lease, command):
        record |= {"progress": command.progress, "progress_at": work.at}
    work.change("lease.put", record)
    return record


def release(work: Work, command: Release) -> Steps:
    """Carry out `Release`; a second one, or one that comes too late, changes nothing and is told so."""
    lease = work.record("lease", command.lease_id)
    if lease is None:
        return _released_before(work, command)
    refusal = _unreleasable(work, lease, command)
    if refusal is not None:
        return refusal
    if not work.lives(lease):
        told = {"state": str(LeaseState.EXPIRED), "code": "lease_expired"}
        return Answer(result={"lease_id": command.lease_id, "released": False, **told})
    freed = freed_by(work, lease)
    end_lease(work, lease, LeaseState.RELEASED)
    yield from settle(work, freed)
    return Answer(result={"lease_id": command.lease_id, "released": True, "state": str(LeaseState.RELEASED)})


def _released_before(work: Work, command: Release) -> Answer | Refusal:
    ended = work.view.coordination.ended.get(command.lease_id)
    if ended is None or ended["holder"] != command.holder:
        return refuse("lease_not_held", subject=command.holder, lease_id=command.lease_id)
    if command.token not in accepted(ended):
        return _stale(work, ended, command.token)
    told = {name: ended[name] for name in ("state", "code", "cause", "ended_at") if name in ended}
    return Answer(result={"lease_id": command.lease_id, "released": False, **told})


def _unreleasable(work: Work, lease: Record, command: Release) -> Refusal | None:
    if lease["holder"] != command.holder:
        return refuse("lease_not_held", subject=command.holder, lease_id=command.lease_id)
    if command.token not in accepted(lease):
        return _stale(work, lease, command.token)
    if work.record("operation", lease["coordination_id"]) is not None:
        # Released last, by `complete` or `abort`, and with the receipt (S67).
        return refuse("not_verified", id=lease["coordination_id"], problem="its operation has not ended")
    return None


def _stale(work: Work, lease: Record, token: int) -> Refusal:
    current = max(work.view.coordination.fence(*_split(each)) for each in lease["fencing_tokens"])
    return refuse("stale_fencing_token", fencing_token=token, key=lease["resource_key"], current_token=current)


def end_other(work: Work, command: EndLease) -> Steps:
    """Carry out `EndLease`: REVOKED (operator), for those who may revoke its holder (F066)."""
    lease = work.record("lease", command.lease_id)
    if lease is None:
        ended = work.view.coordination.ended.get(command.lease_id)
        if ended is None:
            return refuse("lease_not_held", subject=command.actor, lease_id=command.lease_id)
        return Answer(result={"lease_id": command.lease_id, "ended": False, "state": ended["state"]})
    facts = revocation_facts(work.view, command.actor, lease, work.at)
    refusal = yield from governed(work, command.actor, Governance.END_LEASE, revocation=facts)
    if refusal is not None:
        return refusal
    freed = freed_by(work, lease)
    lose_lease(
        work,
        lease,
        LeaseState.REVOKED,
        cause=Cause.OPERATOR,
        code="lease_revoked",
        by=command.actor,
        reason=command.reason,
    )
    yield from settle(work, freed)
    return Answer(
        result={
            "lease_id": command.lease_id, "ended": True, "state": str(LeaseState.REVOKED), "current_token": work.token,
        }
    )  # fmt: skip
