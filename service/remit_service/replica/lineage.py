"""Whether a ledger is still the one that a view was loaded from, and still has what comes next.

Another store, another incarnation, a history that was lost: nothing of the view may be answered any more. Where the
next revision was cut off, the view is of this ledger and cannot follow it. Either way it is loaded anew by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.errors import ForeignStore, HistoryRemoved, LedgerUnavailable

if TYPE_CHECKING:
    from remit_graph.head import Head
    from remit_graph.view.state import View


def require_same(head: Head, known: Head, had: int, view: View) -> None:
    """Check that the ledger at `head` goes on from where it was known.

    Args:
        head: Where it stands now.
        known: Where it stood when the view got its last entry.
        had: The revision of the view before the head was asked for.
        view: The view now.

    Raises:
        ForeignStore: it is another one.
    """
    is_same = (head.store_id, head.incarnation) == (known.store_id, known.incarnation) and head.revision >= had
    if is_same and (head.revision != view.revision or head.hash == view.hash):
        return
    raise ForeignStore(
        f"the ledger at revision {head.revision} of incarnation {head.incarnation} is not the one that was "
        f"loaded, at revision {had} of incarnation {known.incarnation}",
        advice="it is loaded anew by itself",
    )


def left_behind(view: View, error: HistoryRemoved) -> LedgerUnavailable:
    """Return what callers are told of a view whose next revision was removed."""
    return LedgerUnavailable(
        f"this decision point is at revision {view.revision}, and {error.message}",
        advice="it loads the ledger anew by itself; send the command again",
    )
