"""The strict reading of YAML: what a world file may not hold, each fault with its line."""

from __future__ import annotations

import pytest

from remit_graph.world.document import MAX_DEPTH, Node, parse_document
from remit_graph.world.source import Problems


def read(text: str) -> tuple[Node | None, list[tuple[int, str]]]:
    """Return the node and the faults as (line, message)."""
    problems = Problems("w.yaml")
    node = parse_document(text, problems)
    return node, [(each.line, each.message) for each in problems.found]


def faults(text: str) -> list[tuple[int, str]]:
    """Return the faults alone."""
    return read(text)[1]


def test_values_know_their_lines() -> None:
    """Strings, whole numbers, booleans, lists and mappings are read with the line they begin on."""
    node, found = read('a: x\nb:\n  - 7\n  - true\n  - "7"\nc: {d: -1}\n')

    assert found == []
    assert node is not None
    assert [(each.value, each.line) for each in node.mapping["b"].items] == [(7, 3), (True, 4), ("7", 5)]
    assert node.mapping["c"].mapping["d"].value == -1
    assert node.line_of("c", "d") == 6
    assert node.line_of("b", "missing") == 3
    assert node.find("c", "d") == 6
    assert node.find("missing", "d") is None


@pytest.mark.parametrize("word", ["no", "yes", "on", "off", "2027-01-01", "2027-01-01T00:00:00Z", "1024a", "a-", "a:b"])
def test_words_that_others_guess_at_stay_strings(word: str) -> None:
    """What another reader takes for a boolean or a date is the string that was written."""
    node, found = read(f"a: {word}\n")

    assert found == []
    assert node is not None
    assert node.mapping["a"].value == word


@pytest.mark.parametrize(
    "number", ["1.5", "1e3", ".5", "-0.0", ".inf", ".NaN", "007", "0x1F", "0o17", "1_000", "12:30:00", "+5"]
)
def test_numbers_that_two_readers_read_differently_are_refused(number: str) -> None:
    """Floats and ambiguous numbers are refused rather than rounded."""
    assert faults(f"a: 1\nb: {number}\n") == [(2, f"`{number}` is no whole number")]


@pytest.mark.parametrize("null", ["", "~", "null", "NULL"])
def test_null_is_refused(null: str) -> None:
    """Nothing is neither an empty list nor a missing dimension."""
    assert faults(f"a: {null}\n") == [(1, "null is refused")]


def test_duplicate_keys_are_refused() -> None:
    """The second of two equal keys is named, with the line of the first."""
    assert faults("a: 1\nb: 2\na: 3\n") == [(3, "`a` is given twice, first on line 1")]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: &x [1]\n", (1, "anchors and aliases are refused")),
        ("a: 1\nb: *x\n", (2, "anchors and aliases are refused")),
        ("a: !!python/name:os.system x\n", (1, "the tag `tag:yaml.org,2002:python/name:os.system` is refused")),
        ("a: !custom x\n", (1, "the tag `!custom` is refused")),
        ("a:\n  <<: {b: 1}\n", (2, "merge keys are refused")),
        ("a: 1\n---\nb: 2\n", (2, "a second document begins here")),
        ("? [a]\n: 1\n", (1, "a key is a plain string")),
        ("", (0, "the file is empty")),
        ("# only a comment\n", (0, "the file is empty")),
    ],
)
def test_what_hides_or_multiplies_content_is_refused(text: str, fault: tuple[int, str]) -> None:
    """Anchors, tags, merge keys and further documents are refused with their line."""
    assert faults(text) == [fault]


def test_an_anchor_bomb_ends_at_its_first_anchor() -> None:
    """A file that would expand to millions of nodes is refused without expanding anything."""
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))

    assert faults(bomb) == [(1, "anchors and aliases are refused")]


def test_nesting_is_bounded() -> None:
    """A deeply nested file is refused before it costs anything."""
    depth = MAX_DEPTH + 1

    assert faults("a: " + "[" * depth + "]" * depth + "\n") == [(1, f"nested deeper than {MAX_DEPTH}")]


@pytest.mark.parametrize(("text", "line"), [("a: [1\n", 2), ("a: 1\n b: 2\n", 2), ('a: "x\n', 2), ("a: \x00\n", 0)])
def test_what_is_not_yaml_is_named_with_its_line(text: str, line: int) -> None:
    """A syntax error is one fault of one line, never a traceback."""
    found = faults(text)

    assert [each for each, _ in found] == [line]
    assert found[0][1].startswith("not YAML: ")
