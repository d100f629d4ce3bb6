"""The YAML that a data file may hold: the part that every YAML parser reads as the same JSON.

OPA and this program use different parsers, and YAML has scalars on which parsers differ: `yes` is true for one and a
string for another, `012` is ten or twelve, `12:30` a number of minutes. A conflict matrix must not depend on that, so
what could be read two ways is refused with its line: write it in quotes. Refused as well: tags, anchors and aliases,
merge keys, keys that are no strings, and a key given twice.
"""

from __future__ import annotations

import re
from typing import Final

import yaml

from remit_service.bundle.errors import BundleRefused, Problem

MAX_DEPTH: Final = 64
"""Deeper data is refused; the deepest that is shipped has five levels."""

_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None, "~": None, "": None}
_INTEGER: Final = re.compile(r"-?(?:0|[1-9]\d{0,17})\Z", re.ASCII)
_FRACTION: Final = re.compile(r"-?(?:0|[1-9]\d{0,17})\.\d{1,15}\Z", re.ASCII)
_AMBIGUOUS: Final = re.compile(
    r"(?:y|n|yes|no|on|off|true|false|null|[-+]?\.(?:inf|nan)|[-+.]?\d[\dxob_.,:e+-]*|0x[\da-f_]+|=|<<)\Z",
    re.ASCII | re.IGNORECASE,
)


def fraction(text: str) -> float:
    """Return the number that `text` is, written in the one way in which all encoders write it.

    Raises:
        ValueError: it is written otherwise, such as `0.50` or `1e3`; a signature over it would not be OPA's.
    """
    number = float(text)
    if repr(number) != text or number.is_integer():
        raise ValueError(f"`{text}` must be written as `{repr(number).removesuffix('.0')}`")
    return number


def parse_yaml(path: str, content: bytes) -> object:
    """Return the value of one data file.

    Raises:
        BundleRefused: it is no YAML, or holds something that parsers read differently.
    """
    try:
        node = yaml.compose(content.decode(), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise BundleRefused(Problem(path, line, f"is no YAML: {error.problem}")) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise BundleRefused(Problem(path, 0, f"is no YAML: {error}")) from error
    return None if node is None else _Reader(path).value(node, 0)


class _Reader:
    """Turns the nodes of one file into a value."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, depth: int) -> object:
        # A node that is met twice was reached through an alias.
        if id(node) in self._seen:
            raise self._refused(node, "an alias is refused: write the value out")
        self._seen.add(id(node))
        if depth > MAX_DEPTH:
            raise self._refused(node, f"is nested deeper than {MAX_DEPTH}")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        raise self._refused(node, "is of no known kind")

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, object]:
        value: dict[str, object] = {}
        for key_node, value_node in node.value:
            key = self.value(key_node, depth + 1)
            if not isinstance(key, str):
                raise self._refused(key_node, f"the key `{key}` is no string: put it in quotes")
            if key in value:
                raise self._refused(key_node, f"the key `{key}` is given twice")
            value[key] = self.value(value_node, depth + 1)
        return value

    def _scalar(self, node: yaml.ScalarNode) -> object:
        text: str = node.value
        if not node.tag.startswith("tag:yaml.org,2002:"):
            raise self._refused(node, f"the tag `{node.tag}` is refused")
        if node.style is not None:
            return text
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if _INTEGER.match(text):
            return int(text)
        if _FRACTION.match(text):
            return self._fraction(node, text)
        if _AMBIGUOUS.match(text) or node.tag != "tag:yaml.org,2002:str":
            raise self._refused(node, f"`{text}` can be read in two ways: put it in quotes")
        return text

    def _fraction(self, node: yaml.ScalarNode, text: str) -> float:
        try:
            return fraction(text)
        except ValueError as error:
            raise self._refused(node, str(error)) from error

    def _refused(self, node: yaml.Node, message: str) -> BundleRefused:
        return BundleRefused(Problem(self._path, node.start_mark.line + 1, message))
