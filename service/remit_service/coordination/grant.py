"""The grant: leases with their tokens, and the operation they were taken for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_service.coordination.behind import waiters_near
from remit_service.coordination.compare import judge
from remit_service.coordination.fence import Blocked, tokens_for
from remit_service.coordination.holding import OWN, held_keys, holding_of
from remit_service.coordination.lease import answer_of, begin_lease
from remit_service.coordination.matrix import COMPATIBLE
from remit_service.coordination.priority import priority_of
from remit_service.coordination.sequence import sequence_facts
from remit_service.coordination.states import OperationState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_service.coordination.gate import Gate
    from remit_service.coordination.holding import Holding
    from remit_service.coordination.origin import Origin
    from remit_service.coordination.values import Claim, Record, Verdict
    from remit_service.coordination.work import Work

BEGUN_STEPS = ("resolve_resource", "resolve_owner", "validate_authority", "detect_conflicts", "acquire")
"""What `begin` does of the eleven steps (coordination.md 7)."""


def tokens_of(work: Work, holdings: Sequence[Holding]) -> list[Mapping[str, int]] | Blocked:
    """Return the tokens of each lease, or what a grant has to wait for."""
    fresh = _raised_in_this_step(work, holdings)
    if fresh:
        return Blocked(fresh, for_one_step=True)
    tokens: list[Mapping[str, int]] = []
    for held in holdings:
        found = tokens_for(work.view, work.tables, held, work.at, work.token)
        if isinstance(found, Blocked):
            return found
        tokens.append(found)
    return tokens


def _raised_in_this_step(work: Work, holdings: Sequence[Holding]) -> tuple[str, ...]:
    """Return the leases of this step that these holdings conflict with: of the same holder, as no others can be.

    A token is the revision of the raise, so a second raise in one revision would fence nobody (rules.md 8).
    """
    return tuple(
        lease["id"]
        for lease in work.granted
        if any(judge(work.view, work.tables, held, holding_of(lease), work.at) != COMPATIBLE for held in holdings)
    )


def grant(
    work: Work, origin: Origin, gate: Gate, holdings: Sequence[Holding], tokens: Sequence[Mapping[str, int]]
) -> dict[str, Any]:
    """Grant everything that was asked for; returns what the holder is told."""
    leases: list[Record] = []
    passed = _passed(work, holdings, tokens)
    if not origin.leaseless:
        for place, (verdict, held) in enumerate(zip(gate.verdicts, holdings, strict=True)):
            claim = gate.claims[place]
            priority = priority_of(work.view, work.tables, claim.subject, claim.key, work.at, proof=verdict.proof)
            bound = {**origin.record(), "lease_id": origin.lease_ids[place], "priority": priority}
            leases.append(begin_lease(work, claim, verdict, held, tokens[place], bound))
    work.granted.extend(leases)
    if waiters_near(work, passed):
        work.put_off(passed)
    first = gate.verdicts[0]
    answers = [answer_of(each, work.tables) for each in leases]
    told: dict[str, Any] = {
        "coordination_id": origin.coordination_id,
        "decision": True,
        "outcome": "execute",
        "lease": dict(answers[0]) if answers else None,
        "leases": answers,
        "obligations": [dict(each) for verdict in gate.verdicts for each in verdict.obligations],
        "epochs": dict(first.epochs),
        "decision_id": first.decision_id,
    }
    if origin.protocol:
        operation = _begin_operation(work, origin, gate, holdings, leases)
        told |= {"state": operation["state"], "lease_epoch": operation["lease_epoch"]}
    return told


def _passed(work: Work, holdings: Sequence[Holding], tokens: Sequence[Mapping[str, int]]) -> list[str]:
    """Return the keys on which a holder passes leases of its own with its token: who waited for them may go now."""
    members = work.view.coordination.members
    fresh = {fence_key for each in tokens for fence_key, token in each.items() if token == work.token}
    if not any(members.get(each) for each in fresh):
        return []
    return held_keys(holdings)


def _begin_operation(
    work: Work, origin: Origin, gate: Gate, holdings: Sequence[Holding], leases: Sequence[Record]
) -> Record:
    claims = gate.claims
    first, epochs = claims[0], gate.verdicts[0].epochs
    ends = [each["expires_at"] for each in leases]
    record = {
        "id": origin.coordination_id,
        "coordination_id": origin.coordination_id,
        "principal": first.subject,
        "point": origin.point,
        "resources": [
            _resource(claim, verdict, held)
            for claim, verdict, held in zip(claims, gate.verdicts, holdings, strict=True)
        ],
        "resource_key": first.key,
        "purpose": origin.purpose,
        "change_id": first.context.get("change_id"),
        "work_set_id": origin.work_set_id,
        "lease_ids": [each["id"] for each in leases],
        "lease_epoch": max((each["lease_epoch"] for each in leases), default=work.token),
        "state": str(OperationState.BEGUN),
        "steps": [{"step": each, "at": work.at} for each in BEGUN_STEPS],
        "conflicts": [],
        "approvals": [each for claim in claims if (each := claim.context.get("approval_id")) is not None],
        "decision_id": gate.verdicts[0].decision_id,
        "authority_epoch": epochs.get("authority", 0),
        "policy_epoch": epochs.get("policy", 0),
        "created_at": work.at,
        "expires_at": min(ends) if ends else work.at + origin.ttl_us,
        "sequence": _line(work, first),
    }
    work.change("operation.put", record)
    return record


def _resource(claim: Claim, verdict: Verdict, held: Holding) -> dict[str, Any]:
    own = held.keys[0]
    assert own["relation"] == OWN  # noqa: S101 - INVARIANT: the own key comes first
    resource: dict[str, Any] = {
        "resource_key": claim.key,
        "action": claim.action.name,
        "fields": list(claim.fields),
        "fences": [f"{own['key']}#{part['fence']}" for part in own["parts"]],
        "owner": claim.owner,
        "proof": list(verdict.proof),
        "ownership_epochs": dict(verdict.epochs.get("ownership") or {}),
        "obligations": [dict(each) for each in verdict.obligations],
        "request": claim.request,
    }
    expected = claim.context.get("expected_version")
    return resource if expected is None else {**resource, "expected_version": expected}


def _line(work: Work, claim: Claim) -> dict[str, Any] | None:
    facts = sequence_facts(work.view, claim.action.sequence, claim.context.get("sequence"))
    return None if facts is None else {name: facts[name] for name in ("line", "number")}
