"""What of the tables of coordination goes into an image: what outlives the records it came from.

Everything else here follows from the records and is made by their handlers when they are put again. Those handlers also
move fences, count writes and note versions; so what outlives is emptied when the records are in, and set as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.view.coordination.kept import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from remit_graph.view.coordination.tables import Coordination
    from remit_graph.view.journal import Journal

_AS_JSON: Final[Callable[[Any], Any]] = lambda value: value  # noqa: E731

KEPT: Final[dict[str, Callable[[Any], Any]]] = {
    "closed": _AS_JSON,
    "delays": _AS_JSON,
    "ended": _AS_JSON,
    "fences": _AS_JSON,
    "left": _AS_JSON,
    "raised": _AS_JSON,
    "raised_below": _AS_JSON,
    "spent": _AS_JSON,
    "versions": lambda value: {**value, "superseded": tuple(value["superseded"])},
    "writers": tuple,
}
"""Bounded tables, and how their values come back from JSON; their order says what is forgotten next."""

PLAIN: Final = ("cooldowns", "counters", "fair", "members")
"""Tables without a bound."""

Pairs = list[tuple[str, Any]]


def outliving(tables: Coordination) -> list[tuple[str, Pairs]]:
    """Return the tables by name, as pairs: bounded ones oldest first, the others by key."""
    kept: list[tuple[str, Pairs]] = [(name, getattr(tables, name).pairs()) for name in KEPT]
    # The values of `members` are tables themselves and go on moving with the view.
    plain = [(name, [(key, _copy(each)) for key, each in sorted(getattr(tables, name).items())]) for name in PLAIN]
    return kept + plain


def _copy(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value


def empty_outliving(tables: Coordination) -> None:
    """Forget what putting the records has left in the tables."""
    for name in KEPT:
        setattr(tables, name, Kept(getattr(tables, name).limit))
    for name in PLAIN:
        getattr(tables, name).clear()


def restore_outliving(tables: Coordination, name: str, pairs: Iterable[Sequence[Any]], journal: Journal) -> None:
    """Set some entries of one table.

    Raises:
        KeyError: there is no such table.
    """
    if name in PLAIN:
        getattr(tables, name).update((key, value) for key, value in pairs)
        return
    read = KEPT[name]
    table: Kept = getattr(tables, name)
    for key, value in pairs:
        table.add(key, read(value), journal)
