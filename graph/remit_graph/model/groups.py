"""Lists of names and of selectors, as dimensions of a scope are: what lies outside, what both cover, short forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.model.key import contains as selector_contains

if TYPE_CHECKING:
    from collections.abc import Iterable

Names = tuple[str, ...]
"""Sorted, each once."""


def note_outside(found: dict[str, list[str]], name: str, mine: Names | None, theirs: Names | None) -> None:
    """Note under `name` what of `theirs` is not among `mine`; `*` where they are not narrowed and mine are."""
    if mine is None:
        return
    missing = ["*"] if theirs is None else sorted(set(theirs) - set(mine))
    if missing:
        found[name] = missing


def not_inside(group: Names, theirs: Names) -> list[str]:
    """Return the selectors of `theirs` that no selector of `group` contains."""
    return [each for each in theirs if not any(selector_contains(mine, each) for mine in group)]


def meet(mine: Names | None, theirs: Names | None) -> Names | None:
    """Return the names that both allow; None is every name."""
    if mine is None or theirs is None:
        return theirs if mine is None else mine
    return tuple(sorted(set(mine) & set(theirs)))


def meet_groups(mine: tuple[Names, ...] | None, theirs: tuple[Names, ...] | None) -> tuple[Names, ...] | None:
    """Keep every list of both, less those that another list already implies.

    Intersecting two selectors that merely overlap would lose a resource that is PART_OF both sides, so such
    lists are kept side by side.
    """
    if mine is None or theirs is None:
        return theirs if mine is None else mine
    return reduce_groups([*mine, *theirs])


def reduce_groups(groups: Iterable[Names]) -> tuple[Names, ...]:
    """Bring lists of selectors into their one shortest form; the order of the input does not matter."""
    reduced = sorted({_shortest(group) for group in groups}, key=lambda group: (len(group), group))
    kept: list[Names] = []
    for index, group in enumerate(reduced):
        others = [each for at, each in enumerate(reduced) if at != index]
        if not any(not not_inside(group, each) for each in others):
            kept.append(group)
    return tuple(sorted(kept))


def _shortest(group: Names) -> Names:
    unique = sorted(set(group))
    return tuple(
        each for each in unique if not any(other != each and selector_contains(other, each) for other in unique)
    )
