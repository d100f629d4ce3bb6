"""The SQL of the embedded ledger stands in files: named, explained, loaded once, never put together from strings."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import remit_graph.sqlite
from remit_graph.sqlite import statements
from remit_graph.sqlite.statements import LAYOUTS, STATEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(remit_graph.sqlite.__file__).parent
RUNNERS = {"execute", "executemany", "executescript"}


def _calls() -> Iterator[tuple[str, ast.Call]]:
    for file in sorted(PACKAGE.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RUNNERS:
                yield f"{file.name}:{node.lineno}", node


def _is_from_a_file(statement: ast.expr) -> bool:
    """Whether it is a named query, or a statement of a schema step."""
    if isinstance(statement, ast.Subscript):
        return isinstance(statement.value, ast.Name) and statement.value.id == "STATEMENTS"
    return isinstance(statement, ast.Name) and statement.id == "statement"


def test_only_named_queries_are_run() -> None:
    """Every query call is given an entry of `STATEMENTS`, or a statement of a schema step: no text, f-string or `+`."""
    calls = list(_calls())

    assert len(calls) > 20
    assert [place for place, call in calls if not _is_from_a_file(call.args[0])] == []


def test_every_query_is_used() -> None:
    """No query is left over, and none is asked for that is not there."""
    asked = {
        node.value
        for file in PACKAGE.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }

    assert [name for name in STATEMENTS if name not in asked] == []


def test_values_are_named_parameters() -> None:
    """Queries take values by name, end without a semicolon and are one statement."""
    assert [name for name, text in STATEMENTS.items() if "?" in text or ";" in text] == []


def test_the_schema_is_in_steps() -> None:
    """Each step ends by saying which layout it has reached."""
    assert [step[-1].splitlines()[-1] for step in LAYOUTS] == [
        f"PRAGMA user_version = {number};" for number in range(1, len(LAYOUTS) + 1)
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("SELECT 1", "lacks its name"),
        ("-- one\nSELECT 1", "lacks its name"),
        ("-- one\n-- A sentence.\n", "lacks its name"),
        ("-- one\n-- A sentence.\nSELECT 1\n\n-- one\n-- Again.\nSELECT 2", "is there already"),
    ],
)
def test_a_block_without_its_head_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str
) -> None:
    """A query without name or sentence, or with a name twice, stops the start."""
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "some.sql").write_text(text)
    monkeypatch.setattr(statements, "_PACKAGE", tmp_path)

    with pytest.raises(ValueError, match=problem):
        statements._queries()


def test_a_step_that_ends_inside_a_statement_is_refused() -> None:
    """A schema file that lacks its last semicolon is not applied in part."""
    with pytest.raises(ValueError, match="ends inside a statement"):
        statements._script("CREATE TABLE a (id);\nCREATE TABLE b (id)")
