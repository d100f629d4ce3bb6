"""What the graph holds of removed revisions and need not: things of coordination that ended, and what happened once.

The history of authority stays, whatever is cut: versions of edges, ended principals and resources, what was made under
what. Of a receipt stays that it was written, so that it is known to have been removed.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from remit_graph.neo4j.database import rows_of
from remit_graph.neo4j.nouns import is_noun, label_of, named_by, was_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neo4j import AsyncManagedTransaction

    from remit_graph.neo4j.database import Database

THINGS: Final = 500
"""Things that one sweep takes out, with all that joins them: some tenths of a second in which nobody can append."""

LOOK_WITHIN: Final = timedelta(seconds=60)
"""How long it may take to find them, without a lock."""

EVENTS: Final = frozenset({"conflict", "notice", "observation", "receipt"})
"""Nouns whose things happened once: the view keeps the newest alone, and none of their rows is kept for the graph."""

PASSING: Final = frozenset({"approval", "capability", "lease", "operation", "presence", "waiter", "work_set"})
"""Nouns of which things that ended go, as events that ended do."""

LABELS: Final = sorted({*map(label_of, EVENTS), *(was_label(label_of(each)) for each in EVENTS | PASSING)})
"""Labels of what goes."""


def says_what_is(kind: str) -> bool:
    """Whether a change of this kind puts or ends a thing that the graph has to be held against its row for."""
    noun, _, verb = kind.rpartition(".")
    return verb in ("put", "set", "activate", "end") and is_noun(noun) and noun not in EVENTS


def ref_of(kind: str, body: Mapping[str, Any]) -> str | None:
    """Return the ref of the thing that a change puts or ends, if its row may have to be kept."""
    thing = named_by(kind.rpartition(".")[0], body) if says_what_is(kind) else None
    return None if thing is None else thing.ref


async def handles(database: Database, revision: int) -> list[str]:
    """Return handles of some things that are of revisions up to `revision` and need not stay."""
    if not revision:
        return []

    async def work(transaction: AsyncManagedTransaction) -> list[dict[str, Any]]:
        return await rows_of(transaction, "things_to_sweep", revision=revision, limit=THINGS)

    return [str(row["handle"]) for row in await database.reading(work, newest=True, within=LOOK_WITHIN)]


async def drop(transaction: AsyncManagedTransaction, revision: int, found: Sequence[str]) -> None:
    """Take things out by the handles under which they were found just now, if they are still of then."""
    await rows_of(transaction, "drop_things", handles=list(found), labels=LABELS, revision=revision)
