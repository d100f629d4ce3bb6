"""The graph as it was: an earlier revision or instant, rebuilt from the ledger. For reading, never for enforcement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_service.decision.request import RequestError
from remit_service.replica.loading import CHUNK, from_checkpoint, read_some, take

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.ports import Ledger
    from remit_graph.view.state import View


async def view_at_revision(ledger: Ledger, newest: View, revision: int) -> View:
    """Return the graph at `revision`.

    Raises:
        RequestError: the revision lies ahead, or before the first one.
        LedgerError: the history cannot be read.
    """
    if not 0 < revision <= newest.revision:
        raise RequestError(
            f"revision {revision} is not between 1 and {newest.revision} at `/at_revision`", pointer="/at_revision"
        )
    view, _ = await from_checkpoint(
        ledger, newest.revision, fits=lambda checkpoint, _next: checkpoint.revision <= revision
    )
    while view.revision < revision:
        await take(view, await read_some(ledger, view.revision, min(CHUNK, revision - view.revision)))
    return view


async def view_as_of(ledger: Ledger, newest: View, as_of: Instant, now: Instant) -> View:
    """Return the graph as the last command before or at `as_of` left it.

    Raises:
        RequestError: the instant lies ahead, or before the first command.
        LedgerError: the history cannot be read.
    """
    if as_of > now:
        raise RequestError("the instant lies ahead at `/as_of`", pointer="/as_of")
    view, _ = await from_checkpoint(ledger, newest.revision, fits=lambda _checkpoint, following: following.at <= as_of)
    while view.revision < newest.revision:
        entries = await read_some(ledger, view.revision)
        before = [each for each in entries if each.at <= as_of]
        await take(view, before)
        if len(before) < len(entries):
            break
    if view.revision == 0:
        raise RequestError("nothing was known at this instant at `/as_of`", pointer="/as_of")
    return view
