"""Plain values as YAML in flow style, one way to write each value, so that equal worlds are equal bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z", re.ASCII)
_RESERVED: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that some reader of YAML takes for something else than a string, in any case."""


def flow(value: Any) -> str:
    """Write a string, whole number, boolean, list or mapping; members keep their order."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(name)}: {flow(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(each) for each in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return text(str(value))


def text(value: str) -> str:
    """Write a string: plain where every reader takes it for one, else in double quotes."""
    if _PLAIN.match(value) and value.lower() not in _RESERVED:
        return value
    if value.isprintable():
        return json.dumps(value, ensure_ascii=False)
    return '"' + "".join(_escaped(each) for each in value) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    return f"\\U{ord(character):08X}"
