"""Read `# METADATA` comments as OPA does: which rules are entry points, and what OPA would refuse a bundle for.

A block starts with `# METADATA`, holds YAML in the comment lines right after it, and belongs to the statement below
it. The VM of this process knows nothing of annotations; OPA reads them, and one that it refuses keeps the whole bundle
from it. Syntax trees hold no comments, so this reads the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import yaml

from remit_service.bundle.errors import BundleRefused, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_START: Final = "# METADATA"
_RULE_NAME: Final = re.compile(r"(?:default\s+)?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", re.ASCII)
_OF_PACKAGES: Final = ("package", "subpackages")
_OF_RULES: Final = ("rule", "document")
_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "entrypoint": bool, "authors": list, "organizations": list, "related_resources": list, "schemas": list,
    "custom": dict,
}  # fmt: skip
"""Members that OPA takes of one type only."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One block: the line of its start, counted from 1, its YAML, and the statement below it, or nothing."""

    line: int
    text: str
    statement: str

    @property
    def rule(self) -> str | None:
        """The rule it belongs to, or None where that is a package, an import or nothing."""
        name = _RULE_NAME.match(self.statement)
        return None if name is None or name[1] in ("package", "import") else name[1]

    @property
    def is_of_package(self) -> bool:
        """Whether it stands above the package."""
        return re.match(r"package\b", self.statement) is not None


@dataclass(frozen=True, slots=True)
class Source:
    """A module as text, with the package it is of."""

    path: str
    package: tuple[str, ...]
    text: str


def entrypoint_names(path: str, source: str) -> frozenset[str]:
    """Return the names of the rules in `source` that are annotated with `entrypoint: true`.

    Raises:
        BundleRefused: an annotation that may say so cannot be read.
    """
    # Most annotations are descriptions, which need not be parsed.
    blocks = (each for each in _annotations(source) if "entrypoint" in each.text)
    return frozenset(each.rule for each in blocks if each.rule and _parsed(path, each).get("entrypoint") is True)


def annotation_problems(sources: Iterable[Source]) -> Iterator[Problem]:
    """Yield the annotations for which OPA would refuse the bundle, each with its file and line."""
    declared: dict[tuple[str, ...], str] = {}
    for source in sorted(sources, key=lambda each: each.path):
        for block in _annotations(source.text):
            try:
                scope = _scope(source.path, block)
            except BundleRefused as error:
                yield from error.problems
                continue
            if scope == "rule":
                continue
            what = ".".join((*source.package, *([block.rule] if block.rule is not None else [])))
            place = f"{source.path}:{block.line}"
            earlier = declared.setdefault((scope, what), place)
            if earlier != place:
                yield Problem(
                    source.path, block.line, f"OPA takes one annotation of the {scope} `{what}`, and it is at {earlier}"
                )


def _scope(path: str, block: Annotation) -> str:
    """Return what a block speaks of.

    Raises:
        BundleRefused: it speaks of what is not below it, or not in a way that OPA reads.
    """
    members = _parsed(path, block)
    scopes = _OF_PACKAGES if block.is_of_package else _OF_RULES if block.rule is not None else ()
    if not scopes:
        raise _refused(path, block, "an annotation stands right above a package or a rule")
    usual = "package" if block.is_of_package else "document" if members.get("entrypoint") else "rule"
    scope = members.get("scope", usual)
    if scope not in scopes:
        raise _refused(path, block, f"`scope: {scope}` does not fit here: it is one of {', '.join(scopes)}")
    if members.get("entrypoint") and scope == "rule":
        raise _refused(path, block, "an entry point is a document: write `scope: document`, or leave the scope out")
    return str(scope)


def _parsed(path: str, block: Annotation) -> dict[str, Any]:
    try:
        members = yaml.safe_load(block.text)
    except yaml.MarkedYAMLError as error:
        line = block.line + 1 + (error.problem_mark.line if error.problem_mark is not None else 0)
        raise BundleRefused(Problem(path, line, f"the annotation is no YAML: {error.problem}")) from error
    except yaml.YAMLError as error:
        raise _refused(path, block, f"the annotation is no YAML: {error}") from error
    if not isinstance(members, dict) or not members:
        raise _refused(path, block, "an annotation is a mapping in YAML, such as `title: ...`")
    for name, kind in _TYPES.items():
        if name in members and not isinstance(members[name], kind):
            raise _refused(path, block, f"`{name}` of an annotation is of another type")
    return members


def _refused(path: str, block: Annotation, message: str) -> BundleRefused:
    return BundleRefused(Problem(path, block.line, message))


def _annotations(source: str) -> Iterator[Annotation]:
    lines = source.splitlines()
    starts = [number for number, line in enumerate(lines) if line.strip() == _START]
    for start in starts:
        end = start + 1
        while end < len(lines) and lines[end].lstrip().startswith("#"):
            end += 1
        text = "\n".join(line.lstrip().removeprefix("#") for line in lines[start + 1 : end])
        yield Annotation(start + 1, text, _statement(lines[end:]))


def _statement(lines: Iterable[str]) -> str:
    return next((line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
