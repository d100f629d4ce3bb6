"""The graph as it was: an earlier revision or instant, rebuilt from the ledger. For reading, never for enforcement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.history import history_removed, require_kept
from remit_graph.model.instant import format_instant
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
        HistoryRemoved: it lies before where history begins.
        LedgerError: the history cannot be read.
    """
    if not 0 < revision <= newest.revision:
        raise RequestError(
            f"revision {revision} is not between 1 and {newest.revision} at `/at_revision`", pointer="/at_revision"
        )
    require_kept(revision, (await ledger.base()).revision, what=f"the state at revision {revision}")
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
        HistoryRemoved: it lies before where history begins.
        LedgerError: the history cannot be read.
    """
    if as_of > now:
        raise RequestError("the instant lies ahead at `/as_of`", pointer="/as_of")
    base = await ledger.base()
    if as_of < base.at:
        raise history_removed(f"the state of {format_instant(as_of)}", base.revision, base.at)
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
