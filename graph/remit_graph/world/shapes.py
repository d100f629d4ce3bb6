"""Shapes of a world file's values: one declaration from which both the reader and the published JSON Schema come.

A shape reads a node into plain Python values (strings, whole numbers, booleans, lists, dictionaries; times become
microseconds UTC) and reports what does not fit with its line. A value that does not fit is `None`, so that reading
goes on and finds the next fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from remit_graph.errors import ModelError
from remit_graph.model.instant import parse_instant

if TYPE_CHECKING:
    from remit_graph.world.document import Node
    from remit_graph.world.source import Problems


class Shape(Protocol):
    """What may stand at some place of a world file."""

    def read(self, node: Node, problems: Problems) -> Any:
        """Return the plain value, or None after reporting why it does not fit."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the same values."""


def _kind(node: Node) -> str:
    if isinstance(node.value, bool):
        return f"the boolean `{str(node.value).lower()}`"
    if isinstance(node.value, Mapping):
        return "a mapping"
    if isinstance(node.value, tuple):
        return "a list"
    return f"the number `{node.value}`" if isinstance(node.value, int) else f"`{node.value}`"


@dataclass(frozen=True, slots=True)
class Text:
    """A string, not empty unless it may be; `choices` closes the set."""

    what: str = "a string"
    choices: tuple[str, ...] = ()
    may_be_empty: bool = False

    def read(self, node: Node, problems: Problems) -> str | None:
        """Return the string."""
        if isinstance(node.value, str) and (node.value in self.choices if self.choices else self._fits(node.value)):
            return node.value
        wanted = f"one of {', '.join(self.choices)}" if self.choices else self.what
        quote = isinstance(node.value, int) and not self.choices
        problems.add(node.line, f"{_kind(node)} is not {wanted}", advice="put it in quotes" if quote else "")
        return None

    def schema(self) -> dict[str, Any]:
        """Return a string, perhaps an enumeration."""
        if self.choices:
            return {"enum": list(self.choices)}
        return {"type": "string", "minLength": 0 if self.may_be_empty else 1, "description": self.what}

    def _fits(self, value: str) -> bool:
        return self.may_be_empty or bool(value)


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number of at least `minimum`."""

    minimum: int | None = None

    def read(self, node: Node, problems: Problems) -> int | None:
        """Return the number."""
        if type(node.value) is int and (self.minimum is None or node.value >= self.minimum):
            return node.value
        least = "" if self.minimum is None else f" of {self.minimum} or more"
        problems.add(node.line, f"{_kind(node)} is not a whole number{least}")
        return None

    def schema(self) -> dict[str, Any]:
        """Return an integer."""
        return {"type": "integer"} if self.minimum is None else {"type": "integer", "minimum": self.minimum}


@dataclass(frozen=True, slots=True)
class Flag:
    """`true` or `false`."""

    def read(self, node: Node, problems: Problems) -> bool | None:
        """Return the boolean."""
        if isinstance(node.value, bool):
            return node.value
        problems.add(node.line, f"{_kind(node)} is neither true nor false")
        return None

    def schema(self) -> dict[str, Any]:
        """Return a boolean."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Moment:
    """An RFC 3339 time with an offset; a number could be seconds, milliseconds or worse, and is refused."""

    def read(self, node: Node, problems: Problems) -> int | None:
        """Return microseconds UTC."""
        if not isinstance(node.value, str):
            problems.add(
                node.line,
                f"{_kind(node)} is not a time",
                advice='write RFC 3339 with an offset: "2027-01-01T00:00:00Z"',
            )
            return None
        try:
            return parse_instant(node.value)
        except ModelError as error:
            problems.add(node.line, error.message, code=error.code)
        return None

    def schema(self) -> dict[str, Any]:
        """Return a date-time string."""
        return {"type": "string", "format": "date-time", "description": "RFC 3339 with seconds and an offset"}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, a whole number or a boolean; an empty string is one too."""

    def read(self, node: Node, problems: Problems) -> str | int | bool | None:
        """Return the scalar."""
        if isinstance(node.value, str | int):
            return node.value
        problems.add(node.line, f"{_kind(node)} is not a string, a whole number or a boolean")
        return None

    def schema(self) -> dict[str, Any]:
        """Return the three types."""
        return {"type": ["string", "integer", "boolean"]}


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose items all have one shape."""

    item: Shape

    def read(self, node: Node, problems: Problems) -> list[Any] | None:
        """Return the items that fit."""
        if not isinstance(node.value, tuple):
            problems.add(node.line, f"{_kind(node)} is not a list", advice="write [a, b] or one `- ` a line")
            return None
        read = [self.item.read(each, problems) for each in node.value]
        return [each for each in read if each is not None]

    def schema(self) -> dict[str, Any]:
        """Return an array."""
        return {"type": "array", "items": self.item.schema()}


@dataclass(frozen=True, slots=True)
class MapOf:
    """A mapping from free names to values of one shape."""

    item: Shape

    def read(self, node: Node, problems: Problems) -> dict[str, Any] | None:
        """Return the members that fit."""
        if not isinstance(node.value, Mapping):
            problems.add(node.line, f"{_kind(node)} is not a mapping", advice="write {name: value}")
            return None
        read = {name: self.item.read(each, problems) for name, each in node.value.items()}
        return {name: each for name, each in read.items() if each is not None}

    def schema(self) -> dict[str, Any]:
        """Return an object with free names."""
        return {"type": "object", "additionalProperties": self.item.schema()}


@dataclass(frozen=True, slots=True)
class Members:
    """A mapping with known members.

    Attributes:
        what: How messages call it.
        members: Name to shape.
        required: Names that must be there.
        description: For the schema.
        whole: Whether an entry with an unknown member is not read at all, since the rest of it means nothing.
    """

    what: str
    members: Mapping[str, Shape]
    required: tuple[str, ...] = ()
    description: str = ""
    whole: bool = False

    def read(self, node: Node, problems: Problems) -> dict[str, Any] | None:
        """Return the members that fit; None if a required one is missing or does not fit."""
        if not isinstance(node.value, Mapping):
            problems.add(
                node.line, f"{_kind(node)} is not {self.what}", advice=f"write a mapping with {', '.join(self.members)}"
            )
            return None
        lines = node.keys or {}
        read: dict[str, Any] = {}
        for name, each in node.value.items():
            shape = self.members.get(name)
            if shape is None:
                known = ", ".join(self.members)
                problems.add(
                    lines.get(name, each.line), f"{self.what} has no member `{name}`", advice=f"known are {known}"
                )
                continue
            value = shape.read(each, problems)
            if value is not None:
                read[name] = value
        for name in self.required:
            if name not in node.value:
                problems.add(node.line, f"{self.what} needs `{name}`")
        if self.whole and not node.value.keys() <= self.members.keys():
            return None
        return read if all(name in read for name in self.required) else None

    def schema(self) -> dict[str, Any]:
        """Return a closed object."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: shape.schema() for name, shape in self.members.items()},
            "additionalProperties": False,
        }
        if self.required:
            schema["required"] = list(self.required)
        if self.description:
            schema["description"] = self.description
        return schema


@dataclass(frozen=True, slots=True)
class Either:
    """One of two shapes, told apart by whether the value is a scalar (`first`) or not (`second`)."""

    first: Shape
    second: Shape
    by: type = field(default=Mapping)

    def read(self, node: Node, problems: Problems) -> Any:
        """Read with the shape that the kind of value calls for."""
        return (self.second if isinstance(node.value, self.by) else self.first).read(node, problems)

    def schema(self) -> dict[str, Any]:
        """Return both."""
        return {"anyOf": [self.first.schema(), self.second.schema()]}
