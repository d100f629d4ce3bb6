"""What one request touches, as the graph sees it: ancestors, dimensions, attributes.

Ancestors of a resource are every shorter prefix of its key and everything it is PART_OF, transitively (model.md 2).
A dimension is the resource's own attribute, else that of its nearest ancestors, which must agree; the trusted context
may say the same but never something else (rules.md 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.edge import EdgeType
from remit_graph.model.key import covers, segments_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_graph.model.instant import Instant
    from remit_graph.model.principal import Principal
    from remit_graph.model.resource_type import Action
    from remit_graph.view.state import View

MAX_ANCESTORS: Final = 256
"""Ancestors of one resource that are looked at; a PART_OF graph wider than this is a mistake in the world."""


def ancestors(view: View, key: str, at: Instant) -> list[list[str]]:
    """Return the key and its ancestors by distance: the key alone, then one step away, and so on; each level sorted."""
    levels = [[key]]
    seen = {key}
    while levels[-1] and len(seen) < MAX_ANCESTORS:
        above: set[str] = set()
        for each in levels[-1]:
            prefix = each.rpartition(":")[0]
            if prefix:
                above.add(prefix)
            above.update(edge.to for edge in view.outgoing(EdgeType.PART_OF, each) if edge.is_live(at))
        levels.append(sorted(above - seen))
        seen.update(levels[-1])
    return levels if levels[-1] else levels[:-1]


@dataclass(slots=True, kw_only=True)
class Target:
    """One request's target; satisfies `remit_graph.model.scope.Target`.

    Attributes:
        spec: The declared action.
        key: Canonical key of the resource.
        keys: The key and its ancestors, nearest first.
        fields: Effective fields, sorted; empty means the whole resource.
        at: The decision's instant.
        subject: The principal that asks.
        dimensions: The dimensions the world declares.
        graph_dimensions: Dimension to the distinct values found nearest.
        context: Trusted attributes of the request.
        properties: Trusted properties of subject, resource and action, by `subject`, `resource`, `action`.
        attributes: Attributes of the resource, own ones.
    """

    spec: Action
    key: str
    keys: tuple[str, ...]
    fields: tuple[str, ...]
    at: Instant
    subject: Principal
    dimensions: frozenset[str] = frozenset()
    graph_dimensions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    properties: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    incident: Mapping[str, Any] = field(default_factory=dict)
    _under: dict[str, bool] = field(default_factory=dict)

    @property
    def action(self) -> str:
        """The action's name."""
        return self.spec.name

    def under(self, selector: str) -> bool:
        """Say whether `selector` covers the resource or one of its ancestors; remembered for this request."""
        known = self._under.get(selector)
        if known is None:
            wanted = segments_of(selector)
            known = self._under[selector] = any(covers(wanted, segments_of(key)) for key in self.keys)
        return known

    def declares(self, name: str) -> bool:
        """Say whether the world declares this dimension."""
        return name in self.dimensions

    def dimension(self, name: str) -> str | None:
        """Return the value of a dimension, or None where it is missing or graph and context disagree."""
        found = self.graph_dimensions.get(name, ())
        said = self.context.get(name)
        if len(found) > 1 or (found and said is not None and said != found[0]):
            return None
        if found:
            return found[0]
        return said if isinstance(said, str) else None

    def attribute(self, path: str) -> object:
        """Return an attribute by its path; what the graph knows wins over what the request says (rules.md 6)."""
        root, dot, name = path.partition(".")
        if not dot:
            return self.context.get(path)
        if root == "context":
            return self.context.get(name)
        if root == "subject":
            return self._of(
                "subject", name, {"trust": self.subject.trust, "kind": self.subject.kind, **self.subject.attributes}
            )
        if root == "resource":
            return self._of("resource", name, self.attributes)
        if root == "action":
            return self._of(
                "action", name, {"risk": self.spec.risk, "reversible": self.spec.reversible, "class": self.spec.class_}
            )
        return self.incident.get(name) if root == "incident" else None

    def _of(self, root: str, name: str, known: Mapping[str, Any]) -> object:
        value = known.get(name)
        return self.properties.get(root, {}).get(name) if value is None else value


def nearest_values(view: View, levels: Sequence[Sequence[str]], name: str) -> list[str]:
    """Return the distinct values of attribute `name` on the nearest level that has any, sorted."""
    for level in levels:
        found: set[str] = set()
        for key in level:
            resource = view.resources.get(key)
            value = resource.attributes.get(name) if resource else None
            if isinstance(value, str):
                found.add(value)
        if found:
            return sorted(found)
    return []
