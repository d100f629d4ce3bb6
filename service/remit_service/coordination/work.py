"""The working copy of one step: what it has changed so far, laid over the view, and taken back when it is over.

Whoever decides sees the changes of its own step: a waiter is judged on a state in which the lease before it has ended.
Nobody else does, because the view is as it was before anybody else can look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.model.change import Change
from remit_graph.view.apply import apply_changes
from remit_graph.view.journal import Journal
from remit_service.coordination.bounds import MAX_QUESTIONS
from remit_service.coordination.fence import token_at
from remit_service.coordination.values import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from remit_graph.model.instant import Instant
    from remit_graph.view.beside import Beside
    from remit_graph.view.state import View
    from remit_service.coordination.tables import Tables
    from remit_service.coordination.values import Record


class Work:
    """One step on one view at one instant.

    Attributes:
        view: The state, with the step's own changes in it.
        tables: Policy data.
        at: The instant of the step.
        revision: The revision its changes will have.
        token: The fencing token of whatever it raises.
        changes: So far, in order.
        questions: How many the policy was asked.
        granted: The leases of this step.
        collisions: Pairs of shapes of requests that were compared, with whether they collide.
        is_unfinished: Whether something is left over for a follow-up command.
    """

    def __init__(self, view: View, tables: Tables, at: Instant) -> None:
        """Begin with nothing changed."""
        self.view = view
        self.tables = tables
        self.at = at
        self.revision = view.revision + 1
        self.token = token_at(view, self.revision)
        self.changes: list[Change] = []
        self.questions = 0
        self.granted: list[Record] = []
        self.is_unfinished = False
        self.collisions: dict[tuple[str, str], bool] = {}
        self._made = 0
        self._journal = Journal()

    def change(self, kind: str, body: Mapping[str, Any]) -> None:
        """Change something."""
        change = Change(kind, body)
        apply_changes(self.view, (change,), self._journal, revision=self.revision, at=self.at)
        self.changes.append(change)

    def take(self, changes: Sequence[Change], made: Beside | None = None) -> None:
        """Change what a command changes itself; `made` is the same, made ready beside the view."""
        apply_changes(self.view, changes, self._journal, revision=self.revision, at=self.at, made=made)
        self.changes.extend(changes)

    def put_off(self, keys: Iterable[str], looked_at: Iterable[str] = ()) -> None:
        """Leave the waiters around some keys to a follow-up command, but for those looked at already (rules.md 11).

        It is a record, so that whoever sweeps next goes on, whatever becomes of this process.
        """
        self.is_unfinished = True
        left = {"id": self.new_id("backlog"), "keys": sorted(set(keys)), "looked_at": sorted(set(looked_at))}
        self.change("backlog.put", {**left, "at": self.at})

    def undo(self) -> None:
        """Take everything back; the changes stay listed."""
        self._journal.undo()

    def hand_over(self) -> Journal:
        """Leave everything in the view; returns how to take it back, which is the caller's business from here on."""
        journal, self._journal = self._journal, Journal()
        return journal

    def new_id(self, prefix: str) -> str:
        """Return an id that no other step makes: it holds the token, which no other revision of any incarnation has."""
        self._made += 1
        return f"{prefix}_{self.token:x}_{self._made}"

    @property
    def may_ask(self) -> bool:
        """Whether the policy may be asked once more (rules.md 11)."""
        return self.questions < MAX_QUESTIONS

    def record(self, noun: str, item: str | None) -> Record | None:
        """Return a record, or None."""
        return self.view.records.get(noun, {}).get(item) if item is not None else None

    def lives(self, record: Record) -> bool:
        """Whether something with an end has not ended: what ends now has ended (rules.md 9)."""
        return bool(record["expires_at"] > self.at)


def refuse(code: str, outcome: str = "", **facts: Any) -> Refusal:
    """Return a refusal with the facts its sentence names."""
    return Refusal(code=code, outcome=outcome, facts=facts)
