"""The graph as a world, for export, for comparison with a world file, and for planning what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.model.builtin import BUILTIN_ACTIONS, BUILTIN_TYPES
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.world.value import Epochs, World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_graph.view.state import View


def world_of(view: View) -> World:
    """Return what the realm declares at the view's revision; built-in types and actions are left out."""
    return World(
        realm=view.realm,
        resource_types={name: each for name, each in view.types.items() if name not in BUILTIN_TYPES},
        actions={name: each for name, each in view.actions.items() if name not in BUILTIN_ACTIONS},
        principals=dict(view.principals),
        resources={key: each.attributes for key, each in view.resources.items()},
        aliases=dict(view.aliases),
        edges=dict(view.edges),
        enforcement_points=dict(view.points),
        epochs=Epochs(
            authority=view.authority_epoch,
            minimum_read=view.floor(writes=False),
            minimum_write=view.floor(writes=True),
        ),
    )


class ViewHistory:
    """What has ended, as planning asks for it; satisfies `rebase.History`."""

    def __init__(self, view: View) -> None:
        """Answer from `view`."""
        self._view = view

    def last_version(self, edge_id: str) -> int:
        """Return the highest version an edge ever had, 0 for none."""
        current = self._view.edges.get(edge_id)
        ended = self._view.history.get(edge_id, ())
        return max([each.version for each in ended] + ([current.version] if current else []), default=0)

    def past_owns(self) -> Iterator[Edge]:
        """Iterate every ended OWNS version."""
        for ended in self._view.history.values():
            yield from (each for each in ended if each.edge is EdgeType.OWNS)


class PastEdges:
    """The same from a copy of the view's table, for planning beside whoever goes on changing the view."""

    def __init__(self, view: View) -> None:
        """Copy which versions there were; edges themselves never change."""
        self._ended = dict(view.history)
        self._current = {edge_id: edge.version for edge_id, edge in view.edges.items()}

    def last_version(self, edge_id: str) -> int:
        """Return the highest version an edge ever had, 0 for none."""
        ended = [each.version for each in self._ended.get(edge_id, ())]
        return max([*ended, self._current.get(edge_id, 0)])

    def past_owns(self) -> Iterator[Edge]:
        """Iterate every ended OWNS version."""
        for ended in self._ended.values():
            yield from (each for each in ended if each.edge is EdgeType.OWNS)
