"""The names a realm knows, and the law that an edge uses no others.

A name that means nothing covers nothing at use; here it is refused, because whoever wrote it meant something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.errors import ModelError
from remit_graph.laws.refusal import Refusal, refusal_of
from remit_graph.model.builtin import BUILTIN_ACTIONS, BUILTIN_TYPES
from remit_graph.model.condition import ROOTS, Condition, Scales, rank
from remit_graph.model.edge import RESOURCE_EDGES, TO_SELECTOR, Edge, check_ends
from remit_graph.model.key import WILDCARD, parse_selector
from remit_graph.model.registry import GRAPH_KEY, Registry
from remit_graph.model.template import Template, parse_template

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from remit_graph.model.realm import Realm
    from remit_graph.model.resource_type import Action, ResourceType
    from remit_graph.model.scope import Scope


class Vocabulary:
    """What can be named in a realm; built-in types and actions are added to what is given.

    Attributes:
        realm, registry: As they are.
        actions: By name, built-in ones included.
        principals: Ids that are declared.
        resources: Keys that are declared.
        fields: Names of all fields of all types.
        domains: Conflict domains that some field or action has.
        scales: Ordered scales of policy data, or None where they are not known: then scale values are not checked.
    """

    def __init__(
        self,
        realm: Realm,
        types: Mapping[str, ResourceType],
        actions: Mapping[str, Action],
        aliases: Mapping[str, str],
        principals: Collection[str],
        resources: Collection[str],
        *,
        scales: Scales | None = None,
    ) -> None:
        """Gather the names.

        Raises:
            ModelError: the types tie or an alias points nowhere.
        """
        self.realm = realm
        self.registry = Registry({**types, **BUILTIN_TYPES}, dict(aliases))
        self.actions: Mapping[str, Action] = {**actions, **BUILTIN_ACTIONS}
        self.principals = principals
        self.resources = resources
        self.scales = scales
        specs = [spec for each in types.values() for spec in each.fields.values()]
        self.fields = frozenset(name for each in types.values() for name in each.fields)
        self.domains = frozenset(
            {spec.domain for spec in specs if spec.domain}
            | {each.domain for each in self.actions.values() if each.domain}
        )
        self._aliases = [(parse_template(alias), canonical) for alias, canonical in self.registry.aliases.items()]
        self._selectors: dict[str, Refusal | None] = {}

    def selector(self, selector: str) -> Refusal | None:
        """Refuse a selector that no key of a registered type can lie under, or that spells an alias."""
        if selector not in self._selectors:
            self._selectors[selector] = self._judge_selector(selector)
        return self._selectors[selector]

    def _judge_selector(self, selector: str) -> Refusal | None:
        try:
            segments = parse_selector(selector)
        except ModelError as error:
            return refusal_of(error)
        for alias, canonical in self._aliases:
            if _meets(segments, alias) and len(segments) >= len(alias.parts):
                return Refusal(
                    code="malformed_resource_key",
                    message=f"`{selector}` is an alias and no canonical key",
                    advice=f"write it as `{canonical}`",
                )
        if not any(_meets(segments, each.key) for each in self.registry.types.values()):
            return Refusal(code="unknown_resource", message=f"`{selector}` is of no registered resource type")
        if WILDCARD not in segments and self._is_missing(selector):
            what = f"`{selector}` is not declared under `resources`, and its type is stored"
            return Refusal(code="unknown_resource", message=what)
        return None

    def _is_missing(self, key: str) -> bool:
        declared = self.registry.resolve_key(key)
        return declared is not None and declared.type.stored and key not in self.resources

    def edge(self, edge: Edge) -> list[Refusal]:
        """Refuse an edge whose ends, scope or issuer name what the realm does not know, or of a forbidden shape."""
        return list(self._edge(edge))

    def _edge(self, edge: Edge) -> Iterator[Refusal]:
        try:
            check_ends(edge)
        except ModelError as error:
            yield refusal_of(error)
        else:
            yield from self._ends(edge)
        if edge.issuer and edge.issuer not in self.principals:
            yield _named(edge.edge_id, f"issuer `{edge.issuer}` is not declared under `principals`", "unknown_subject")
        yield from self.scope(edge.scope, edge.edge_id)
        yield from self._selectors_of(edge.except_)
        for each in edge.domains or ():
            if each not in self.domains:
                yield _named(edge.edge_id, f"no field or action has the domain `{each}`", "conflict_unknown")

    def _ends(self, edge: Edge) -> Iterator[Refusal]:
        for side, value in (("from", edge.from_), ("to", edge.to)):
            if edge.edge in RESOURCE_EDGES:
                found = self.selector(value)
                if found is None and value not in self.resources and value != GRAPH_KEY:
                    what = f"{side} `{value}` is not declared under `resources`"
                    found = _named(edge.edge_id, what, "unknown_resource")
                if found is not None:
                    yield found
            elif side == "to" and edge.edge in TO_SELECTOR:
                yield from self._selectors_of([value])
            elif value not in self.principals:
                what = f"{side} `{value}` is not declared under `principals`"
                yield _named(edge.edge_id, what, "unknown_subject")

    def _selectors_of(self, selectors: Iterable[str]) -> Iterator[Refusal]:
        for each in selectors:
            if found := self.selector(each):
                yield found

    def scope(self, scope: Scope, owner: str) -> Iterator[Refusal]:
        """Refuse unknown actions, fields, dimensions, selectors, attribute paths and scale values."""
        for name in scope.actions or ():
            if name not in self.actions:
                yield _named(owner, f"action `{name}` is not declared", "unknown_action")
        for name in scope.fields or ():
            if name not in self.fields:
                yield _named(owner, f"no resource type has a field `{name}`", "unknown_field")
        for name, _ in scope.where:
            if name not in self.realm.dimensions:
                known = ", ".join(self.realm.dimensions)
                yield _named(owner, f"`{name}` is no dimension; declared are {known}", "condition_unknown")
        for group in scope.resources or ():
            yield from self._selectors_of(group)
        for each in scope.conditions:
            if what := self._condition(each):
                yield _named(owner, what, "condition_unknown")

    def _condition(self, condition: Condition) -> str | None:
        if condition.operator == "equals_attribute":
            root, dot, _ = str(condition.value).partition(".")
            known = not dot or root in ROOTS
            return None if known else f"`{condition.value}` is no attribute path: it begins with one of {sorted(ROOTS)}"
        if condition.operator in ("at_most", "at_least") and self.scales is not None:
            known = rank(condition.attribute, condition.value, self.scales) is not None
            return None if known else f"`{condition.value}` is no value of the scale of `{condition.attribute}`"
        return None


def _named(owner: str, what: str, code: str) -> Refusal:
    return Refusal(code=code, message=f"`{owner}`: {what}")


def _meets(segments: tuple[str, ...], template: Template) -> bool:
    """Whether some key of the template lies under the selector."""
    if len(segments) > len(template.parts) and not template.open_ended:
        return False
    pairs = zip(segments, template.parts, strict=False)
    return all(isinstance(part, tuple) or mine in (WILDCARD, part) for mine, part in pairs)
