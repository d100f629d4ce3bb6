"""What one request touches, as the graph sees it: ancestors, dimensions, attributes.

Ancestors of a resource are every shorter prefix of its key and everything it is PART_OF, transitively (model.md 2).
A dimension is the resource's own attribute, else that of its nearest ancestors, which must agree; the trusted context
may say the same but never something else (rules.md 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.model.principal import Principal
    from remit_graph.model.resource_type import Action
    from remit_graph.view.ground import Ground


@dataclass(slots=True, kw_only=True)
class Target:
    """One request's target; satisfies `remit_graph.model.scope.Target`.

    Attributes:
        spec: The declared action.
        ground: What the graph knows of the resource.
        fields: Effective fields, sorted; empty means the whole resource.
        at: The decision's instant.
        subject: The principal that asks.
        dimensions: The dimensions the world declares.
        context: Trusted attributes of the request.
        properties: Trusted properties of subject, resource and action, by `subject`, `resource`, `action`.
        incident: The incident that conditions on `incident.` read, if any.
    """

    spec: Action
    ground: Ground
    fields: tuple[str, ...]
    at: Instant
    subject: Principal
    dimensions: frozenset[str] = frozenset()
    context: Mapping[str, Any] = field(default_factory=dict)
    properties: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    incident: Mapping[str, Any] = field(default_factory=dict)

    @property
    def action(self) -> str:
        """The action's name."""
        return self.spec.name

    @property
    def key(self) -> str:
        """Canonical key of the resource."""
        return self.ground.key

    def under(self, selector: str) -> bool:
        """Say whether `selector` covers the resource or one of its ancestors."""
        return self.ground.under(selector)

    def declares(self, name: str) -> bool:
        """Say whether the world declares this dimension."""
        return name in self.dimensions

    def dimension(self, name: str) -> str | None:
        """Return the value of a dimension, or None where it is missing or graph and context disagree."""
        found = self.ground.dimensions.get(name, ())
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
            return self._of("resource", name, self.ground.attributes)
        if root == "action":
            return self._of(
                "action", name, {"risk": self.spec.risk, "reversible": self.spec.reversible, "class": self.spec.class_}
            )
        return self.incident.get(name) if root == "incident" else None

    def _of(self, root: str, name: str, known: Mapping[str, Any]) -> object:
        value = known.get(name)
        return self.properties.get(root, {}).get(name) if value is None else value
