"""Sorting many ids with pauses: a hundred thousand at once would hold up everybody else for a tenth of a second."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

RUN: Final = 4_096
"""Ids that are sorted at once, within a few milliseconds."""

STEP: Final = 1_024
"""Ids that are merged between two pauses."""


def sorted_in_steps(ids: Iterable[str]) -> Generator[None, None, list[str]]:
    """Return `ids` sorted; pauses after every few thousand."""
    pending = list(ids)
    runs: list[list[str]] = []
    for start in range(0, len(pending), RUN):
        if runs:
            yield
        runs.append(sorted(pending[start : start + RUN]))
    if len(runs) < 2:  # noqa: PLR2004 - one run, or none, is sorted
        return runs[0] if runs else []
    found: list[str] = []
    for count, each in enumerate(heapq.merge(*runs), 1):
        found.append(each)
        if count % STEP == 0:
            yield
    return found
