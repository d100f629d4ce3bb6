"""What goes along with the view, as the policy bundle does: never ahead of it, never behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.model.change import Entry
    from remit_graph.view.state import View


class Companion(Protocol):
    """What goes along with the view: made ready before the view has a revision, in force in the same breath."""

    async def prepare(self, entries: Sequence[Entry]) -> None:
        """Make ready for entries that the view is about to get; raises for nothing that they say."""

    async def prepare_for(self, view: View) -> None:
        """Make ready for a view that was loaded anew."""

    def settle(self, view: View) -> None:
        """Be what `view` says, which it has just become; nothing may be awaited."""
