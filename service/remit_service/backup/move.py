"""Moves a ledger into another store under the same identity: SQLite to Neo4j, or back.

Nothing is lost on the way, so the incarnation stays: leases, tokens and capabilities hold on. Two stores must never
share one, so the old store is closed before the first row is read, and stays closed. Killed at any point, the old one
is closed and the new one unfinished; the same command begins again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit_graph.backup.carry import remains_of, revisions_of
from remit_graph.errors import ForeignStore
from remit_graph.head import Beginning, State
from remit_graph.refusals import require_state
from remit_service.backup.state import READABLE, loaded, verified
from remit_service.replica.loading import beginning_of
from remit_service.stores import discard_unfinished, make_store, open_store

if TYPE_CHECKING:
    from remit_graph.backup.carry import Tell
    from remit_graph.head import Head
    from remit_graph.ports import Ledger
    from remit_service.clock import Clock
    from remit_service.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A ledger that was moved: where it stands in its new store, and what was carried."""

    head: Head
    rows: int
    answers: int
    state: str


async def move_store(source: Settings, target: Settings, *, clock: Clock, tell: Tell) -> Moved:
    """Move the ledger of one store into another, which does not exist, is empty, or was left unfinished by a move.

    Raises:
        ForeignStore: the target holds something, or the source went elsewhere; nothing was changed.
        LedgerError: the source is closed and the target unfinished; the same command begins again.
    """
    if source.store == target.store:
        raise ForeignStore(f"`{source.store}` cannot be moved to itself", advice="name another store with --to")
    ledger = await open_store(source, clock, accepts=READABLE)
    try:
        head = await ledger.head()
        if head.note != target.store:
            require_state(head, frozenset({State.READY}), source.store)
        beginning = Beginning(
            store_id=head.store_id,
            incarnation=head.incarnation,
            schema=head.schema,
            needs=head.needs,
            note=f"a move from {source.store}",
        )
        # (1) Found the target: whatever is wrong with it is told before the source is touched.
        await discard_unfinished(target, clock)
        filling = await make_store(target, clock, realm=head.realm, beginning=beginning)
        try:
            # (2) Close the source.
            await ledger.move_away(target.store)
            # (3) Carry every revision.
            _, head, state = await loaded(ledger)
            reached = await _begun(ledger, filling)
            rows = answers = 0
            async for some in revisions_of(ledger, head.revision, after=reached.revision):
                reached = await filling.put_back(reached, some)
                rows += sum(len(each.rows) for each in some)
                answers += sum(each.answer is not None for each in some)
                tell(reached.revision)
            # (4) Hold the two against each other, then let the new one be used.
            await verified(filling, head, state)
            head = await filling.finish(await filling.head())
        finally:
            await filling.aclose()
    finally:
        await ledger.aclose()
    return Moved(head=head, rows=rows, answers=answers, state=state)


async def _begun(ledger: Ledger, filling: Ledger) -> Head:
    """Let the new ledger begin where the old one does, and return its head."""
    base, image = await beginning_of(ledger)
    if image is not None:
        head = await filling.begin_at(await filling.head(), base, image)
        async for some in remains_of(ledger):
            await filling.put_remains(head, some)
    return await filling.head()
