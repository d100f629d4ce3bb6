"""May two operations stand side by side? As `remit.conflict` and `remit.merge` say; a differential test holds it so.

The policy alone grants. Here the same comparison serves what it is not asked about: who shares a fence, which token is
stale, who in a queue is in whose way, and which declared runs would meet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from remit_graph.view.ground import ground_of
from remit_service.coordination.holding import AFFECTS, MUST_COORDINATE, OWN, Holding
from remit_service.coordination.matrix import COMPATIBLE, cell, strictest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordination.tables import Tables
    from remit_service.coordination.values import Record

SAME: Final = "same"
ANCESTOR: Final = "ancestor"
DESCENDANT: Final = "descendant"
_MERGING: Final = frozenset({"field_versioned", "set_merge"})


class Meeting(NamedTuple):
    """Two keys that overlap; `relation` says where theirs lies, seen from mine."""

    mine: Record
    theirs: Record
    relation: str


def place(view: View, mine: str, theirs: str, at: Instant) -> str | None:
    """Return where `theirs` lies, seen from `mine`: same, ancestor, descendant, or None where they do not overlap."""
    if mine == theirs:
        return SAME
    if theirs in ground_of(view, mine, at).keys:
        return ANCESTOR
    return DESCENDANT if mine in ground_of(view, theirs, at).keys else None


def meetings(view: View, mine: Holding, theirs: Holding, at: Instant) -> Iterator[Meeting]:
    """Iterate the pairs of keys that overlap."""
    for one in mine.keys:
        for other in theirs.keys:
            where = place(view, one["key"], other["key"], at)
            if where is not None:
                yield Meeting(one, other, _relation(one["relation"], other["relation"], where))


def _relation(mine: str, theirs: str, where: str) -> str:
    if mine == theirs == OWN:
        return where
    return AFFECTS if AFFECTS in (mine, theirs) else MUST_COORDINATE


def judge(view: View, tables: Tables, mine: Holding, theirs: Holding, at: Instant) -> str:
    """Return the strictest result between two holdings; `compatible` where they do not overlap."""
    results = [judged(tables, mine, theirs, each) for each in meetings(view, mine, theirs, at)]
    return strictest(results) if results else COMPATIBLE


def judged(tables: Tables, mine: Holding, theirs: Holding, meeting: Meeting) -> str:
    """Return the result of one meeting."""
    if "NON_CONCURRENT" in (mine.concurrency, theirs.concurrency):
        return COMPATIBLE if mine.mode == theirs.mode == "shared" else "wait"
    if meeting.relation == SAME and "SINGLE_WRITER" in (mine.concurrency, theirs.concurrency):
        return "follower"
    return strictest(
        _parts(tables, mine, theirs, meeting, part, other)
        for part in meeting.mine["parts"]
        for other in meeting.theirs["parts"]
    )


def _parts(tables: Tables, mine: Holding, theirs: Holding, meeting: Meeting, part: Record, other: Record) -> str:
    by_matrix = _by_matrix(tables, part["domains"], other["domains"], is_next=mine.is_next)
    if meeting.relation != SAME:
        return by_matrix
    if part["fields"] and part["fields"] == other["fields"]:
        return _same_field(tables, mine, theirs, part, by_matrix)
    separate = part["independent"] and other["independent"]
    if not separate:
        return strictest(("serialize", by_matrix))
    if part["domains"] == other["domains"] or {part["merge"], other["merge"]} <= _MERGING:
        return COMPATIBLE
    return by_matrix


def _by_matrix(tables: Tables, mine: Sequence[str], theirs: Sequence[str], *, is_next: bool) -> str:
    return strictest(_cell(tables, one, other, is_next=is_next) for one in mine for other in theirs)


def _cell(tables: Tables, mine: str, theirs: str, *, is_next: bool) -> str:
    result = cell(tables, mine, theirs)
    # What comes next in its line is not rejected, it waits for its turn.
    return "serialize" if is_next and result == "reject" and mine in tables.sequenced else result


def _same_field(tables: Tables, mine: Holding, theirs: Holding, part: Record, by_matrix: str) -> str:
    merge = part["merge"]
    if merge == "set_merge":
        return COMPATIBLE if commute(mine.set_operations, theirs.set_operations) else "merge_required"
    if merge is None and "lease" not in tables.demands.get(mine.concurrency, ()):
        return "reject"
    return strictest(("serialize", by_matrix))


def commute(mine: Record | None, theirs: Record | None) -> bool:
    """Whether two set operations give the same result in either order; unstated operations do not."""
    if mine is None or theirs is None:
        return False
    return not (_members(mine, "add") & _members(theirs, "remove")) and not (
        _members(mine, "remove") & _members(theirs, "add")
    )


def _members(operations: Record, name: str) -> set[Any]:
    return set(operations.get(name) or ())
