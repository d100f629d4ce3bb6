"""Why a ledger refuses an append, in the words of both stores: what is asked of one is asked of the other.

The order in `why_not_moved` goes from what cannot be mended to what can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.errors import ForeignStore, GraphError, HeadMoved, ModelError, SchemaTooNew, TurnTaken
from remit_graph.head import State
from remit_graph.model.change import SCHEMA, verify_rows
from remit_graph.model.instant import SECOND, Instant, format_instant

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from remit_graph.head import Head
    from remit_graph.stored import Stored


def require_known_schema(expected: Head) -> None:
    """Check that rows may be written for a store as this program spells them.

    Raises:
        SchemaTooNew: the store has been switched to rows of a later schema.
    """
    if expected.schema > SCHEMA:
        raise SchemaTooNew(
            f"the store takes rows of schema {expected.schema}, and this program writes up to {SCHEMA}",
            advice=version_advice(expected.needs),
            schema=expected.schema,
        )


def too_new(revision: int, schema: int, needs: str) -> SchemaTooNew:
    """Return the error for a revision that this program does not know: it is never passed over (rules.md 2)."""
    return SchemaTooNew(
        f"revision {revision} is of schema {schema}, and this program knows schemas up to {SCHEMA}",
        advice=version_advice(needs),
        schema=schema,
        revision=revision,
        needs=needs,
    )


def version_advice(needs: str) -> str:
    """Say which version of Remit a store needs, as far as the store knows it."""
    return f"install Remit {needs} or later" if needs else "install the version of Remit that wrote it, or a later one"


def require_state(head: Head, accepted: Collection[State], place: str) -> None:
    """Check that a ledger is in a state in which it may be used.

    Raises:
        ForeignStore: it is unfinished, or went on elsewhere; `facts` hold `state`.
    """
    if head.state in accepted:
        return
    if head.state is State.UNFINISHED:
        raise ForeignStore(
            f"the ledger at `{place}` is unfinished: {head.note} was cut short or is still under way",
            advice="wait for it, or begin it again with the same command: what is there is then thrown away",
            state=str(head.state),
        )
    if head.state is State.MOVED:
        raise ForeignStore(
            f"the ledger at `{place}` went on at `{head.note}`, and this one is closed",
            advice="use that one; if it is lost, `remit store reopen` makes this one a store of its own again",
            state=str(head.state),
        )
    raise ForeignStore(f"the ledger at `{place}` is in use already", advice="name another place", state=str(head.state))


def not_unfinished(place: str) -> ForeignStore:
    """Return the error for a ledger that was to be finished and is not unfinished."""
    return ForeignStore(f"the ledger at `{place}` is not unfinished", advice="look at it with `remit store check`")


def require_links(revisions: Sequence[Stored], expected: Head) -> None:
    """Check that revisions as they stood elsewhere follow `expected`, whole and without a gap.

    Raises:
        ChainBroken: they do not.
    """
    rows = [row for each in revisions for row in each.rows]
    verify_rows(rows, previous=expected.hash, after=expected.revision)


def require_order(instants: Iterable[Instant], before: Instant) -> None:
    """Check that no command is of an instant before the one ahead of it.

    Raises:
        ModelError: one is; `facts` hold its `index`.
    """
    for index, at in enumerate(instants):
        if at < before:
            raise ModelError(
                f"command {index} is of {format_instant(at)}, before the last one, {format_instant(before)}",
                index=index,
                at=at,
                bound=before,
            )
        before = at


def require_near(instants: Iterable[Instant], now: Instant, skew: int) -> None:
    """Check that no command is of an instant further ahead of the store's clock than `skew`, in microseconds.

    Raises:
        ModelError: one is; `facts` hold its `index`.
    """
    for index, at in enumerate(instants):
        if at > now + skew:
            raise ModelError(
                f"command {index} is of {format_instant(at)}, more than {skew / SECOND:g} s "
                f"ahead of the store's clock, {format_instant(now)}",
                index=index,
                at=at,
                bound=now + skew,
            )


def why_not_moved(expected: Head, head: Head) -> GraphError | None:
    """Say why a head could not be moved from where the writer decided; None where it stands there."""
    if (head.store_id, head.incarnation) != (expected.store_id, expected.incarnation):
        return ForeignStore(
            f"the writer decided on incarnation {expected.incarnation} of store `{expected.store_id}`, "
            f"and this is incarnation {head.incarnation} of `{head.store_id}`",
            advice="load the state anew: the ledger was restored or replaced",
        )
    if head.state != expected.state:
        return ForeignStore(
            f"the ledger was {expected.state} when the writer decided, and is {head.state} now: {head.note}",
            advice="use the store that it names" if head.state is State.MOVED else "begin again",
            state=str(head.state),
        )
    if head.revision < expected.revision or (head.revision == expected.revision and head.hash != expected.hash):
        return ForeignStore(
            f"the writer decided on revision {expected.revision} with hash {expected.hash}, "
            f"and the ledger stands at revision {head.revision} with hash {head.hash}: it lost what it had",
            advice="stop writing and compare backups; put a backup back only with `remit store restore`",
        )
    if head.revision > expected.revision or head.schema != expected.schema:
        return HeadMoved(
            f"the head is at revision {head.revision}, the writer decided on {expected.revision}",
            expected=expected.revision,
            actual=head.revision,
        )
    return None


def turn_taken(until: Instant, now: Instant) -> TurnTaken:
    """Return the error for a writer that appends in the turn of another."""
    return TurnTaken(
        "another writer has the turn to append",
        advice="ask for the next turn, catch up and decide again",
        until=until,
        now=now,
    )
