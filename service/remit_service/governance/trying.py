"""Try changes on the view without appending them: apply, look, take back, all before anybody else can look."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from remit_graph.view.apply import apply_changes
from remit_graph.view.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from remit_graph.model.change import Change
    from remit_graph.model.instant import Instant
    from remit_graph.view.beside import Beside
    from remit_graph.view.state import View


@contextmanager
def tried(view: View, changes: Sequence[Change], at: Instant, *, made: Beside | None = None) -> Iterator[View]:
    """Yield this very view as it would be with `changes`; whoever uses it must not await, and asks about now before.

    Changes that were `made` ready beside this view, all of them, are put in place instead.
    """
    journal = Journal()
    try:
        apply_changes(view, changes, journal, revision=view.revision + 1, at=at, made=made)
        yield view
    finally:
        journal.undo()
