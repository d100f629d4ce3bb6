"""What the changes of a command mean for the uniqueness of edges (rules.md 2).

`edge_id` is unique among current edges, (`edge_id`, `version`) over all. The table `edge` holds just that; it is
made from two kinds of change and never read to decide anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from remit_graph.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from remit_graph.model.change import Change

BEGIN: Final = "edge.begin"
END: Final = "edges.end"

_BEYOND: Final = 2**63
"""The first whole number that a column does not hold."""


class EdgeStep(NamedTuple):
    """A version of an edge that begins, or that ends."""

    begins: bool
    edge_id: str
    version: int


def fits(number: object) -> bool:
    """Tell whether `number` is a whole number that a column holds."""
    return isinstance(number, int) and 0 <= number < _BEYOND


def edge_steps(changes: Iterable[Change]) -> list[EdgeStep]:
    """Return the versions of edges that `changes` begin and end, in order.

    Raises:
        ModelError: such a change does not name its edges.
    """
    return [step for change in changes for step in _steps(change)]


def _steps(change: Change) -> Iterator[EdgeStep]:
    if change.kind == BEGIN:
        yield _step(change.body.get("edge_id"), change.body.get("version"), begins=True)
    elif change.kind == END:
        listed = change.body.get("edges")
        if not isinstance(listed, list | tuple):
            raise ModelError(f"`{listed}` is no list of edges")
        for each in listed:
            if not isinstance(each, list | tuple) or len(each) != 2:  # noqa: PLR2004 - an id and a version
                raise ModelError(f"`{each}` is no pair of edge id and version")
            yield _step(*each, begins=False)


def _step(edge_id: Any, version: Any, *, begins: bool) -> EdgeStep:
    if not isinstance(edge_id, str) or not fits(version):
        raise ModelError(f"`{edge_id}`, `{version}` are no edge id and version")
    return EdgeStep(begins, edge_id, version)
