"""When things end by themselves, by the second, so that a sweep looks at what is due and at nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.model.instant import SECOND, Instant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.view.coordination.tables import Coordination
    from remit_graph.view.journal import Journal


def schedule(tables: Coordination, noun: str, item: str, instant: Instant, journal: Journal) -> None:
    """Note that an item ends at `instant`, instead of when it was said to end before."""
    second = instant // SECOND
    if tables.due_at.get((noun, item)) == second:
        return
    unschedule(tables, noun, item, journal)
    journal.put(tables.due_at, (noun, item), second)
    journal.put(journal.bucket(tables.due, second), (noun, item), None)


def unschedule(tables: Coordination, noun: str, item: str, journal: Journal) -> None:
    """Forget when an item ends."""
    second = tables.due_at.get((noun, item))
    if second is None:
        return
    journal.drop(tables.due_at, (noun, item))
    journal.leave(tables.due, second, (noun, item))


def due(tables: Coordination, at: Instant) -> Iterator[tuple[str, str]]:
    """Iterate the items that may be over at `at`, earliest second first, then by noun and id."""
    for second in sorted(each for each in tables.due if each <= at // SECOND):
        yield from sorted(tables.due[second])


def next_due(tables: Coordination) -> Instant | None:
    """Return an instant before which nothing ends, or None where nothing ever does."""
    return min(tables.due) * SECOND if tables.due else None
