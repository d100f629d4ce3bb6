"""A world: everything a realm declares, as one immutable value.

It is what a world file says, what the graph exports, and what two of them are compared as. Built-in types and actions
are not part of it. A value is not judged: `load` judges files, and the graph was judged when it was made.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.edge import Edge
    from remit_graph.model.principal import Principal
    from remit_graph.model.realm import EnforcementPoint, Realm
    from remit_graph.model.resource_type import Action, ResourceType

FIRST_EPOCH: Final = 1
"""The authority epoch of a realm that never had a high-risk governance change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Epochs:
    """The authority epoch and its two floors (rules.md 5)."""

    authority: int = FIRST_EPOCH
    minimum_read: int = 0
    minimum_write: int = 0

    def record(self) -> dict[str, Any]:
        """Return the form of world files and of the change `epoch.set`."""
        return {
            "authority": self.authority,
            "minimum_authority": {"read": self.minimum_read, "write": self.minimum_write},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a realm declares.

    Attributes:
        realm: Its settings.
        resource_types, actions: By name.
        principals: By id.
        resources: Attributes by key.
        aliases: Template of a spelling to the template it stands for.
        edges: Current versions by edge id, structure included; `revision_from` is 0.
        enforcement_points: By id.
        epochs: The authority epoch and its floors.
    """

    realm: Realm
    resource_types: Mapping[str, ResourceType] = field(default_factory=dict)
    actions: Mapping[str, Action] = field(default_factory=dict)
    principals: Mapping[str, Principal] = field(default_factory=dict)
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    edges: Mapping[str, Edge] = field(default_factory=dict)
    enforcement_points: Mapping[str, EnforcementPoint] = field(default_factory=dict)
    epochs: Epochs = Epochs()

    def __post_init__(self) -> None:
        """Close the tables against writing."""
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, dict):
                object.__setattr__(self, each.name, MappingProxyType(value))
