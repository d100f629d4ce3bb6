"""The facts each reason names: which edge, which field, which holder, which number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.instant import format_instant
from remit_graph.model.registry import KEY_TYPE
from remit_service.decision.authority_facts import AUTHORITY_CODES, authority, truncated, trust
from remit_service.decision.ownership_facts import OWNER_ROWS, ownership, transfer
from remit_service.decision.passes import approval_facts, capability_facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_service.decision.case import Case
    from remit_service.decision.request import Entity


def facts_of(code: str, case: Case) -> dict[str, Any]:
    """Return the facts that the sentence of `code` names, as far as they are known."""
    common = _common(case)
    build = _BUILDERS.get(code)
    return {**common, **(build(code, case) if build else {})}


def _common(case: Case) -> dict[str, Any]:
    asked = case.question.evaluation
    resolved = case.question.resource
    principal = case.question.principal
    return {
        "subject": principal.id if principal else f"{asked.subject.type}:{asked.subject.id}",
        "action": asked.action,
        "key": resolved.key if resolved else _as_asked(asked.resource),
    }


def _as_asked(resource: Entity) -> str:
    """Return what was asked about: a key where one was named in full, else the type and the id."""
    return resource.id if resource.type == KEY_TYPE else f"{resource.type}:{resource.id}"


def _malformed(code: str, case: Case) -> dict[str, Any]:
    message = case.question.faults.get(code, "")
    return {"key": case.question.evaluation.resource.id, "problem": message.partition(": ")[2] or message}


def _unknown_field(_code: str, case: Case) -> dict[str, Any]:
    declared = case.document["resource"]["type_fields"]
    missing = [name for name in case.question.fields if name not in declared]
    return {"field": missing[0] if missing else None, "type": case.document["resource"]["type"]}


def _identity(_code: str, case: Case) -> dict[str, Any]:
    return {"enforcement_point": case.question.caller.name}


def _version(_code: str, case: Case) -> dict[str, Any]:
    context = case.document["request"]["context"]
    return {
        "expected_version": context.get("expected_version"),
        "current_version": case.document["resource"]["version"],
    }


def _site(_code: str, case: Case) -> dict[str, Any]:
    denials = case.result.get("site") or [{}]
    first = denials[0]
    return {"rule": first.get("rule"), "message": first.get("message"), "site": list(case.result.get("site") or ())}


def _policy_error(_code: str, case: Case) -> dict[str, Any]:
    errors = case.result.get("policy_errors") or [{}]
    first = dict(errors[0])
    return {"expected": first.get("type"), "found": first.get("found", "nothing"), **first}


def _conflict(_code: str, case: Case) -> dict[str, Any]:
    conflicts = case.result.get("conflicts") or [{}]
    lease = case.view.records.get("lease", {}).get(str(conflicts[0].get("lease_id")))
    if lease is None:
        return dict(conflicts[0])
    held = {"expires_at": format_instant(lease["expires_at"]), "fencing_token": lease["lease_epoch"]}
    return {**conflicts[0], **held}


def _lease(_code: str, case: Case) -> dict[str, Any]:
    """The lease that was presented, and how it ended."""
    shown = case.document["coordination"]["presented"] or {}
    tables = case.view.coordination
    lease_id = str(shown.get("lease_id"))
    lease = case.view.records.get("lease", {}).get(lease_id) or tables.ended.get(lease_id)
    facts = {name: shown.get(name) for name in ("lease_id", "fencing_token", "current_token")}
    if lease is None or lease["holder"] != case.document["subject"]["principal"]:
        return facts
    told = {"expires_at": format_instant(lease["expires_at"]), "holder": lease.get("by"), "cause": lease.get("code")}
    return {**facts, **told}


def _presence(_code: str, case: Case) -> dict[str, Any]:
    touched = set(case.document["request"]["fields"])
    others = [
        each
        for each in case.document["coordination"]["presence"]
        if each["actor"] != case.document["subject"]["principal"]
        and (not touched or not each["fields"] or touched & set(each["fields"]))
    ]
    return {"actor": others[0]["actor"], "fields": others[0]["fields"] or ["the whole resource"]} if others else {}


def _sequence(_code: str, case: Case) -> dict[str, Any]:
    return dict(case.document["coordination"]["sequence"] or {})


def _preemption(_code: str, case: Case) -> dict[str, Any]:
    coordination = case.document["coordination"]
    until = coordination.get("cooldown_until") or 0
    conflicts = case.result.get("conflicts") or [{}]
    lease_id = conflicts[0].get("lease_id")
    theirs = next((row["priority"] for row in coordination["overlapping"] if row["lease_id"] == lease_id), None)
    return {
        "holder": conflicts[0].get("holder"),
        "key": conflicts[0].get("key"),
        "priority": coordination["priority"],
        "holder_priority": theirs,
        "cooldown_until": format_instant(until) if until else None,
    }


_BUILDERS: Final[dict[str, Callable[[str, Case], dict[str, Any]]]] = {
    "malformed_resource_key": _malformed,
    "unknown_field": _unknown_field,
    "identity_mismatch": _identity,
    **dict.fromkeys(AUTHORITY_CODES, authority),
    "trust_too_low": trust,
    "proof_search_truncated": truncated,
    **dict.fromkeys(OWNER_ROWS, ownership),
    "version_required": _version,
    "stale_resource_version": _version,
    "policy_denied": _site,
    "policy_error": _policy_error,
    **dict.fromkeys(("approval_required", "approval_stale"), approval_facts),
    **dict.fromkeys(
        ("capability_required", "capability_expired", "capability_revoked", "capability_mismatch"), capability_facts
    ),
    **dict.fromkeys(
        ("resource_busy", "resource_coordinated", "conflicting_operation", "conflict_unknown", "follower"), _conflict
    ),
    **dict.fromkeys(("lease_expired", "lease_revoked", "lease_not_held", "stale_fencing_token", "preempted"), _lease),
    **dict.fromkeys(("preemption_not_authorized", "priority_not_higher", "preemption_cooldown"), _preemption),
    "human_presence": _presence,
    "sequence_violated": _sequence,
    "owner_frozen": transfer,
}
