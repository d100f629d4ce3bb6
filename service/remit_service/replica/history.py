"""The graph as it was: an earlier revision or instant, rebuilt from the ledger. For reading, never for enforcement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from remit_graph.view.apply import apply
from remit_graph.view.state import View
from remit_service.decision.request import RequestError

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_graph.ports import Ledger

CHUNK: Final = 2_000


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
    view = View()
    while view.revision < revision:
        for entry in await ledger.read(view.revision, min(CHUNK, revision - view.revision)):
            apply(view, entry)
    return view


async def view_as_of(ledger: Ledger, newest: View, as_of: Instant, now: Instant) -> View:
    """Return the graph as the last command before or at `as_of` left it.

    Raises:
        RequestError: the instant lies ahead, or before the first command.
        LedgerError: the history cannot be read.
    """
    if as_of > now:
        raise RequestError("the instant lies ahead at `/as_of`", pointer="/as_of")
    view = View()
    while view.revision < newest.revision:
        for entry in await ledger.read(view.revision, CHUNK):
            if entry.at > as_of:
                return _begun(view)
            apply(view, entry)
    return _begun(view)


def _begun(view: View) -> View:
    if view.revision == 0:
        raise RequestError("nothing was known at this instant at `/as_of`", pointer="/as_of")
    return view
