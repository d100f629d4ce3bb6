"""Expiry: what is over has ended whoever notices. Noticing is idempotent, and says EXPIRED, never revoked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.view.ground import ground_of
from remit_service.coordination.holding import held_keys
from remit_service.coordination.receipt import lose_lease
from remit_service.coordination.states import LeaseState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from remit_service.coordination.holding import Holding
    from remit_service.coordination.values import Record
    from remit_service.coordination.work import Work


def expire_near(work: Work, holdings: Sequence[Holding]) -> list[str]:
    """End the leases that are over at, above or below these keys; returns the keys that became free."""
    index = work.view.coordination.leases
    if not index:
        return []
    leases = work.view.records["lease"]
    near = {each for key in held_keys(holdings) for each in index.near(ground_of(work.view, key, work.at).keys)}
    return expire(work, [leases[each] for each in sorted(near) if not work.lives(leases[each])])


def expire(work: Work, leases: Iterable[Record]) -> list[str]:
    """End leases that are over, each with its receipt; returns the keys that became free."""
    freed: list[str] = []
    for lease in leases:
        # The operation of an earlier one may have taken this one along.
        if work.record("lease", lease["id"]) is not None:
            freed.extend(freed_by(work, lease))
            lose_lease(work, lease, LeaseState.EXPIRED, code="lease_expired")
    return freed


def freed_by(work: Work, lease: Record) -> list[str]:
    """Return every key that becomes free with this lease: its own, and those of its operation's other leases."""
    operation = work.record("operation", lease["coordination_id"])
    ids = operation["lease_ids"] if operation is not None else [lease["id"]]
    known = [each for each in (work.record("lease", one) for one in ids) if each is not None]
    return held_keys(known)
