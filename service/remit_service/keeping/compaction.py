"""Compaction: a ledger's older history is taken out, and what it led to stays (rules.md 11).

(1) Find the last revision that goes, and load the state there.
(2) Make the image of it, and anchor its digest in the chain, under the actor `system`.
(3) Let history begin there: one short transaction, after which nobody reads what is older.
(4) Take the rows out, some at a time.

Killed after any of them, the store is sound, and the same command goes on: an anchor that nothing was cut at harms
nobody, and rows that nobody reads are taken out by the next compaction.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import timedelta
from time import perf_counter
from typing import TYPE_CHECKING, Final

from remit_graph.errors import GraphError, HistoryRemoved, LedgerError, ModelError
from remit_graph.history import Retention, base_anchor_of
from remit_graph.model.change import Change
from remit_graph.view.image_write import Snapshot
from remit_service.keeping.checkpoints import checkpoint_of
from remit_service.opening import SYSTEM
from remit_service.replica.history import view_at_revision
from remit_service.writer.command import Accepted, Submission

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_graph.head import Head
    from remit_graph.model.instant import Instant
    from remit_graph.ports import Ledger
    from remit_service.coordination.tables import Tables
    from remit_service.keeping.checkpoints import Submit
    from remit_service.replica.replica import Replica

PASSING: Final = frozenset({"ACQUIRE", "BEGIN_OPERATION", "COMPLETE_OPERATION", "DECLARE_WORK_SET", "PREEMPT"})
"""Commands of coordination that carry a request id. All others are governance: their answers stay for good."""

BEYOND_HOLD: Final = timedelta(hours=24)
"""How much longer than the longest hold the answers to coordination are kept (rules.md 11)."""

_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a compaction would do.

    Attributes:
        before: The revision that history begins after so far.
        base: The one it will begin after; not more than `before` where nothing is to be removed.
        head: The last revision of the ledger.
        rows: Rows that would go, those included that an earlier compaction cut off and left.
        size: Bytes of them; the store adds to that.
    """

    before: int
    base: int
    head: int
    rows: int
    size: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be removed: history begins there already, and no row was left."""
        return not self.rows and self.base <= self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What a compaction did.

    Attributes:
        plan: What it was to do.
        base: The revision that history begins after now; a later one than planned where another process cut it there.
        rows: Rows that went by it, and `answers` to request ids.
        anchored_at: The revision of the anchor that history begins by; 0 where nothing was to be cut.
        seconds: How long it took.
    """

    plan: Plan
    base: int
    rows: int
    answers: int
    anchored_at: int
    seconds: float


def retention_of(tables: Tables) -> Retention:
    """Return how long answers to request ids are kept, by the longest hold of the policy in force."""
    longest = max([tables.leases.max_hold_us, *tables.max_hold_us.values()])
    return Retention(actions=PASSING, kept_for=longest * _MICROSECOND + BEYOND_HOLD)


async def last_before(ledger: Ledger, instant: Instant) -> int:
    """Return the last revision of before an instant, or the base where there is none that is left.

    Revisions are ordered by their instants, so some twenty of them are read, however many there are.

    Raises:
        LedgerError: the history cannot be read.
    """
    while True:
        head = await ledger.head()
        low, high = head.base, head.revision
        try:
            while low < high:
                middle = (low + high + 1) // 2
                if (await ledger.read(middle - 1, 1))[0].at < instant:
                    low = middle
                else:
                    high = middle - 1
        except HistoryRemoved:
            # Another process cut it meanwhile.
            continue
        return low


async def plan_compaction(ledger: Ledger, revision: int) -> Plan:
    """Return what a compaction would do that removes everything up to `revision`.

    Raises:
        ModelError: the ledger has not come that far.
        LedgerError: the ledger cannot be read.
    """
    head: Head = await ledger.head()
    if not 0 <= revision <= head.revision:
        raise ModelError(f"revision {revision} is not between 0 and {head.revision}")
    weight = await ledger.weigh(max(revision, head.base))
    return Plan(before=head.base, base=max(revision, head.base), head=head.revision, rows=weight.rows, size=weight.size)


async def compact(
    replica: Replica, submit: Submit, plan: Plan, retention: Retention, *, tell: Callable[[int], None] | None = None
) -> Compacted:
    """Remove the history of a ledger as planned, and what an earlier compaction left.

    Args:
        replica: A running replica of the ledger. A second view is held beside its own until the image is made.
        submit: Appends the anchor.
        plan: What goes; another process may have cut history meanwhile.
        retention: How long answers are kept.
        tell: Told how many rows went so far.

    Raises:
        LedgerError: it cannot be read or written; the same command goes on.
    """
    started = perf_counter()
    ledger = replica.ledger
    anchored_at = 0
    if plan.base > (await ledger.base()).revision:
        anchored_at = await _cut(replica, submit, plan.base)
        with contextlib.suppress(LedgerError):
            # Whoever asks this process is told at once where history begins, and otherwise when the tail has told it.
            await replica.catch_up()
    rows = answers = 0
    while True:
        swept = await ledger.sweep(retention)
        rows, answers = rows + swept.rows, answers + swept.answers
        if tell is not None:
            tell(rows)
        if swept.is_done:
            break
    return Compacted(
        plan=plan,
        base=(await ledger.base()).revision,
        rows=rows,
        answers=answers,
        anchored_at=anchored_at,
        seconds=perf_counter() - started,
    )


async def _cut(replica: Replica, submit: Submit, revision: int) -> int:
    """Let history begin after `revision`, and return the revision of the anchor that it begins by.

    Another process may cut it there, or further on, meanwhile, and is in the way at any step. What is asked for is done
    then; so it is where the answer of the store was lost.
    """
    try:
        return await _cut_here(replica, submit, revision)
    except GraphError:
        base = await replica.ledger.base()
        if base.revision < revision:
            raise
        return base.anchored_at


async def _cut_here(replica: Replica, submit: Submit, revision: int) -> int:
    # (1) The state there.
    await replica.catch_up()
    view = await view_at_revision(replica.ledger, replica.view, revision)
    if view.revision != revision:
        raise LedgerError(f"the state of revision {view.revision} was loaded, and {revision} is wanted")
    checkpoint = await checkpoint_of(Snapshot(view))
    # (2) Its digest in the chain.
    verdict = Accepted(changes=(Change("anchor", base_anchor_of(checkpoint)),), result={"digest": checkpoint.digest})
    done = await submit(
        Submission(action="COMPACT", actor=SYSTEM, decide=lambda _view, _at: verdict, reason="history is cut here")
    )
    # (3) History begins there.
    return (await replica.ledger.cut(checkpoint, done.revision)).anchored_at
