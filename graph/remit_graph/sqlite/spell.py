"""What a batch will look like in the store, worked out before the lock is taken.

All of it follows from the head that the writer decided on: if the head is elsewhere, nothing of it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit_graph.errors import ModelError
from remit_graph.model.change import Row, canonical, entry_of, revision_of
from remit_graph.refusals import require_known_schema, require_links, require_order
from remit_graph.sqlite.edges import EdgeStep, edge_steps, fits
from remit_graph.stored import StoredResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.head import Head
    from remit_graph.model.change import Command, Entry
    from remit_graph.stored import Stored

RECEIPT = "receipt.put"

NO_RESULT = "null"
"""What a repeat is answered with if its command brought no result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One command as it will be stored.

    Attributes:
        rows: Its rows.
        entry: What is read back of it.
        edges: What it means for the uniqueness of edges.
        receipts: Ids of the receipts it writes.
        answer: What its request id is answered with.
    """

    rows: Sequence[Row]
    entry: Entry
    edges: Sequence[EdgeStep]
    receipts: Sequence[str]
    answer: StoredResult | None


def spell(expected: Head, batch: Sequence[Command]) -> list[Revision]:
    """Spell `batch` as the revisions after `expected`.

    Raises:
        ModelError: a value has no canonical form, or an `at` goes back; `facts` hold the `index` of the command.
        SchemaTooNew: the store has been switched to rows of a later schema.
    """
    require_known_schema(expected)
    for index, command in enumerate(batch):
        if not fits(command.at):
            raise ModelError(f"command {index} is of `{command.at}`, which is no instant", index=index)
    require_order((command.at for command in batch), expected.at)
    revisions: list[Revision] = []
    previous = expected.hash
    for index, command in enumerate(batch):
        try:
            spelled = _revision(command, expected.revision + index + 1, previous, expected.schema)
        except ModelError as error:
            error.facts["index"] = index
            raise
        revisions.append(spelled)
        previous = spelled.entry.hash
    return revisions


def respell(expected: Head, revisions: Sequence[Stored]) -> list[Revision]:
    """Take revisions as they stood elsewhere for those after `expected`.

    Raises:
        ChainBroken: they do not follow it.
        ModelError: one of them is no change, or its `at` goes back.
        SchemaTooNew: they are of a later schema.
    """
    require_known_schema(expected)
    require_links(revisions, expected)
    respelled = [_stored(each.rows, entry_of(each.rows), each.answer) for each in revisions]
    require_order((each.entry.at for each in respelled), expected.at)
    return respelled


def _revision(command: Command, revision: int, previous: str, schema: int) -> Revision:
    rows, entry = revision_of(command, revision=revision, previous=previous, schema=schema)
    answer = None
    if command.request_id is not None:
        result = NO_RESULT if command.result is None else command.result
        # The rest of the answer stands in the row of the command and was checked with it.
        canonical(result)
        answer = StoredResult(
            request_id=command.request_id, fingerprint=command.fingerprint, revision=revision, result=result
        )
    return _stored(rows, entry, answer)


def _stored(rows: Sequence[Row], entry: Entry, answer: StoredResult | None) -> Revision:
    """Return a revision as it will be stored, with what its rows read back as: the writer gets what readers get."""
    ids = [each.body.get("id") for each in entry.changes if each.kind == RECEIPT]
    receipts = [each for each in ids if isinstance(each, str)]
    return Revision(rows=rows, entry=entry, edges=edge_steps(entry.changes), receipts=receipts, answer=answer)
