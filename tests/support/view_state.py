"""What two views are compared by: every table they have, whatever order it was filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.registry import Registry
from remit_graph.view.coordination.kept import Kept
from remit_graph.view.coordination.keys import KeyIndex
from remit_graph.view.coordination.tables import Coordination
from remit_graph.view.selectors import SelectorIndex

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_graph.view.state import View

NO_STATE: Final = ("grounds",)
"""What a view only keeps at hand."""

HISTORY: Final = ("history", "was_grants", "was_into", "was_out")
"""Tables of ended edges, of which an image leaves out what ended long ago."""


def state_of(view: View, *, history: bool = True) -> dict[str, Any]:
    """Return all tables of a view as plain values that are equal where the views are."""
    left_out = {*NO_STATE, *(() if history else HISTORY)}
    return {name: _plain(value) for name, value in vars(view).items() if name not in left_out}


def _plain(value: Any) -> Any:
    read = _READ.get(type(value))
    return value if read is None else read(value)


def _table(table: dict[Any, Any]) -> Any:
    # A bucket that ran empty says the same as one that is not there.
    plain = {key: _plain(each) for key, each in table.items()}
    return {key: each for key, each in plain.items() if each not in ({}, [])}


def _keys(index: KeyIndex) -> Any:
    placed = {item: sorted((key, sorted(above)) for key, above in keys) for item, keys in index._placed.items()}
    return {"at": index.at, "below": index.below, "placed": placed}


_READ: Final[dict[type, Callable[[Any], Any]]] = {
    Coordination: lambda tables: _table(vars(tables)),
    Kept: lambda kept: [(key, _plain(each)) for key, each in kept.pairs()],
    KeyIndex: _keys,
    SelectorIndex: lambda index: _table(index._root),
    Registry: lambda registry: {"types": registry.types, "aliases": registry.aliases},
    dict: _table,
}
