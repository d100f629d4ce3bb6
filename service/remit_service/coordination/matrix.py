"""The conflict matrix, as `remit.matrix` reads it; a differential test holds the two equal on every pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit_service.coordination.tables import Tables

COMPATIBLE: Final = "compatible"

STRICTNESS: Final = (
    "reject", "escalate", "review_required", "hold", "ordered", "merge_required", "rebase", "serialize", "follower",
    "wait", COMPATIBLE,
)  # fmt: skip
"""Results from the strictest to the one that lets both stand."""

ANYTHING: Final = "*"
"""The domain of an AFFECTS edge that names none: it conflicts with every write (rules.md 8)."""

_RANK: Final = {name: rank for rank, name in enumerate(STRICTNESS)}


def strictest(results: Iterable[str]) -> str:
    """Return the strictest of some results; of none, or of one that is not known, `escalate`."""
    ranks = [_RANK.get(each, _RANK["escalate"]) for each in results]
    return STRICTNESS[min(ranks)] if ranks else "escalate"


def cell(tables: Tables, mine: str, theirs: str) -> str:
    """Return what two domains mean for each other: the most specific pair speaks, a missing one escalates."""
    if ANYTHING in (mine, theirs):
        return "serialize"
    direct = _direct(tables, mine, theirs)
    if direct:
        return strictest(direct)
    parent, other = tables.parents.get(mine), tables.parents.get(theirs)
    half = _direct(tables, mine, other) + _direct(tables, parent, theirs)
    return strictest(half or _direct(tables, parent, other))


def _direct(tables: Tables, one: str | None, other: str | None) -> list[str]:
    if one is None or other is None:
        return []
    pairs = ((one, other), (other, one))
    return [tables.matrix[row][column] for row, column in pairs if column in tables.matrix.get(row, {})]
