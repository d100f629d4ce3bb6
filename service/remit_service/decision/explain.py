"""Explanation: the proof, the near misses, what would change the verdict, and the sixteen questions (S03).

Data, not prose: whoever renders it (CLI, page, drawing) finds the same members. A question that cannot be answered is
reported as such and never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.edge import MEMBERSHIPS, Edge
from remit_graph.model.instant import format_instant
from remit_service.decision.held import became_of

if TYPE_CHECKING:
    from remit_graph.view.chains import Chain
    from remit_service.decision.case import Case
    from remit_service.decision.decision import Decision
    from remit_service.decision.reasons import ReasonTable

Answer = Mapping[str, Any] | None
"""Facts that answer a question, or None where nothing known answers it."""


def explain(case: Case, decision: Decision, table: ReasonTable) -> dict[str, Any]:
    """Return the explanation of a decision that has just been made from `case`."""
    proof = case.facts.proof
    found = proof.found.chains if proof else []
    return {
        "effect": decision.effect,
        "outcome": decision.outcome,
        "chains": [chain_record(chain) for chain in found],
        "determining": list(decision.determining),
        "near_misses": [
            {**chain_record(miss.chain), "reason": miss.reason, "failed": miss.failed.position}
            for miss in (proof.near if proof else ())
        ],
        "would_change": [_remedy(reason.code, reason.facts, table) for reason in decision.reasons],
        "questions": _questions(case, decision),
        "ignored": list(case.question.ignored),
        "revision": decision.revision,
        "at": format_instant(decision.at),
    }


def chain_record(chain: Chain) -> dict[str, Any]:
    """Return a chain as people read it: root first, each hop with its window and what it covers."""
    return {
        "root": chain.edges[0].from_,
        "subject": _lower(chain.edges[-1]),
        "hops": [_edge_record(edge) for edge in chain.edges],
    }


def _lower(edge: Edge) -> str:
    return edge.from_ if edge.edge in MEMBERSHIPS else edge.to


def _edge_record(edge: Edge) -> dict[str, Any]:
    record: dict[str, Any] = {
        "edge": edge.position,
        "type": str(edge.edge),
        "from": edge.from_,
        "to": edge.to,
        "issuer": edge.issuer,
        "epoch": edge.epoch,
        "revision_from": edge.revision_from,
    }
    for name in ("valid_from", "valid_until", "ended_at"):
        value = getattr(edge, name)
        if value is not None:
            record[name] = format_instant(value)
    if scope := edge.scope.record():
        record["scope"] = scope
    for name in ("max_depth", "under", "ended_by", "revision_to"):
        if getattr(edge, name) is not None:
            record[name] = getattr(edge, name)
    return record


_REMEDIES: Final = {
    "unknown_subject": "declare `{subject}`, or send the identity it is known by",
    "subject_disabled": "enable `{subject}` again",
    "identity_mismatch": "let `{enforcement_point}` speak for `{subject}`",
    "no_authority": "grant or delegate `{action}` on `{key}` to `{subject}`",
    "delegation_revoked": "make `{edge}` again, or delegate along another chain",
    "delegation_expired": "amend `{edge}` to end later",
    "delegation_not_yet_valid": "wait until `{edge}` begins",
    "stale_authority_epoch": "review `{edge}` and renew it under the current authority epoch",
    "depth_exceeded": "delegate from a principal nearer to the root, or raise `max_depth` of `{edge}`",
    "attenuation_violated": "widen `{parent}`, or ask for what it covers",
    "scope_not_covered": "amend `{edge}` to cover this, or ask for what it covers",
    "condition_not_met": "send `{attribute}` from an enforcement point trusted for it, with a value that meets it",
    "trust_too_low": "raise the trust of `{principal}`, or act through a delegate that has it",
    "ownership_unresolved": "give `{field}` of `{key}` an owner",
    "not_owner": "get authority from `{owner}`, the owner of `{field}`",
    "stale_ownership_epoch": "get authority from `{owner}`, the owner of `{field}` now",
    "version_required": "read `{key}` and send its version as `expected_version`",
    "stale_resource_version": "read `{key}` again and decide again on what it says now",
    "capability_required": "issue a capability, or begin an operation",
    "approval_required": "get the approvals that rule `{rule}` asks for",
    "policy_denied": "meet rule `{rule}` of the site, or have it changed",
}
"""What would change the verdict, by reason; other codes name who can settle them."""


def _remedy(code: str, facts: Mapping[str, Any], table: ReasonTable) -> dict[str, Any]:
    template = _REMEDIES.get(code)
    resolver = table.row(code).resolver
    try:
        change = template.format_map(facts) if template else None
    except KeyError:
        change = None
    return {"code": code, "resolver": resolver, "change": change or f"to be settled by: {resolver}"}


def _questions(case: Case, decision: Decision) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = []
    for number, (question, build) in enumerate(_SIXTEEN, 1):
        answer = build(case, decision)
        answers.append({"number": number, "question": question, "answered": answer is not None, "answer": answer})
    return answers


def answered(explanation: Mapping[str, Any], number: int, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an explanation with one of its questions answered by what its decision could not know."""
    questions = [
        {**each, "answered": True, "answer": dict(answer)} if each["number"] == number else each
        for each in explanation["questions"]
    ]
    return {**explanation, "questions": questions}


def _who(case: Case, _decision: Decision) -> Answer:
    principal = case.question.principal
    if principal is None:
        return None
    return {
        "principal": principal.id,
        "enforcement_point": case.question.caller.name,
        "identity": case.question.caller.subject_identity or case.question.caller.identity,
    }


def _authority(case: Case, _decision: Decision) -> Answer:
    proof = case.facts.proof
    return None if proof is None else {"chains": len(proof.found.chains), "near_misses": len(proof.near)}


def _owner(case: Case, _decision: Decision) -> Answer:
    owners = sorted({edge.from_ for row in case.facts.ownership for edge in row.edges})
    return {"owners": owners} if case.question.resource is not None else None


def _field_owner(case: Case, _decision: Decision) -> Answer:
    rows = case.facts.ownership
    if not rows:
        return None
    return {row.field: [edge.from_ for edge in row.edges] for row in rows}


def _carrying(case: Case, decision: Decision) -> Chain | None:
    proof = case.facts.proof
    chains = proof.found.chains if proof else []
    wanted = set(decision.determining)
    return next((chain for chain in chains if set(chain.ids) == wanted), chains[0] if chains else None)


def _delegated(case: Case, decision: Decision) -> Answer:
    chain = _carrying(case, decision)
    return None if chain is None else {"delegated": len(chain.hops) > 1, "delegations": len(chain.hops) - 1}


def _origin(case: Case, decision: Decision) -> Answer:
    chain = _carrying(case, decision)
    return None if chain is None else {"root": chain.edges[0].from_, "edge": chain.edges[0].position}


def _valid(case: Case, decision: Decision) -> Answer:
    proof = case.facts.proof
    if proof is None:
        return None
    until = decision.not_after
    return {"valid": bool(proof.found.chains), "not_after": None if until is None else format_instant(until)}


def _coordination(case: Case) -> Mapping[str, Any]:
    known: Mapping[str, Any] = case.document.get("coordination") or {}
    return known


def _others(case: Case, _decision: Decision) -> Answer:
    overlapping = _coordination(case).get("overlapping", [])
    return {"coordinating": sorted({each["holder"] for each in overlapping})}


def _lease_epoch(case: Case, decision: Decision) -> Answer:
    presented = _coordination(case).get("presented") or _coordination(case).get("held")
    return None if presented is None else {"presented": presented, "current": decision.epochs.get("lease")}


def _version(case: Case, _decision: Decision) -> Answer:
    resource, context = case.document["resource"], case.document["request"]["context"]
    if resource["version"] is None and context.get("expected_version") is None:
        return None
    return {"current_version": resource["version"], "expected_version": context.get("expected_version")}


def _conflicts(_case: Case, decision: Decision) -> Answer:
    return {"conflicts": list(decision.conflicts)}


def _mergeable(_case: Case, decision: Decision) -> Answer:
    if not decision.conflicts:
        return {"needed": False}
    return {"needed": True, "mergeable": decision.outcome == "merge_required"}


def _waits(_case: Case, decision: Decision) -> Answer:
    return {"must_wait": decision.outcome in ("wait", "serialize", "hold", "ordered")}


def _preempts(_case: Case, decision: Decision) -> Answer:
    if not decision.conflicts:
        return {"needed": False}
    return {"needed": True, "may_preempt": decision.outcome == "preempt"}


def _fenced(case: Case, _decision: Decision) -> Answer:
    required = _coordination(case).get("required")
    if case.question.resource is None:
        return None
    return {"fenced_by": "fencing token" if required == "lease" else "version", "fence_key": _fence_keys(case)}


def _fence_keys(case: Case) -> list[str]:
    """The keys a writer is fenced by: a field that is not independent is fenced as the whole resource (rules.md 8)."""
    key, declared = case.document["resource"]["key"], case.document["resource"]["type_fields"]
    fields = {name if declared.get(name, {}).get("independent") else "*" for name in case.question.fields or ("*",)}
    return [f"{key}#{name}" for name in sorted(fields)]


def _given_back(case: Case, decision: Decision) -> Answer:
    if decision.lease is None:
        return None
    return became_of(case.view, decision.lease["lease_id"], case.question.at)


_SIXTEEN: Final[tuple[tuple[str, Callable[[Case, Decision], Answer]], ...]] = (
    ("Who calls?", _who),
    ("What authority does it really hold?", _authority),
    ("Who owns the resource?", _owner),
    ("Who owns the field?", _field_owner),
    ("Is the authority delegated?", _delegated),
    ("Where did the delegation start?", _origin),
    ("Is it still valid?", _valid),
    ("Is someone else coordinating the resource?", _others),
    ("What is the lease epoch?", _lease_epoch),
    ("What is the resource version?", _version),
    ("Does this conflict with another operation?", _conflicts),
    ("Can the conflict be merged?", _mergeable),
    ("Must it wait?", _waits),
    ("May one preempt the other?", _preempts),
    ("Would stale actors be fenced if authority changed?", _fenced),
    ("Was the coordination right safely given back afterwards?", _given_back),
)
