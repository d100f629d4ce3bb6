"""The tables of coordination: what a decision or a command looks up about who holds, waits, edits and moves what.

Records themselves stand in `View.records` by noun and id, as everything else that is no edge. Here is how to find them,
and what outlives them: fencing tokens, superseded versions, who wrote a field last. All of it follows from the changes
alone and is taken back by the same journal.

What is kept of things that ended is bounded (`Kept`): forgetting it changes which reason a refusal names, never whether
it refuses, because a lease that is not here is not held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.view.coordination.kept import Kept
from remit_graph.view.coordination.keys import KeyIndex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant

ENDED_KEPT: Final = 20_000
"""Leases, waiters, operations, capabilities and approvals that ended and can still be asked about."""

RECORDS_KEPT: Final = 20_000
"""Receipts, conflicts, notices and observations at hand; older ones are in the ledger."""

KEYS_KEPT: Final = 100_000
"""Keys whose last token, versions and writers are known; the ones used longest ago are forgotten first."""

Record = dict[str, Any]
Members = dict[str, dict[str, Any]]


class Coordination:
    """Indexes over the records of coordination; written only by the handlers of this package.

    Attributes:
        leases, waiters: By the keys they are on.
        held, waiting, operating, editing: Principal to the ids of its leases, waiters, operations and presences.
        entangled: Principals that wait, and hold or wait for something else besides: only they can be in a cycle.
        shifting: Waiters whose place may change with time alone: all but those that are served in the order they came.
        asked_by: (noun, enforcement point) to the ids that were asked for through it.
        members: Fence key to its unreleased leases under a token that no conflicting raise has passed, with the token.
        fences: Resource key to the last token of each of its fences, by field or `*`.
        raised, raised_below: Key to the last token raised there, or anywhere below it, by conflict domain.
        resting: Position of an edge to the (noun, id) of what rests on it.
        shown: (noun, id) of a capability or approval to the (noun, id) of what was asked for with it.
        due: Second to the (noun, id) of what ends in it; `due_at` is the way back.
        ended, left, closed, spent: Leases, waiters, operations, and capabilities with approvals that ended, by id.
        present: Resource key to the presences there.
        incidents: Resource key to the open incidents there.
        frozen: Transfers by whose freeze nothing starts or renews, by id.
        versions: Resource key to the version the ledger knows as the last and those it knows as superseded.
        writers: Fence key to the last principals that wrote it, oldest first.
        delays: Resource key to the instant before which no lease may begin there.
        cooldowns: Principal to the instant before which it may not preempt.
        fair: Resource key to the virtual time of each class in its queue.
        notices_for: Principal to its notices.
        counters: Completed and uncoordinated writes.
    """

    def __init__(self, records: Record) -> None:
        """Start empty; the records that are bounded are kept here and shown in `records`."""
        self.leases = KeyIndex()
        self.waiters = KeyIndex()
        self.work_sets = KeyIndex()
        self.held: Members = {}
        self.waiting: Members = {}
        self.operating: Members = {}
        self.editing: Members = {}
        self.entangled: dict[str, None] = {}
        self.shifting: dict[str, None] = {}
        self.asked_by: dict[tuple[str, str], dict[str, None]] = {}
        self.members: dict[str, dict[str, int]] = {}
        self.fences = Kept(KEYS_KEPT)
        self.raised = Kept(KEYS_KEPT)
        self.raised_below = Kept(KEYS_KEPT)
        self.resting: dict[str, dict[tuple[str, str], None]] = {}
        self.shown: dict[tuple[str, str], dict[tuple[str, str], None]] = {}
        self.due: dict[int, dict[tuple[str, str], None]] = {}
        self.due_at: dict[tuple[str, str], int] = {}
        self.ended = Kept(ENDED_KEPT)
        self.left = Kept(ENDED_KEPT)
        self.closed = Kept(ENDED_KEPT)
        self.spent = Kept(ENDED_KEPT)
        self.present: dict[str, dict[str, None]] = {}
        self.incidents: dict[str, dict[str, None]] = {}
        self.frozen: dict[str, None] = {}
        self.versions = Kept(KEYS_KEPT)
        self.writers = Kept(KEYS_KEPT)
        self.delays = Kept(RECORDS_KEPT)
        self.cooldowns: dict[str, Instant] = {}
        self.fair: dict[str, dict[str, int]] = {}
        self.notices_for: dict[str, dict[str, None]] = {}
        self.counters: dict[str, int] = {"writes_completed": 0, "writes_uncoordinated": 0}
        self.kept_records = {noun: Kept(RECORDS_KEPT) for noun in ("receipt", "conflict", "notice", "observation")}
        for noun, kept in self.kept_records.items():
            records[noun] = kept.items

    @property
    def is_idle(self) -> bool:
        """Whether nobody holds, waits, edits or transfers anything, and no incident is open."""
        return not (self.leases or self.waiters or self.present or self.incidents or self.frozen)

    @property
    def may_be_tied(self) -> bool:
        """Whether time alone may have closed a cycle of waits."""
        return bool(self.entangled and self.shifting)

    def is_superseded(self, key: str, version: object) -> bool:
        """Whether a completed operation on `key` is known to have replaced this version by another."""
        known: Mapping[str, Any] | None = self.versions.get(key)
        return known is not None and version in known["superseded"]

    def fence(self, key: str, field: str) -> int:
        """Return the last token of a fence key, or 0."""
        known: Mapping[str, int] | None = self.fences.get(key)
        return 0 if known is None else known.get(field, 0)
