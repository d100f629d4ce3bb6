"""The Cypher of this package, read once from `queries/`.

A query is a block of a `.cypher` file: its name, a sentence, notes if it needs any, then one statement; blocks are
divided by an empty line. Nothing else in the package holds Cypher, and none is put together from strings: a test over
the syntax tree says so.

    await transaction.run(STATEMENTS["head"], realm="acme")
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable
    from typing import LiteralString

_QUERIES: Final = files(__package__) / "queries"
_BLOCK: Final = re.compile(r"// (?P<name>[a-z_]+)\n(?P<notes>(?:// [^\n]+\n)+)(?P<statement>(?!//).+)", re.DOTALL)
LIBRARY: Final = "library.cypher"
"""The file whose queries are for people: the questions of an incident."""


class Statement(NamedTuple):
    """One query as its file has it."""

    file: str
    name: str
    sentence: str
    cypher: LiteralString


def _blocks(file: Traversable) -> Iterator[Statement]:
    for block in file.read_text("utf-8").strip().split("\n\n"):
        match = _BLOCK.fullmatch(block)
        if match is None:
            raise ValueError(f"a block of {file.name} lacks its name, its sentence or its statement: {block[:60]}")
        sentence = " ".join(line.removeprefix("// ") for line in match["notes"].splitlines())
        yield Statement(file.name, match["name"], sentence, cast("LiteralString", match["statement"].strip()))


def _load() -> dict[str, Statement]:
    found: dict[str, Statement] = {}
    for file in sorted(_QUERIES.iterdir(), key=lambda each: each.name):
        for statement in _blocks(file):
            if statement.name in found:
                raise ValueError(f"{file.name}: a query named {statement.name} is there already")
            found[statement.name] = statement
    return found


_LOADED: Final = _load()

STATEMENTS: Final[Mapping[str, LiteralString]] = {name: each.cypher for name, each in _LOADED.items()}
"""Every query by its name."""


def library() -> list[Statement]:
    """Return the queries for people, in the order of their file."""
    return [each for each in _LOADED.values() if each.file == LIBRARY]
