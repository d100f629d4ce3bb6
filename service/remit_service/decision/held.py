"""What a decision tells of the lease that was presented, and when asking again can help (decision.md 6).

What became of a lease is told by its own state: a lease that was taken alone and given back leaves no receipt, and one
that was lost leaves one all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from remit_graph.model.instant import SECOND, format_instant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.decision.case import Case

WAITING: Final = frozenset({"serialize", "wait"})
"""Outcomes after which the same question can be answered otherwise, with nobody doing anything but letting go."""

LOST: Final = frozenset({"EXPIRED", "PREEMPTED", "REVOKED"})
"""How an operation ends that loses a lease: what else it held is let go for it, and not given back by it."""


class Own(NamedTuple):
    """The caller's own lease, and the receipt of it where it has ended; None where nothing of its own was shown."""

    lease: Mapping[str, Any] | None
    receipt_id: str | None


NOTHING: Final = Own(None, None)


def own_lease(case: Case) -> Own:
    """Return the lease that the subject itself held and presented; that of somebody else is nobody's business."""
    shown = case.document["coordination"]["presented"]
    if shown is None:
        return NOTHING
    lease_id = str(shown["lease_id"])
    tables = case.view.coordination
    lease = case.view.records.get("lease", {}).get(lease_id) or tables.ended.get(lease_id)
    if lease is None or lease["holder"] != case.document["subject"]["principal"]:
        return NOTHING
    told = {name: shown[name] for name in ("lease_id", "fencing_token", "state", "mode") if shown.get(name) is not None}
    receipt = lease["coordination_id"]
    written = receipt in tables.kept_records["receipt"].items
    return Own({**told, "expires_at": format_instant(lease["expires_at"])}, receipt if written else None)


def became_of(view: View, lease_id: str, at: Instant) -> dict[str, Any] | None:
    """Return whether a lease was given back, how or when it ends, and its receipt; None where unknown."""
    lease = view.records.get("lease", {}).get(lease_id)
    if lease is not None:
        state = "EXPIRED" if lease["expires_at"] <= at else lease["state"]
        return {"given_back": False, "state": state, "expires_at": format_instant(lease["expires_at"])}
    lease = view.coordination.ended.get(lease_id)
    if lease is None:
        return None
    state, given_back, evidence = lease["state"], lease["state"] == "RELEASED", {}
    receipt = view.coordination.kept_records["receipt"].items.get(lease["coordination_id"])
    if receipt is not None:
        given_back = given_back and receipt.get("ended_as", receipt["status"]) not in LOST
        evidence = {"receipt_id": receipt["receipt_id"], "status": receipt["status"]}
    return {"given_back": given_back, "state": state, "ended_at": format_instant(lease["ended_at"]), **evidence}


def retry_after_seconds(case: Case, outcome: str) -> int | None:
    """Return when the earliest of what stands in the way ends, in whole seconds; None where waiting will not help."""
    if outcome not in WAITING:
        return None
    at = case.question.at
    soonest = min((until for until in _ends(case) if until > at), default=None)
    return None if soonest is None else max(1, -((at - soonest) // SECOND))


def _ends(case: Case) -> Iterator[Instant]:
    leases = case.view.records.get("lease", {})
    for conflict in case.result.get("conflicts") or ():
        lease = leases.get(str(conflict.get("lease_id")))
        if lease is not None:
            yield lease["expires_at"]
