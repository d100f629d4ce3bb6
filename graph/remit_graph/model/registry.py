"""The coordination key registry: types, actions and aliases, so that every name of a thing meets in one key.

Callers never invent keys: what no registered type or alias matches is unknown (model.md 2, rules.md 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from remit_graph.errors import ModelError
from remit_graph.model.key import Segments, parse_key
from remit_graph.model.template import Template, parse_template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.resource_type import ResourceType

KEY_TYPE: Final = "key"
"""The AuthZEN type under which a full key is accepted."""

KEYS_KEPT: Final = 10_000
"""Names whose key is remembered: a request and its lease ask for the same one several times."""

GRAPH_KEY: Final = "remit:graph"
"""The resource that governance commands act on."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A canonical key and its type."""

    key: str
    type: ResourceType


class Registry:
    """Resolves names to canonical keys, and remembers some of them; rebuilt when a type or an alias changes.

    Not safe to share while it is being rebuilt; the view replaces it as a whole.
    """

    def __init__(self, types: Mapping[str, ResourceType], aliases: Mapping[str, str]) -> None:
        """Index types by their first literal segment.

        Raises:
            ModelError: two templates tie for some key, or an alias points at no type or uses other placeholders.
        """
        self.types = types
        self.aliases = aliases
        self._resolved: dict[tuple[str, str], Resolved] = {}
        self._by_head: dict[str, list[ResourceType]] = {}
        for each in sorted(types.values(), key=lambda one: (-one.key.literals, one.name)):
            self._by_head.setdefault(str(each.key.parts[0]), []).append(each)
        self._alias_by_head: dict[str, list[tuple[Template, Template]]] = {}
        for source, target in sorted(aliases.items()):
            self._add_alias(parse_template(source), parse_template(target))
        self._refuse_ties()

    def _add_alias(self, source: Template, target: Template) -> None:
        if sorted(source.names) != sorted(target.names):
            raise ModelError(f"alias `{source.text}` and its target `{target.text}` have different placeholders")
        if self.type_of(tuple(part if isinstance(part, str) else "x" for part in target.parts)) is None:
            raise ModelError(
                f"alias `{source.text}` points at `{target.text}`, which no resource type names",
                code="unknown_resource",
            )
        self._alias_by_head.setdefault(str(source.parts[0]), []).append((source, target))

    def _refuse_ties(self) -> None:
        for group in self._by_head.values():
            for index, one in enumerate(group):
                for other in group[index + 1 :]:
                    if one.key.ties_with(other.key):
                        raise ModelError(
                            f"resource types `{one.name}` and `{other.name}` tie: "
                            f"`{one.key.text}` and `{other.key.text}` match the same keys"
                        )

    def type_of(self, segments: Segments) -> ResourceType | None:
        """Return the type a key belongs to: of those that match, the one with most literal segments."""
        for each in self._by_head.get(segments[0], ()):
            if each.key.match(segments) is not None:
                return each
        return None

    def canonical(self, key: str) -> str:
        """Return the key that an alias stands for, or the key itself.

        Raises:
            ModelError: `malformed_resource_key`.
        """
        segments = parse_key(key)
        for source, target in self._alias_by_head.get(segments[0], ()):
            values = source.match(segments)
            if values is not None:
                return ":".join(target._fill(self._ordered(source, target, values)))  # noqa: SLF001
        return key

    @staticmethod
    def _ordered(source: Template, target: Template, values: Segments) -> Segments:
        if source.names == target.names:
            return values
        by_name = dict(zip(source.names, values, strict=False))
        return tuple(by_name[name] for name in target.names)

    def resolve(self, type_name: str, identifier: str) -> Resolved | None:
        """Return the canonical key and type of an AuthZEN resource, or None where the type is unknown.

        Raises:
            ModelError: `malformed_resource_key`: a segment breaks a rule, the number of segments does not fit the
                type's template, or the key belongs to another type.
        """
        name = (type_name, identifier)
        known = self._resolved.get(name)
        if known is None and (known := self._resolve(type_name, identifier)) is not None:
            # What is unknown is not kept: those who guess would push out what is asked for.
            if len(self._resolved) >= KEYS_KEPT:
                self._resolved.clear()
            self._resolved[name] = known
        return known

    def _resolve(self, type_name: str, identifier: str) -> Resolved | None:
        if type_name == KEY_TYPE:
            canonical = self.canonical(identifier)
            stands_for = self.type_of(parse_key(canonical))
            return None if stands_for is None else Resolved(canonical, stands_for)
        declared = self.types.get(type_name)
        if declared is None:
            return self._resolve_alias_type(type_name, identifier)
        key = declared.key.key(identifier)
        if key is None:
            raise ModelError(
                f"`{identifier}` does not fit `{declared.key.text}`: it needs {len(declared.key.names)} segments",
                code="malformed_resource_key",
                key=identifier,
            )
        actual = self.type_of(parse_key(key))
        if actual is not declared:
            other = "no type" if actual is None else f"type `{actual.name}`"
            raise ModelError(
                f"`{key}` belongs to {other}, not to `{type_name}`", code="malformed_resource_key", key=key
            )
        return Resolved(key, declared)

    def _resolve_alias_type(self, type_name: str, identifier: str) -> Resolved | None:
        """An alias spelled as a type, `wordpress:article` with id `1024`, is the alias key (S48)."""
        if type_name.partition(":")[0] not in self._alias_by_head:
            return None
        candidate = f"{type_name}:{identifier}"
        return self.resolve_key(candidate) if self.canonical(candidate) != candidate else None

    def resolve_key(self, key: str) -> Resolved | None:
        """Return the canonical key and type of a full key, or None where nothing registered matches it."""
        return self.resolve(KEY_TYPE, key)
