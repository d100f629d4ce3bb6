"""Why a ledger refuses an append, in the words of both stores: what is asked of one is asked of the other.

The order in `why_not_moved` goes from what cannot be mended to what can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.errors import ForeignStore, GraphError, HeadMoved, ModelError, SchemaTooNew, TurnTaken
from remit_graph.model.change import SCHEMA
from remit_graph.model.instant import SECOND, Instant, format_instant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit_graph.ports import Head


def require_known_schema(expected: Head) -> None:
    """Check that rows may be written for a store as this program spells them.

    Raises:
        SchemaTooNew: the store has been switched to rows of a later schema.
    """
    if expected.schema > SCHEMA:
        raise SchemaTooNew(
            f"the store takes rows of schema {expected.schema}, and this program writes up to {SCHEMA}",
            advice="install the version of Remit that the other decision points run",
            schema=expected.schema,
        )


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
