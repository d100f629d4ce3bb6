"""The graph as a world, for export, for comparison with a world file, and for planning what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.model.builtin import BUILTIN_ACTIONS, BUILTIN_TYPES
from remit_graph.world.value import Epochs, World

if TYPE_CHECKING:
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
