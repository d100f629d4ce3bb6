"""Changes have one spelling, and what has none is refused: every digest runs over these bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_graph.errors import ModelError
from remit_graph.model.change import (
    GENESIS,
    SCHEMA,
    Change,
    Command,
    Entry,
    Row,
    canonical,
    digest,
    digest_parts,
    entry_of,
    link,
    revision_of,
    rows_of,
)

NOON = 1_800_000_000_000_000

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


class Kind(StrEnum):
    """Some words that are enumerated."""

    OWNS = "OWNS"


def a_command(*changes: Change, **members: str) -> Command:
    """Return a command with one change, or those given."""
    changes = changes or (Change("principal.put", {"id": "human:ada"}),)
    return Command(action="GRAPH_APPLY", actor="human:ada", at=NOON, changes=changes, **members)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "x"]}, '{"a":[true,null,"x"],"b":1}'),
        ({"Z": 1, "a": 2, "_": 3, "": 4}, '{"":4,"Z":1,"_":3,"a":2}'),
        ("grün 日本 🔑", '"grün 日本 🔑"'),
        ('"\\\n\t\x00', '"\\"\\\\\\n\\t\\u0000"'),
        (2**53, "9007199254740992"),
        (("a", ("b",)), '["a",["b"]]'),
        ({Kind.OWNS: Kind.OWNS}, '{"OWNS":"OWNS"}'),
        ([], "[]"),
    ],
)
def test_a_value_has_one_spelling(value: object, text: str) -> None:
    """Keys are sorted, nothing is padded, text is UTF-8 and not escaped, numbers are whole."""
    assert canonical(value) == text


@pytest.mark.parametrize(
    "value",
    [1.0, float("nan"), float("inf"), [1.5], {"a": {"b": (0.5,)}}],
    ids=["whole float", "nan", "infinite", "in a list", "deep inside"],
)
def test_floats_are_refused(value: object) -> None:
    """Languages write floats differently, so none is written, not even one that is whole."""
    with pytest.raises(ModelError, match="whole number"):
        canonical(value)


@pytest.mark.parametrize("value", [{1: "a"}, {None: "a"}, {"a": {True: 1}}, {("a",): 1}])
def test_keys_are_text(value: object) -> None:
    """JSON would turn other keys into text without a word, and two into one."""
    with pytest.raises(ModelError, match="no string"):
        canonical(value)


@pytest.mark.parametrize("value", ["\ud800", ["a\udfff"], {"\ud800": 1}])
def test_lone_surrogates_are_refused(value: object) -> None:
    """What is no text has no bytes to run a digest over."""
    with pytest.raises(ModelError, match="surrogate"):
        canonical(value)


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", object(), {"a": {3}}, MappingProxyType({"a": 1})])
def test_what_json_lacks_is_refused(value: object) -> None:
    """Sets, bytes and objects are refused as data that is bad, and not as a fault of the program."""
    with pytest.raises(ModelError, match="no form"):
        canonical(value)


def test_endless_nesting_is_refused() -> None:
    """A value that holds itself ends as data that is bad."""
    value: list[object] = []
    value.append(value)

    with pytest.raises(ModelError, match="no form"):
        canonical(value)


@given(DOCUMENTS)
def test_equal_documents_have_equal_bytes(document: object) -> None:
    """The order in which a document was put together leaves no trace in its spelling."""
    assert canonical(_turned(document)) == canonical(document)


@given(DOCUMENTS)
def test_the_spelling_is_that_of_the_standard_library(document: object) -> None:
    """Digests that were made with another encoder hold for ever."""
    expected = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    assert canonical(document) == expected


@given(DOCUMENTS)
def test_what_is_written_is_what_is_read(document: object) -> None:
    """A writer that has its rows read as it spells them gets what every reader gets."""
    command = a_command(Change("principal.put", {"id": "human:ada", "attributes": document, "kept": (document, "x")}))
    rows = rows_of(command, revision=7, previous=GENESIS)

    assert revision_of(command, revision=7, previous=GENESIS) == (rows, entry_of(rows))


def _turned(document: object) -> object:
    """Return an equal document whose objects were filled from the other end."""
    if isinstance(document, Mapping):
        return {key: _turned(document[key]) for key in reversed(list(document))}
    return [_turned(each) for each in document] if isinstance(document, list) else document


def test_a_digest_is_that_of_the_bytes() -> None:
    """Anybody can compute it with the usual tools."""
    assert digest("grün") == hashlib.sha256("grün".encode()).hexdigest()


@given(st.lists(TEXT), st.lists(TEXT))
def test_no_two_lists_of_parts_share_a_digest(one: list[str], other: list[str]) -> None:
    """Parts cannot move over the boundary between them."""
    assert (digest_parts(one) == digest_parts(other)) == (one == other)


def test_a_link_covers_the_hash_before_and_the_body() -> None:
    """The hash runs over the 32 bytes of the one before and the body as stored."""
    body = '{"a":1}'

    assert link("ab" * 32, body) == hashlib.sha256(bytes.fromhex("ab" * 32) + body.encode()).hexdigest()


def test_a_command_is_spelled_as_rows() -> None:
    """The command is row 0 and says who asked for what under which id; each change is one row after it."""
    command = a_command(
        Change("principal.put", {"id": "human:ada"}),
        Change("edges.end", {"edges": [["g-1", 1]], "cause": "revoked"}),
        request_id="r-1",
        fingerprint="f-1",
        reason="she left",
    )

    rows = rows_of(command, revision=7, previous=GENESIS)

    assert [row.body for row in rows] == [
        (
            '{"action":"GRAPH_APPLY","actor":"human:ada","at":1800000000000000,"fingerprint":"f-1","kind":"command",'
            '"reason":"she left","request_id":"r-1","revision":7,"schema":1,"seq":0}'
        ),
        '{"at":1800000000000000,"body":{"id":"human:ada"},"kind":"principal.put","revision":7,"schema":1,"seq":1}',
        (
            '{"at":1800000000000000,"body":{"cause":"revoked","edges":[["g-1",1]]},"kind":"edges.end",'
            '"revision":7,"schema":1,"seq":2}'
        ),
    ]
    assert [(row.revision, row.seq) for row in rows] == [(7, 0), (7, 1), (7, 2)]
    assert rows[0].hash == link(GENESIS, rows[0].body)
    assert rows[1].hash == link(rows[0].hash, rows[1].body)


def test_what_a_command_lacks_is_not_written() -> None:
    """Absent members leave no null behind."""
    rows = rows_of(a_command(), revision=1, previous=GENESIS)

    assert rows[0].body == (
        '{"action":"GRAPH_APPLY","actor":"human:ada","at":1800000000000000,"kind":"command",'
        '"revision":1,"schema":1,"seq":0}'
    )


def test_rows_are_read_back_as_the_entry() -> None:
    """What was appended comes back, with the last row's hash and without the command's own row."""
    command = a_command(request_id="r-1", reason="why")
    rows = rows_of(command, revision=7, previous=GENESIS, schema=SCHEMA + 1)

    assert entry_of(rows) == Entry(
        revision=7,
        at=NOON,
        action="GRAPH_APPLY",
        actor="human:ada",
        changes=command.changes,
        hash=rows[-1].hash,
        schema=SCHEMA + 1,
        request_id="r-1",
        reason="why",
    )


@given(st.lists(st.dictionaries(TEXT, DOCUMENTS, max_size=3), max_size=4))
def test_every_body_comes_back(bodies: list[dict[str, object]]) -> None:
    """Whatever a change may hold is read back equal."""
    changes = tuple(Change("principal.put", body) for body in bodies)
    command = Command(action="GRAPH_APPLY", actor="human:ada", at=NOON, changes=changes)

    assert entry_of(rows_of(command, revision=1, previous=GENESIS)).changes == changes


ROWS = rows_of(a_command(Change("a.put", {}), Change("b.put", {})), revision=7, previous=GENESIS)
OTHERS = rows_of(a_command(), revision=8, previous=ROWS[-1].hash)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        ROWS[1:],
        [ROWS[0], ROWS[2]],
        [ROWS[0], ROWS[2], ROWS[1]],
        [*ROWS, *OTHERS],
        [*ROWS, ROWS[2]],
        [ROWS[0], Row(revision=7, seq=1, body=OTHERS[1].body, hash=OTHERS[1].hash)],
        [Row(revision=6, seq=row.seq, body=row.body, hash=row.hash) for row in ROWS],
        [Row(revision=7, seq=0, body=ROWS[1].body.replace('"seq":1', '"seq":0'), hash=GENESIS)],
        *([Row(revision=7, seq=0, body=body, hash=GENESIS)] for body in ("", "[]", "7", "{}", '{"kind":"command"}')),
        [Row(revision=7, seq=0, body=ROWS[0].body.replace("action", "auction"), hash=GENESIS)],
    ],
)
def test_what_is_no_whole_revision_is_refused(rows: list[Row]) -> None:
    """Rows that are missing, doubled, out of order, of two revisions, elsewhere than they say or no rows at all."""
    with pytest.raises(ModelError):
        entry_of(rows)


@pytest.mark.parametrize(
    ("change", "count"),
    [
        (Change("edges.end", {"edges": [["e-1", 1], ["e-2", 4]]}), 2),
        (Change("edges.end", {"edges": (("e-1", 1),)}), 1),
        (Change("edges.end", {"edges": "e-1"}), 0),
        (Change("edges.end", {}), 0),
        (Change("edge.begin", {"edges": [["e-1", 1]]}), 0),
    ],
)
def test_a_change_says_how_many_edges_it_ends(change: Change, count: int) -> None:
    """As many as it lists; what lists none, and what is of another kind, ends none."""
    assert change.edges_ended == count
