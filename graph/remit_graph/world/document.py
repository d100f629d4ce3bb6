"""YAML text to nodes that know their line; a small, strict part of YAML 1.2.

What is read: mappings, lists, strings, whole numbers, `true` and `false`. What is refused, each with its line:

- duplicate keys, keys that are no strings, more than one document;
- anchors, aliases, merge keys and tags: a world says each thing once, and no file expands into a larger one;
- floats, and numbers that two readers read differently (`007`, `0x1f`, `1_000`, `12:30:00`);
- null, which is neither "nothing" nor "everything": the key is left out instead.

A time is a string here, quoted or not; whether it is one is the business of who asks for a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from remit_graph.world.source import Problems

MAX_BYTES: Final = 64 * 1024 * 1024
"""A larger world enters by `remit store import` (rules.md 5)."""

MAX_DEPTH: Final = 16
"""Deeper than any section of a world file; bounds the recursion on hostile input."""

_WHOLE: Final = re.compile(r"(0|-?[1-9][0-9]*)\Z", re.ASCII)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_NUMBERLIKE: Final = re.compile(
    r"[-+]?(\.?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|0[xob][0-9A-Fa-f_]+|[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?|\.(inf|Inf|INF)|\.(nan|NaN|NAN))\Z",
    re.ASCII,
)
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS: Final = {"true": True, "false": False}
_LOADER: Final[Any] = getattr(yaml, "CLoader", yaml.Loader)

Value = "str | int | bool | tuple[Node, ...] | Mapping[str, Node]"


@dataclass(frozen=True, slots=True)
class Node:
    """A value and the line it begins on; `keys` are the lines of a mapping's keys."""

    value: str | int | bool | tuple[Node, ...] | Mapping[str, Node]
    line: int
    keys: Mapping[str, int] | None = None

    @property
    def mapping(self) -> Mapping[str, Node]:
        """The members, or none where this is no mapping."""
        return self.value if isinstance(self.value, Mapping) else {}

    @property
    def items(self) -> tuple[Node, ...]:
        """The items, or none where this is no list."""
        return self.value if isinstance(self.value, tuple) else ()

    def find(self, *path: str) -> int | None:
        """Return the line of the key at the end of `path`, or None where it is not there."""
        node = self
        for name in path[:-1]:
            inner = node.mapping.get(name)
            if inner is None:
                return None
            node = inner
        return (node.keys or {}).get(path[-1])

    def line_of(self, *path: str) -> int:
        """Return the line of a member below this one, or of the deepest part of the path that is there."""
        node = self
        for name in path:
            inner = node.mapping.get(name)
            if inner is None:
                break
            node = inner
        return node.line


class _Fault(Exception):
    """Reading cannot go on."""

    def __init__(self, line: int, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.line, self.message, self.advice = line, message, advice


def parse_document(text: str, problems: Problems) -> Node | None:
    """Read one YAML document; what is wrong goes to `problems`, and None means that nothing could be read."""
    if len(text) > MAX_BYTES:
        problems.add(0, f"the file has more than {MAX_BYTES} bytes", advice="use `remit store import`")
        return None
    try:
        composer = _Composer(iter(yaml.parse(text, Loader=_LOADER)), problems)
        return composer.document()
    except _Fault as fault:
        problems.add(fault.line, fault.message, advice=fault.advice)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problems.add(mark.line + 1 if mark else 0, f"not YAML: {error.problem or error.context}")
    except yaml.YAMLError as error:
        problems.add(0, f"not YAML: {error}")
    return None


class _Composer:
    """Turns the parser's events into nodes; keeps one event of look-ahead, no recursion beyond `MAX_DEPTH`."""

    def __init__(self, events: Iterator[Any], problems: Problems) -> None:
        self._events = events
        self._problems = problems

    def document(self) -> Node | None:
        """Read the only document of the stream."""
        next(self._events)
        start = next(self._events)
        if isinstance(start, yaml.StreamEndEvent):
            raise _Fault(0, "the file is empty", "begin with `realm: <name>`")
        node = self._node(next(self._events), 0)
        next(self._events)
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise _Fault(
                after.start_mark.line + 1, "a second document begins here", "a world is one document: remove `---`"
            )
        return node

    def _node(self, event: Any, depth: int) -> Node | None:
        line = event.start_mark.line + 1
        if depth > MAX_DEPTH:
            raise _Fault(line, f"nested deeper than {MAX_DEPTH}")
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _Fault(line, "anchors and aliases are refused", "write the value out where it is used")
        if event.tag is not None and event.tag != "!":
            raise _Fault(line, f"the tag `{event.tag}` is refused", "leave it out")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, line)
        if isinstance(event, yaml.SequenceStartEvent):
            return Node(tuple(self._sequence(depth)), line)
        return self._mapping(line, depth)

    def _sequence(self, depth: int) -> Iterator[Node]:
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            node = self._node(event, depth + 1)
            if node is not None:
                yield node

    def _mapping(self, line: int, depth: int) -> Node:
        members: dict[str, Node] = {}
        lines: dict[str, int] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            at = event.start_mark.line + 1
            if not isinstance(event, yaml.ScalarEvent) or event.anchor is not None:
                raise _Fault(at, "a key is a plain string")
            key = event.value
            value = self._node(next(self._events), depth + 1)
            if key == "<<" and event.implicit[0]:
                self._problems.add(at, "merge keys are refused", advice="write the members out")
            elif key in members:
                self._problems.add(at, f"`{key}` is given twice, first on line {lines[key]}")
            elif value is not None:
                members[key] = value
                lines[key] = at
        return Node(members, line, lines)

    def _scalar(self, event: Any, line: int) -> Node | None:
        text: str = event.value
        if not event.implicit[0]:
            return Node(text, line)
        if _WHOLE.match(text):
            return Node(int(text), line)
        if text in _BOOLEANS:
            return Node(_BOOLEANS[text], line)
        if text in _NULLS:
            self._problems.add(
                line, "null is refused", advice="leave the key out, or write [] for a list that covers nothing"
            )
            return None
        if _NUMBERLIKE.match(text) and not _TIME.match(text):
            self._problems.add(
                line, f"`{text}` is no whole number", advice="write a whole number, or put it in quotes if it is a name"
            )
            return None
        return Node(text, line)
