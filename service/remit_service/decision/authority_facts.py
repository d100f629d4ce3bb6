"""The facts that sentences about authority name: the failing edge of a near miss, and what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.condition import Condition, Truth
from remit_graph.model.instant import format_instant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from remit_graph.model.edge import Edge
    from remit_graph.view.near import NearMiss
    from remit_graph.view.target import Target
    from remit_service.decision.case import Case

AUTHORITY_CODES: Final = (
    "principal_mismatch", "delegation_revoked", "stale_authority_epoch", "delegation_expired",
    "delegation_not_yet_valid", "depth_exceeded", "attenuation_violated", "scope_not_covered", "condition_unknown",
    "condition_not_met",
)  # fmt: skip
"""Checks that a chain can fail, each told of by the edge that fails it."""


def authority(code: str, case: Case) -> dict[str, Any]:
    """Return the facts of the near miss that came furthest and fails with this code, by its failing edge."""
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


def trust(_code: str, case: Case) -> dict[str, Any]:
    """Return the delegate that production would rely on too far, and the trust that is asked of it."""
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
    return max((demanded.get(each, 0) for each in case.environments), default=0)


def truncated(_code: str, case: Case) -> dict[str, Any]:
    """Return how many chains were looked at before the search was cut."""
    proof = case.facts.proof
    return {"count": len(proof.found.chains) or None if proof else None}
