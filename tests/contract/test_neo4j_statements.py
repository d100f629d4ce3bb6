"""The Cypher of the ledger stands in files: named, explained, loaded once, never put together from strings."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import remit_graph.neo4j
from remit_graph.model.edge import EdgeType
from remit_graph.neo4j import statements
from remit_graph.neo4j.statements import STATEMENTS, library

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.neo4j_server import Neo4jServer

PACKAGE = Path(remit_graph.neo4j.__file__).parent
CLAUSES = (
    "CALL", "CREATE", "DELETE", "DETACH", "FOREACH", "LIMIT", "MATCH", "MERGE", "OPTIONAL", "ORDER BY", "REMOVE",
    "RETURN", "SET", "SHOW", "SKIP", "UNION", "UNWIND", "WHERE", "WITH",
)  # fmt: skip


def _calls() -> Iterator[tuple[str, ast.Call]]:
    for file in sorted(PACKAGE.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "run":
                yield f"{file.name}:{node.lineno}", node


def _is_named(query: ast.expr) -> bool:
    if isinstance(query, ast.Call) and isinstance(query.func, ast.Name) and query.func.id == "Query":
        query = query.args[0]
    return isinstance(query, ast.Subscript) and isinstance(query.value, ast.Name) and query.value.id == "STATEMENTS"


def test_only_named_queries_are_run() -> None:
    """Every call of the driver is given an entry of `STATEMENTS`: no text, no f-string, no `+`."""
    calls = list(_calls())

    assert len(calls) == 3
    assert [place for place, call in calls if not _is_named(call.args[0])] == []


def test_every_query_is_used() -> None:
    """No query is left over, but those that are for people."""
    asked = {
        node.value
        for file in PACKAGE.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }

    assert [name for name in STATEMENTS if name not in asked] == [each.name for each in library()]


def test_queries_are_written_in_one_way() -> None:
    """Single quotes, no backticks, no semicolon, keywords in upper case."""
    lower = re.compile(rf"(?<![$.])\b({'|'.join(CLAUSES).lower()})\b")

    assert [name for name, text in STATEMENTS.items() if re.search(r'["`;]', text) or lower.search(text)] == []


def test_a_query_that_walks_edges_names_every_type() -> None:
    """Where all types of edges are listed, none is missing; Cypher takes no parameter there."""
    listing = re.compile(r"ACTS_AS(?:\s*\|\s*\w+){9,}")
    known = {str(each) for each in EdgeType}
    listed = {
        name: {each.strip().removeprefix("WAS_") for each in match.group().split("|")} - {"PASSES_TO"}
        for name, text in STATEMENTS.items()
        for match in listing.finditer(text)
    }

    assert set(listed) == {"foreign_named", "totals_of_edges", "edges_to_judge", "past_edges_to_judge"}
    assert [name for name, types in listed.items() if types != known] == []


def test_every_type_of_edge_can_end() -> None:
    """The query that moves edges into history has a branch for each type."""
    branches = re.findall(r"WHERE node.edge = '(\w+)'\n  MATCH \(\)-\[edge:(\w+) ", STATEMENTS["edges_end"])

    assert branches == [(str(each), str(each)) for each in EdgeType]


@pytest.mark.neo4j
def test_the_server_understands_every_query(neo4j_of_this_run: Neo4jServer) -> None:
    """Each one is planned, with values of the kinds that it takes."""
    neo4j_of_this_run.revive()
    for name, text in STATEMENTS.items():
        if not text.startswith("SHOW"):
            parameters = dict.fromkeys(re.findall(r"\$([a-z_]+)", text))
            neo4j_of_this_run.query(f"EXPLAIN {text}", **parameters)
        assert name in STATEMENTS


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("MATCH (n) RETURN n", "lacks its name"),
        ("// one\nMATCH (n) RETURN n", "lacks its name"),
        ("// one\n// A sentence.\n", "lacks its name"),
        ("// one\n// A sentence.\nRETURN 1\n\n// one\n// Again.\nRETURN 2", "is there already"),
    ],
)
def test_a_block_without_its_head_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str
) -> None:
    """A query without name or sentence, or with a name twice, stops the start."""
    (tmp_path / "some.cypher").write_text(text)
    monkeypatch.setattr(statements, "_QUERIES", tmp_path)

    with pytest.raises(ValueError, match=problem):
        statements._load()
