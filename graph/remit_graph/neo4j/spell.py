"""What a batch will look like in the store, worked out before the lock is taken.

All of it follows from the head that the writer decided on: if the head is elsewhere, nothing of it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.change import entry_of, revision_of
from remit_graph.neo4j.place import place_of
from remit_graph.refusals import require_known_schema, require_links, require_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.head import Head
    from remit_graph.model.change import Change, Command, Entry, Row
    from remit_graph.stored import Stored

MANY_EDGES: Final = 500
"""Edges that end in one batch and are spelled in passing; each costs a few microseconds, and as much to plan."""

NO_RESULT = "null"
"""What a repeat is answered with if its command brought no result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelled:
    """A batch as it will be stored.

    Attributes:
        entries: What every reader will get, read back from the rows.
        rows: What the `:Change` nodes are made of.
        results: What the `:Op` nodes are made of. Both are lists and no maps: packing the names of members again for
            each row would cost the driver as much as the values.
    """

    entries: tuple[Entry, ...]
    rows: list[list[Any]]
    results: list[list[Any]]


def spell(expected: Head, batch: Sequence[Command]) -> Spelled:
    """Spell `batch` as the revisions after `expected`.

    Raises:
        ModelError: a value has no canonical form, or an `at` goes back; `facts` hold the `index` of the command.
        SchemaTooNew: the store has been switched to rows of a later schema.
    """
    require_known_schema(expected)
    require_order((command.at for command in batch), expected.at)
    entries: list[Entry] = []
    rows: list[list[Any]] = []
    previous = expected.hash
    for index, command in enumerate(batch):
        try:
            spelled, entry = revision_of(
                command, revision=expected.revision + index + 1, previous=previous, schema=expected.schema
            )
            rows += [_row(each, command.changes, len(spelled)) for each in spelled]
        except ModelError as error:
            error.facts["index"] = index
            raise
        entries.append(entry)
        previous = entry.hash
    return Spelled(entries=tuple(entries), rows=rows, results=_results(expected.revision, batch))


def takes_long(batch: Sequence[Command]) -> bool:
    """Whether a batch ends so many edges that it is spelled on a thread of its own: reads wait for the loop."""
    return sum(change.edges_ended for command in batch for change in command.changes) > MANY_EDGES


def respell(expected: Head, revisions: Sequence[Stored]) -> Spelled:
    """Take revisions as they stood elsewhere for those after `expected`.

    Raises:
        ChainBroken: they do not follow it.
        ModelError: one of them is no change, or its `at` goes back.
        SchemaTooNew: they are of a later schema.
    """
    require_known_schema(expected)
    require_links(revisions, expected)
    entries = tuple(entry_of(each.rows) for each in revisions)
    require_order((entry.at for entry in entries), expected.at)
    spelled = [
        _row(row, entry.changes, len(each.rows))
        for each, entry in zip(revisions, entries, strict=True)
        for row in each.rows
    ]
    answers = [each.answer for each in revisions if each.answer is not None]
    results = [[each.request_id, each.fingerprint, each.revision, each.result] for each in answers]
    return Spelled(entries=entries, rows=spelled, results=results)


def _row(row: Row, changes: Sequence[Change], rows: int) -> list[Any]:
    """Return place, kind, body, hash and, for the first row, how many there are: a part is then not taken for all."""
    kind = changes[row.seq - 1].kind if row.seq else "command"
    return [place_of(row.revision, row.seq), kind, row.body, row.hash, None if row.seq else rows]


def _results(after: int, batch: Sequence[Command]) -> list[list[Any]]:
    """Return request id, fingerprint, revision and result of the commands that have an id."""
    return [
        [
            command.request_id,
            command.fingerprint,
            after + index + 1,
            NO_RESULT if command.result is None else command.result,
        ]
        for index, command in enumerate(batch)
        if command.request_id is not None
    ]
