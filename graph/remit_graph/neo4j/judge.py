"""From rows as they were found to the revisions a reader may have: whole, without a gap, each following the last."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from remit_graph.errors import ChainBroken, ModelError
from remit_graph.model.change import GENESIS, SCHEMA, Row, entry_of, verify_link
from remit_graph.refusals import too_new

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.model.change import Entry

Found = dict[str, Any]


def judge(found: Sequence[Found], head: Found, after: int, limit: int) -> list[Entry]:
    """Return up to `limit` revisions after `after`.

    Args:
        found: The last row of `after`, the rows after it in order, and if there is more, at least one row more.
        head: Where the ledger stood before they were read: `revision`, `hash`, `needs`, `base` and `base_hash`.
        after: The revision that the reader has.
        limit: How many it wants.

    Raises:
        SchemaTooNew: the next revision is of a later schema.
        ChainBroken: one is missing or not whole, or does not follow the one before it.
    """
    previous, rows = _split(found, head, after)
    entries: list[Entry] = []
    reached, digest = after, previous
    later: Found | None = None
    for revision, group in groupby(rows, key=lambda row: int(row["revision"])):
        of_revision = list(group)
        later = of_revision[0]
        if revision != reached + 1:
            raise _missing(reached + 1)
        if len(entries) == limit or not _is_whole(of_revision):
            break
        entry = _entry(of_revision, digest)
        if entry.schema > SCHEMA:
            if not entries:
                raise too_new(entry.revision, entry.schema, head["needs"])
            break
        entries.append(entry)
        reached, digest, later = revision, entry.hash, None
    _require_end(head, reached, digest, later)
    if not entries:
        raise _missing(after + 1)
    return entries


def row_of(found: Found) -> Row:
    """Return a row as the port has it."""
    return Row(revision=found["revision"], seq=found["seq"], body=found["body"], hash=found["hash"])


def _split(found: Sequence[Found], head: Found, after: int) -> tuple[str, Sequence[Found]]:
    """Return the hash at `after`, and the rows after it."""
    if after == head["base"]:
        # Rows that were cut off may still be there.
        return str(head["base_hash"] or GENESIS), [row for row in found if row["revision"] > after]
    if not found or found[0]["revision"] != after:
        raise _missing(after)
    return str(found[0]["hash"]), found[1:]


def _is_whole(rows: Sequence[Found]) -> bool:
    return (rows[0]["seq"], rows[0]["rows"]) == (0, len(rows))


def _entry(found: Sequence[Found], previous: str) -> Entry:
    rows = [row_of(each) for each in found]
    for row in rows:
        verify_link(row, previous=previous)
        previous = row.hash
    try:
        return entry_of(rows)
    except ModelError as error:
        raise ChainBroken(
            f"revision {rows[0].revision} cannot be read: {error}",
            advice="run `remit store check`",
            revision=rows[0].revision,
        ) from error


def _require_end(head: Found, reached: int, digest: str, later: Found | None) -> None:
    """Check that what comes next fits: a revision that lost its last rows would look whole without that."""
    if later is not None:
        verify_link(row_of(later), previous=digest)
    elif reached < head["revision"] or (reached == head["revision"] and digest != head["hash"]):
        raise ChainBroken(
            f"the log ends at revision {reached} with hash `{digest}`, "
            f"the head says {head['revision']} and `{head['hash']}`",
            advice="run `remit store check`",
            revision=reached + 1,
        )


def _missing(revision: int) -> ChainBroken:
    return ChainBroken(
        f"revision {revision} is missing or not whole", advice="run `remit store check`", revision=revision
    )
