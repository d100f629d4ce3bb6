"""What a request presents: what sentences say of capabilities and approvals, and until when a permit may rest on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.model.instant import format_instant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.decision.case import Case


def capability_facts(_code: str, case: Case) -> dict[str, Any]:
    """Return the facts of a capability that is missing or does not count."""
    presented = case.document.get("capability") or {}
    item = str(presented.get("capability_id"))
    known = case.view.records.get("capability", {}).get(item) or case.view.coordination.spent.get(item)
    return {
        "environment": next(iter(case.environments), None),
        "capability_id": presented.get("capability_id"),
        "expires_at": None if known is None else format_instant(known["expires_at"]),
    }


def approval_facts(_code: str, case: Case) -> dict[str, Any]:
    """Return the facts of an approval that is missing, short of votes or stale."""
    demanded = case.result.get("approvals") or [{}]
    given = case.document.get("approval") or {}
    counting = given.get("approvers", ()) if given.get("current") else ()
    return {
        "rule": demanded[0].get("rule"),
        "quorum": demanded[0].get("quorum"),
        "approvers": str(len(counting)),
        "approval_id": given.get("approval_id"),
    }


def ends_of_presented(document: Mapping[str, Any], view: View) -> list[Instant]:
    """Return the ends of what a permit rests on beside its chain: a lease, an operation, a capability, an approval."""
    shown: list[tuple[str, str]] = []
    if presented := document["coordination"]["presented"]:
        shown.append(("lease", presented["lease_id"]))
    if capability := document.get("capability"):
        shown += [(noun, str(capability.get("capability_id"))) for noun in ("operation", "capability")]
    if approval := document.get("approval"):
        shown.append(("approval", str(approval.get("approval_id"))))
    records = [view.records.get(noun, {}).get(item) for noun, item in shown]
    return [each["expires_at"] for each in records if each is not None]
