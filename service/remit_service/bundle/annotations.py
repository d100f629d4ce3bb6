"""Read `# METADATA` comments as far as the engines need them: which rules are entry points.

A block starts with `# METADATA` in the first column, holds YAML in the comment lines after it, and belongs to the rule
below it. Syntax trees hold no comments, so this reads the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from remit_service.bundle.yaml_data import parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

_START: Final = "# METADATA"
_RULE_NAME: Final = re.compile(r"(?:default\s+)?([a-z_]\w*)", re.ASCII)


def entrypoint_names(path: str, source: str) -> frozenset[str]:
    """Return the names of the rules in `source` that are annotated with `entrypoint: true`.

    Raises:
        BundleRefused: an annotation is no YAML.
    """
    return frozenset(name for block, name in _annotated(source) if _is_entrypoint(path, block))


def _annotated(source: str) -> Iterator[tuple[str, str]]:
    """Yield each annotation with the name of the rule below it."""
    lines = iter(source.splitlines())
    for line in lines:
        if line.strip() == _START:
            block, below = _block(lines)
            rule = _RULE_NAME.match(below)
            if rule and rule[1] != "package":
                yield block, rule[1]


def _block(lines: Iterator[str]) -> tuple[str, str]:
    """Take the comment lines of one annotation and the line that ends it."""
    block: list[str] = []
    for line in lines:
        if not line.startswith("#"):
            return "\n".join(block), line
        block.append(line[1:])
    return "\n".join(block), ""


def _is_entrypoint(path: str, block: str) -> bool:
    # Most annotations are descriptions, which need not be parsed.
    if "entrypoint" not in block:
        return False
    annotation = parse_yaml(path, block.encode())
    return isinstance(annotation, dict) and annotation.get("entrypoint") is True
