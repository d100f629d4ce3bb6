"""What stands between a permit and a lease beside the policy: quotas, breadth, lock order, declared work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.model.key import covers, segments_of
from remit_graph.model.principal import HOLDER_KINDS
from remit_service.coordination.values import Refusal
from remit_service.coordination.work import Work, refuse
from remit_service.coordination.work_set import work_set_refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from remit_graph.model.instant import Instant
    from remit_service.coordination.origin import Origin
    from remit_service.coordination.values import Claim

LABEL: Final = 1
"""Segments of a key that is a label and names nothing in particular: `production` (S42)."""


def first_refusal(work: Work, origin: Origin, claims: Sequence[Claim]) -> Refusal | None:
    """Return the first reason beside the policy for which a request is refused, or None."""
    return (
        _holder(claims)
        or _breadth(work, claims)
        or _leaseless(work, origin, claims)
        or quota_refusal(work, "lease", claims[0].subject, origin.point, len(claims))
        or (quota_refusal(work, "operation", claims[0].subject, origin.point, 1) if origin.protocol else None)
        or work_set_refusal(work, origin.work_set_id, claims)
        or _lock_order(work, claims)
    )


def _holder(claims: Sequence[Claim]) -> Refusal | None:
    """A role cannot hold a lease; what runs or lives can (coordination.md 2)."""
    for claim in claims:
        if claim.subject.partition(":")[0] not in HOLDER_KINDS:
            problem = f"a lease is held by an instance, human or service, and `{claim.subject}` is none"
            return refuse("malformed_request", pointer="/subject", problem=problem)
    if len({claim.subject for claim in claims}) > 1:
        return refuse("malformed_request", pointer="/resources", problem="one holder asks for all of them")
    if len({claim.key for claim in claims}) < len(claims):
        return refuse("malformed_request", pointer="/resources", problem="a resource is named twice")
    return None


def _breadth(work: Work, claims: Sequence[Claim]) -> Refusal | None:
    for claim in claims:
        segments = segments_of(claim.key)
        broad = any(covers(segments_of(each), segments) and len(segments_of(each)) == len(segments)
                    for each in work.tables.too_broad)  # fmt: skip
        if len(segments) <= LABEL or not claim.type.key.names or broad:
            return refuse("key_too_broad", key=claim.key)
    return None


def _leaseless(work: Work, origin: Origin, claims: Sequence[Claim]) -> Refusal | None:
    """Only what meets others at the version may begin without a lease."""
    if not origin.leaseless:
        return None
    needs = [claim for claim in claims if "lease" in work.tables.demands.get(claim.concurrency, {"lease"})]
    return refuse("lease_required", "acquire", key=needs[0].key) if needs else None


def quota_refusal(work: Work, noun: str, principal: str, point: str, more: int) -> Refusal | None:
    """Refuse what would go beyond what one principal or one enforcement point may have (rules.md 14)."""
    tables, limits = work.view.coordination, work.tables.limits
    index = {"lease": tables.held, "waiter": tables.waiting, "operation": tables.operating, "presence": tables.editing}
    for whose, maximum, there in (
        (principal, getattr(limits.principal, noun), index[noun].get(principal, ())),
        (point, getattr(limits.point, noun), tables.asked_by.get((noun, point), ())),
    ):
        if len(there) + more > maximum:
            facts = {"limit": f"{noun}s of `{whose}`", "maximum": maximum, "count": len(there)}
            return Refusal(code="limit_exceeded", facts=facts, retry_at=_first_end(work, noun, there))
    return None


def _first_end(work: Work, noun: str, there: Iterable[str]) -> Instant | None:
    """When the first of what counts is over by itself; None where nothing is there, so that waiting helps nobody."""
    member = "wait_until" if noun == "waiter" else "expires_at"
    records = (work.record(noun, each) for each in there)
    return min((each[member] for each in records if each is not None), default=None)


def _lock_order(work: Work, claims: Sequence[Claim]) -> Refusal | None:
    """Keys are taken together, or by `lock_rank` and then key: whoever holds a higher one does not ask for a lower."""
    if not work.tables.leases.ordered:
        return None
    leases = work.view.records.get("lease", {})
    held = [leases[each] for each in work.view.coordination.held.get(claims[0].subject, ())]
    taken = [(_rank(work, each["resource_type"]), each["resource_key"]) for each in held if work.lives(each)]
    if not taken:
        return None
    highest = max(taken)
    keys = {key for _, key in taken}
    for claim in claims:
        if claim.key not in keys and (claim.type.lock_rank, claim.key) < highest:
            return refuse("lock_order_violated", key=claim.key, held_key=highest[1])
    return None


def _rank(work: Work, type_name: str) -> int:
    declared = work.view.types.get(type_name)
    return declared.lock_rank if declared is not None else 0
