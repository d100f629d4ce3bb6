"""What a decision tells of the lease that was presented, and when asking again can help (decision.md 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from remit_graph.model.instant import SECOND, format_instant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from remit_graph.model.instant import Instant
    from remit_service.decision.case import Case

WAITING: Final = frozenset({"serialize", "wait"})
"""Outcomes after which the same question can be answered otherwise, with nobody doing anything but letting go."""


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
