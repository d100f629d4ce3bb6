"""The facts each reason names: which edge, which field, which holder, which number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.condition import Condition, Scales, Truth
from remit_graph.model.instant import format_instant
from remit_graph.model.registry import KEY_TYPE
from remit_service.decision.passes import approval_facts, capability_facts

if TYPE_CHECKING:
    from remit_graph.model.edge import Edge
    from remit_graph.view.near import NearMiss
    from remit_graph.view.state import View
    from remit_graph.view.target import Target
    from remit_service.decision.facts import Facts
    from remit_service.decision.request import Entity
    from remit_service.decision.resolve import Question

Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a reason can be explained from.

    Attributes:
        question: What was asked.
        facts: The policy input.
        result: The policy's document: conflicts, site denials, policy errors, approvals.
        view: The graph; where an engine was waited for, it may have gone on.
        revision: Of the view when the facts were collected.
        scales: Ordered scales.
        config: The policy's configuration data.
    """

    question: Question
    facts: Facts
    result: Result
    view: View
    revision: int
    scales: Scales
    config: Mapping[str, Any]

    @property
    def document(self) -> Mapping[str, Any]:
        """The policy input."""
        return self.facts.document


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


def _authority(code: str, case: Case) -> dict[str, Any]:
    """The near miss that came furthest and fails with this code, by its failing edge."""
    near = case.facts.proof.near if case.facts.proof else ()
    miss = next((each for each in near if each.reason == code), None)
    if miss is None or case.question.target is None:
        return {}
    edge = miss.failed
    facts: dict[str, Any] = {"edge": edge.position, "root": miss.chain.edges[0].from_}
    detail = _DETAILS.get(code)
    if detail is not None:
        facts |= detail(miss, case, case.question.target)
    return facts


def _stale_epoch(miss: NearMiss, case: Case, target: Target) -> dict[str, Any]:
    floor = case.view.minimum_epoch(miss.failed, writes=target.spec.writes)
    return {"epoch": miss.failed.epoch, "minimum_epoch": floor}


def _ended(miss: NearMiss, _case: Case, _target: Target) -> dict[str, Any]:
    until = miss.failed.valid_until
    return {"valid_until": None if until is None else format_instant(until)}


def _begins(miss: NearMiss, _case: Case, _target: Target) -> dict[str, Any]:
    start = miss.failed.valid_from
    return {"valid_from": None if start is None else format_instant(start)}


def _depth(miss: NearMiss, case: Case, _target: Target) -> dict[str, Any]:
    hops = miss.chain.hops
    realm = case.view.realm.max_delegation_depth
    if miss.failed not in hops or miss.failed.max_depth is None:
        return {"edge": hops[0].position, "max_depth": realm, "depth": len(hops) - 1}
    after = len(hops) - 1 - hops.index(miss.failed)
    if miss.failed.max_depth >= after:
        return {"edge": hops[0].position, "max_depth": realm, "depth": len(hops) - 1}
    return {"max_depth": miss.failed.max_depth, "depth": after}


def uncovered(edge: Edge, target: Target) -> dict[str, Any]:
    """Return the first dimension in which `edge` does not cover the target, with what is outside."""
    scope = edge.scope
    if scope.actions is not None and target.action not in scope.actions:
        return {"dimension": "actions", "offending": [target.action]}
    if any(not any(target.under(each) for each in group) for group in scope.resources or ()):
        return {"dimension": "resources", "offending": [target.key]}
    if scope.fields is not None:
        outside = [name for name in target.fields if name not in scope.fields] or ["the whole resource"]
        if not target.fields or any(name not in scope.fields for name in target.fields):
            return {"dimension": "fields", "offending": outside}
    for name, values in scope.where:
        if target.dimension(name) not in values:
            return {"dimension": name, "offending": [f"{name} {target.dimension(name) or 'unknown'}"]}
    return {}


def _scope(miss: NearMiss, _case: Case, target: Target) -> dict[str, Any]:
    return uncovered(miss.failed, target)


def _attenuation(miss: NearMiss, _case: Case, target: Target) -> dict[str, Any]:
    """The earlier hop refuses what a later one claims: name the later as the edge, the earlier as its parent."""
    hops = miss.chain.hops
    child = hops[min(hops.index(miss.failed) + 1, len(hops) - 1)]
    return {"edge": child.position, "parent": miss.failed.position, **uncovered(miss.failed, target)}


def _condition(miss: NearMiss, case: Case, target: Target) -> dict[str, Any]:
    wanted = Truth.UNKNOWN if miss.reason == "condition_unknown" else Truth.NOT_MET
    for each in miss.failed.scope.conditions:
        if each.truth(target.attribute, case.scales) is wanted:
            actual = target.attribute(each.attribute)
            shown = "missing" if actual is None else actual
            return {"attribute": each.attribute, "condition": _phrase(each), "actual": shown}
    unknown = miss.failed.scope.unknown or tuple(
        name for name, _ in miss.failed.scope.where if not target.declares(name)
    )
    return {"attribute": unknown[0] if unknown else None}


def _phrase(condition: Condition) -> str:
    words = {"equals": "is", "in": "is one of", "at_most": "is at most", "at_least": "is at least"}
    values = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    shown = ", ".join(str(each).lower() if isinstance(each, bool) else str(each) for each in values)
    return f"`{condition.attribute}` {words.get(condition.operator, condition.operator)} {shown}"


_DETAILS: Final[dict[str, Callable[[NearMiss, Case, Target], dict[str, Any]]]] = {
    "stale_authority_epoch": _stale_epoch,
    "delegation_expired": _ended,
    "delegation_not_yet_valid": _begins,
    "depth_exceeded": _depth,
    "attenuation_violated": _attenuation,
    "scope_not_covered": _scope,
    "condition_unknown": _condition,
    "condition_not_met": _condition,
}


def _trust(_code: str, case: Case) -> dict[str, Any]:
    governance = case.document.get("governance") or {}
    if given := governance.get("power") or governance.get("delegation"):
        rights = given.get("rights") or [given]
        required = max((_demanded(case, each) for each in rights), default=0)
        return {"principal": given.get("holder") or given["to"], "trust": given["trust"], "required": required}
    hops = [hop for chain in case.document["chains"] for hop in chain["hops"] if hop["edge"] == "DELEGATES"]
    lowest = min(hops, key=lambda hop: hop["trust"], default=None)
    if lowest is None:
        return {}
    return {"principal": lowest["to"], "trust": lowest["trust"], "required": _required_trust(case)}


def _demanded(case: Case, right: Mapping[str, Any]) -> int:
    """The highest trust that an environment which a right reaches asks of a delegate."""
    reached = (right["scope"].get("where") or {}).get("environment")
    return max(
        (
            trust
            for each in right["classes"]
            for environment, trust in case.config["required_trust"].get(each, {}).items()
            if reached is None or environment in reached
        ),
        default=0,
    )


def _required_trust(case: Case) -> int:
    """The highest trust that one of the request's environments asks of a delegate."""
    demanded = case.config["required_trust"].get(case.document["action"]["class"], {})
    return max((demanded.get(each, 0) for each in _environments(case)), default=0)


def _environments(case: Case) -> list[str]:
    found = case.document["resource"]["dimensions"].get("environment") or {}
    return [*found.get("graph", ()), *([found["context"]] if found.get("context") else [])]


def _truncated(_code: str, case: Case) -> dict[str, Any]:
    proof = case.facts.proof
    return {"count": len(proof.found.chains) or None if proof else None}


def _ownership(code: str, case: Case) -> dict[str, Any]:
    rows = [row for row in case.document["resource"]["ownership"] if row["managed"]]
    root = _root(case)
    wanted = _OWNER_ROWS[code]
    row = next((each for each in rows if wanted(each, root)), rows[0] if rows else None)
    if row is None:
        return {}
    return {
        "field": row["field"],
        "owner": row["owner"],
        "owners": row["owners"] or None,
        "ownership_epoch": row["ownership_epoch"],
        "presented": _presented_epoch(case, row),
        "root": root.get("from"),
    }


Row = Mapping[str, Any]


def _is_of_another(row: Row, root: Row) -> bool:
    """Whether the owner of a field is another than the one that the root of the chain rests on."""
    if row["owner"] is None or _rests(root, row):
        return False
    if root.get("edge") == "OWNS":
        return bool(root["from"] != row["owner"])
    return row["field"] not in root.get("stamped_fields", ())


def _is_of_before(row: Row, root: Row) -> bool:
    """Whether the root of the chain rests on an earlier owner of a field."""
    if row["owner"] is None or _rests(root, row):
        return False
    return root.get("edge") == "OWNS" or row["field"] in root.get("stamped_fields", ())


def _rests(root: Row, row: Row) -> bool:
    stamp = {"edge_id": row["edge_id"], "ownership_epoch": row["ownership_epoch"]}
    if root.get("edge") == "OWNS":
        return all(root.get(name) == value for name, value in stamp.items())
    return stamp in root.get("rests_on", ())


_OWNER_ROWS: Final[dict[str, Callable[[Row, Row], bool]]] = {
    "ownership_unresolved": lambda row, _root: row["owner"] is None,
    "ownership_conflict": lambda row, _root: len(row["owners"]) > 1,
    "not_owner": _is_of_another,
    "stale_ownership_epoch": _is_of_before,
    "owner_frozen": lambda row, _root: bool(row["frozen"]),
}


def _root(case: Case) -> Row:
    """The root of the first chain, or of the first that came near; empty where there is neither."""
    chains = case.document["chains"] or case.document["near_misses"]
    root: Row = chains[0]["hops"][0] if chains else {}
    return root


def _presented_epoch(case: Case, row: Row) -> int | None:
    said = case.document["request"]["context"].get("ownership_epoch")
    if said is not None and row["ownership_epoch"] is not None and said < row["ownership_epoch"]:
        return int(said)
    for chain in case.document["chains"] or case.document["near_misses"]:
        root = chain["hops"][0]
        stamps = [each["ownership_epoch"] for each in root.get("rests_on") or ()]
        if root.get("ownership_epoch") is not None:
            stamps.append(root["ownership_epoch"])
        if stamps:
            return int(max(stamps))
    return None


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


def _transfer(code: str, case: Case) -> dict[str, Any]:
    return {
        **_ownership(code, case),
        "transfer_id": (case.document["coordination"]["transfer"] or {}).get("transfer_id"),
    }


_AUTHORITY_CODES: Final = (
    "principal_mismatch", "delegation_revoked", "stale_authority_epoch", "delegation_expired",
    "delegation_not_yet_valid", "depth_exceeded", "attenuation_violated", "scope_not_covered", "condition_unknown",
    "condition_not_met",
)  # fmt: skip
_BUILDERS: Final[dict[str, Callable[[str, Case], dict[str, Any]]]] = {
    "malformed_resource_key": _malformed,
    "unknown_field": _unknown_field,
    "identity_mismatch": _identity,
    **dict.fromkeys(_AUTHORITY_CODES, _authority),
    "trust_too_low": _trust,
    "proof_search_truncated": _truncated,
    **dict.fromkeys(_OWNER_ROWS, _ownership),
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
    "owner_frozen": _transfer,
}
