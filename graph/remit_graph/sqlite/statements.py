"""The SQL of this package, read once from `queries/` and `schema/`.

A query is a block of a `.sql` file: its name, a sentence, then one statement; blocks are divided by an empty line.
Nothing else in the package holds SQL, and no SQL is put together from strings: a test over the syntax tree says so.

    connection.execute(STATEMENTS["head"])
"""

from __future__ import annotations

import re
import sqlite3
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable
    from typing import LiteralString

_PACKAGE: Final = files(__package__)
_BLOCK: Final = re.compile(r"-- (?P<name>[a-z_]+)\n-- [^\n]+\n(?P<statement>(?!--).+)", re.DOTALL)


def _blocks(file: Traversable) -> Iterator[tuple[str, LiteralString]]:
    for block in file.read_text("utf-8").strip().split("\n\n"):
        match = _BLOCK.fullmatch(block)
        if match is None:
            raise ValueError(f"a block of {file.name} lacks its name, its sentence or its statement: {block[:60]}")
        yield match["name"], match["statement"].strip()


def _queries() -> dict[str, LiteralString]:
    queries: dict[str, LiteralString] = {}
    for file in sorted((_PACKAGE / "queries").iterdir(), key=lambda each: each.name):
        for name, statement in _blocks(file):
            if name in queries:
                raise ValueError(f"{file.name}: a query named {name} is there already")
            queries[name] = statement
    return queries


def _script(text: str) -> tuple[LiteralString, ...]:
    statements: list[LiteralString] = []
    pending = ""
    for line in text.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending.strip())
            pending = ""
    if pending.strip():
        raise ValueError(f"a schema step ends inside a statement: {pending.strip()[:60]}")
    return tuple(statements)


STATEMENTS: Final[Mapping[str, LiteralString]] = _queries()
"""Every query by its name."""

LAYOUTS: Final[tuple[tuple[LiteralString, ...], ...]] = tuple(
    _script(file.read_text("utf-8")) for file in sorted((_PACKAGE / "schema").iterdir(), key=lambda each: each.name)
)
"""The steps of the tables' layout, each a list of statements; step n brings a store from layout n - 1 to n."""
