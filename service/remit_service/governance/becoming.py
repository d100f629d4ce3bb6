"""The graph as it would be with what a command changes, over a while in which the graph itself moves.

    becoming = Becoming(point, structure, Decided.on(view, changes), again)
    while await becoming.is_ready():
        with becoming.tried(at) as view: ...

What is tried rests on one revision: whoever asks `is_ready` and awaits nothing since has both sides of it, as the graph
is and as it would be. While the structure stands, what was decided is tried on the graph of now, without what it says
of leases and the like that have moved since; where the structure moved, the command is decided anew.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from remit_graph.view.apply import RECORD_NOUNS
from remit_graph.view.beside import beside, is_large
from remit_service.governance.trying import tried
from remit_service.slices import Abandoned, in_slices
from remit_service.writer.command import Accepted, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from remit_graph.model.change import Change
    from remit_graph.model.instant import Instant
    from remit_graph.view.beside import Beside
    from remit_graph.view.state import View
    from remit_service.governance.structure import Structure
    from remit_service.point import DecisionPoint

MOST_ANEW: Final = 16
"""How often a command is decided anew while its impact is looked at; after that the graph is too restless for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a command would change, as it was decided.

    Attributes:
        view, revision: The graph that it was decided on.
        verdict: What it came to.
        made: All its changes made ready beside that graph, where they are many and that was done.
        records: What the changes put or end besides structure, by noun and id, as it was then.
    """

    view: View
    revision: int
    verdict: Accepted
    made: Beside | None
    records: Mapping[tuple[str, str], Any]

    @classmethod
    def on(cls, view: View, verdict: Accepted) -> Decided:
        """Return what was decided on `view` just now: nothing was awaited since."""
        changes, made = verdict.changes, verdict.made
        if made is not None:
            made = replace(made, rest=(*made.rest, *changes[len(made.changes) :]))
        records = {name: _record(view, name) for name in map(_named, changes) if name is not None}
        return cls(view=view, revision=view.revision, verdict=verdict, made=made, records=records)

    def tried(self, at: Instant) -> AbstractContextManager[View]:
        """Try it, for a moment; what it says of a record that has moved since is left out."""
        if self.view.revision == self.revision:
            return tried(self.view, self.verdict.changes, at, made=self.made)
        made = None if self.made is None else replace(self.made, rest=self._standing(self.made.rest))
        return tried(self.view, self._standing(self.verdict.changes), at, made=made)

    def _standing(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        names = ((each, _named(each)) for each in changes)
        return tuple(each for each, name in names if name is None or _record(self.view, name) is self.records.get(name))


Again = Callable[[], Awaitable[Decided | Refused]]
"""Decides a command anew, on the graph of now."""


class Becoming:
    """What a command would make of the graph, as long as somebody looks at it."""

    def __init__(
        self,
        point: DecisionPoint,
        structure: Structure,
        decided: Decided,
        again: Again,
    ) -> None:
        """Begin with what was decided already."""
        self._point = point
        self._structure = structure
        self._decided: Decided = decided
        self._again = again
        self._left = MOST_ANEW
        self._is_made = False

    async def is_ready(self) -> bool:
        """Get ready for the graph of now; False where the command would be refused by now, or nothing stands still."""
        while True:
            if not self._is_made and self._stands():
                await self._make()
            if self._is_made and self._stands():
                return True
            if not self._left:
                return False
            self._left -= 1
            decided = await self._again()
            if isinstance(decided, Refused):
                return False
            self._decided, self._is_made = decided, False

    def tried(self, at: Instant) -> AbstractContextManager[View]:
        """Yield the graph as it would be; right after `is_ready`, and whoever uses it must not await."""
        return self._decided.tried(at)

    def _stands(self) -> bool:
        return self._structure.stands(self._decided.view, self._decided.revision)

    async def _make(self) -> None:
        """Make many edges ready beside the view, so that they are not tried anew for each part of the work."""
        decided = self._decided
        if decided.made is None and is_large(decided.verdict.changes):
            steps = beside(decided.view, decided.verdict.changes, revision=decided.revision + 1, at=self._point.now())
            try:
                made = await in_slices(steps, holds=self._stands)
            except Abandoned:
                return
            self._decided = replace(decided, made=made)
        self._is_made = True


def _named(change: Change) -> tuple[str, str] | None:
    """Return noun and id of the record that a change is about, or None where it is about structure."""
    noun = change.kind.rpartition(".")[0]
    return (noun, str(change.body.get("id"))) if noun in RECORD_NOUNS else None


def _record(view: View, name: tuple[str, str]) -> Any:
    return view.records.get(name[0], {}).get(name[1])
