"""Give a capability out: decided like the request itself, and no longer than what it rests on (S23).

What stands in the way right now is no reason to refuse: a capability says that the request is authorized, and neither
that it is this subject's turn nor that the state has not moved. So of the decision only the questions of identity,
authority, ownership and the site's rules count here; coordination, versions and approvals are asked when it is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.builtin import Governance
from remit_graph.model.change import Change
from remit_graph.model.instant import SECOND
from remit_service.capability.binding import binding_of, named_binding
from remit_service.capability.presented import NOUN
from remit_service.capability.record import KIND, Terms, claims_of, record_of, token_digest
from remit_service.coordination.values import Ask
from remit_service.coordinator.judge import judge
from remit_service.governance.law import Actor, permitted, refused_by_policy
from remit_service.writer.command import Accepted, Refused, Verdict

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordination.values import Verdict as Judged
    from remit_service.coordinator.judge import Decided
    from remit_service.decision.caller import Caller
    from remit_service.decision.request import Evaluation
    from remit_service.policy import Policy
    from remit_service.signing import Signer

DEFAULT_TTL: Final = 300 * SECOND
MAX_TTL: Final = 3_600 * SECOND
"""Longest life: a capability is short-lived, and asked for again."""

MAX_LIVE: Final = 10_000
"""Capabilities that one enforcement point has out at once."""

LATER: Final = frozenset({"approval", "capability", "coordination", "preemption", "version"})
"""Groups of reasons that are asked about when the capability is used."""

_NOT_CARRIED: Final = frozenset({"approval_id", "capability", "coordination_id", "explain", "lease", "preempt"})
"""What a request shows for its own moment; it is no part of what is granted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Minting:
    """What is asked for.

    Attributes:
        evaluation: The request it is to be good for.
        caller: Who asks.
        minter: The principal in whose name it is asked for, where that is not the subject; it needs MINT_CAPABILITY.
        capability_id: Chosen by whoever submits the command.
        ttl_us: How long it lives at most.
        bind_to: Who may present it, or None for who asks.
        issuer: How this service calls itself.
        decision_id: An earlier decision that it is derived from, or None.
        not_after: When that decision ends, or None.
        purpose: For the record.
    """

    evaluation: Evaluation
    caller: Caller
    capability_id: str
    issuer: str
    minter: str | None = None
    ttl_us: int = DEFAULT_TTL
    bind_to: str | None = None
    decision_id: str | None = None
    not_after: Instant | None = None
    purpose: str | None = None


def mint(policy: Policy, view: View, at: Instant, asked: Minting, signer: Signer, decided: list[Decided]) -> Verdict:
    """Decide whether a capability is given out; what the policy was asked is added to `decided`."""
    if refused := _over_limit(view, asked) or _may_mint(policy, view, at, asked):
        return refused
    caller = asked.caller if asked.minter is None else for_anybody(asked.caller)
    said = {name: value for name, value in asked.evaluation.context.items() if name not in _NOT_CARRIED}
    question = Ask(request=replace(asked.evaluation, context=said), caller=caller, phase="begin")
    judged, made = judge(policy, view, at, question)
    decided.append(made)
    claim = judged.claim
    if refused := _denied(policy, judged):
        return refused
    assert claim is not None  # noqa: S101 - only a resolved request has a proof
    ends = [at + asked.ttl_us, judged.not_after, asked.not_after]
    expires_at = min(each for each in ends if each is not None)
    if expires_at <= at:
        return Refused(code="capability_expired", message="the decision it would be derived from is over")
    terms = Terms(
        capability_id=asked.capability_id,
        point=asked.caller.name,
        minted_by=asked.minter or claim.subject,
        bound_to=named_binding(view, claim.subject, asked.bind_to) if asked.bind_to else binding_of(asked.caller),
        issuer=asked.issuer,
        kid=signer.kid,
        decision_id=asked.decision_id or judged.decision_id,
        expires_at=expires_at,
        purpose=asked.purpose,
    )
    record = record_of(view, at, claim, judged, terms)
    record["token_digest"] = token_digest(signer.sign(claims_of(record), kind=KIND))
    return Accepted(changes=(Change("capability.put", record),), result={"capability_id": asked.capability_id})


def for_anybody(caller: Caller) -> Caller:
    """Return a caller that may name any subject; what it is believed about stays as it is."""
    if caller.point is None:
        return caller
    return replace(caller, point=replace(caller.point, speaks_for=("*:*",)))


def _may_mint(policy: Policy, view: View, at: Instant, asked: Minting) -> Refused | None:
    if asked.minter is None:
        return None
    return refused_by_policy(permitted(policy, view, at, Actor(principal=asked.minter), Governance.MINT_CAPABILITY))


def _over_limit(view: View, asked: Minting) -> Refused | None:
    count = len(view.coordination.asked_by.get((NOUN, asked.caller.name), ()))
    if count < MAX_LIVE:
        return None
    facts = {"limit": "capabilities", "maximum": MAX_LIVE, "count": count}
    return Refused(code="limit_exceeded", message=f"{count} capabilities are out, of at most {MAX_LIVE}", facts=facts)


def _denied(policy: Policy, judged: Judged) -> Refused | None:
    """Return the refusal where the request itself is not authorized: without a valid decision no capability (I01)."""
    table = policy.reasons
    against = [each for each in judged.reasons if table.row(str(each["code"])).group not in LATER]
    facts: dict[str, Any] = {"reasons": against, "decision_id": judged.decision_id}
    if against:
        return Refused(code=str(against[0]["code"]), message=str(against[0]["message"]), facts=facts)
    if not judged.proof or judged.claim is None:
        return Refused(code="no_authority", message=table.row("no_authority").fixed, facts={**facts, "reasons": []})
    return None
