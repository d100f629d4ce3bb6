"""Places: one number for each row of the ledger, so that one unique index both orders the rows and keeps them apart.

`place = revision * 2^20 + seq`. A signed 64-bit number holds 2^43 revisions of a million rows each.
"""

from __future__ import annotations

from typing import Final

from remit_graph.errors import ModelError

_SEQ_BITS: Final = 20
MAX_ROWS: Final = 1 << _SEQ_BITS
"""Rows that one revision may have."""


def place_of(revision: int, seq: int) -> int:
    """Return the place of a row.

    Raises:
        ModelError: the revision has more rows than places.
    """
    if seq >= MAX_ROWS:
        raise ModelError(f"revision {revision} has more than {MAX_ROWS} rows", revision=revision)
    return (revision << _SEQ_BITS) | seq


def first_place(revision: int) -> int:
    """Return the place of a revision's first row."""
    return revision << _SEQ_BITS


def last_place(revision: int) -> int:
    """Return the last place that a revision could use."""
    return ((revision + 1) << _SEQ_BITS) - 1


def revision_of(place: int) -> int:
    """Return the revision that a place belongs to."""
    return place >> _SEQ_BITS


def seq_of(place: int) -> int:
    """Return the number that a place has among the rows of its revision."""
    return place & (MAX_ROWS - 1)
