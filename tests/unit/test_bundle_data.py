"""Data files: read as both engines read them, or refused."""

from __future__ import annotations

import pytest

from remit_service.bundle.data import data_tree, parse_data
from remit_service.bundle.errors import BundleRefused
from remit_service.bundle.yaml_data import MAX_DEPTH, parse_yaml


def refusal(path: str, content: str | bytes) -> str:
    """Return the message with which a data file is refused."""
    with pytest.raises(BundleRefused) as caught:
        parse_data(path, content if isinstance(content, bytes) else content.encode())
    return str(caught.value)


def test_files_fill_the_tree_where_their_folders_say() -> None:
    """A file in the root fills the root, and two files may fill one branch."""
    files = {
        "data.json": b'{"custom": {"a": 1}}',
        "custom/data.yaml": b"b: two\n",
        "custom/deep/er/data.json": b'{"c": [1, -2, 0.5, null, true, "x"]}',
        "custom/notes.json": b"{",
    }

    assert data_tree(files) == {"custom": {"a": 1, "b": "two", "deep": {"er": {"c": [1, -2, 0.5, None, True, "x"]}}}}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"a/data.json": b'{"x": 1}', "a/data.yaml": b"x: 2"},
            "a/data.yaml: `x` is already given by another data file",
        ),
        (
            {"data.json": b'{"a": 1}', "a/data.json": b'{"x": 1}'},
            "data.json: `a` is already given by another data file",
        ),
        (
            {"a/data.json": b'{"b": 1}', "a/b/data.json": b"{}"},
            "a/data.json: `b` is already given by another data file",
        ),
    ],
)
def test_two_files_never_give_one_value(files: dict[str, bytes], message: str) -> None:
    """Whichever came later would win; so neither does."""
    with pytest.raises(BundleRefused) as caught:
        data_tree(files)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "data.json: holds no object"),
        ("", "data.json:1: is no JSON: Expecting value: line 1 column 1 (char 0)"),
        ('{"a": 1, "a": 1}', "data.json: is no JSON: a member is given twice"),
        ('{"a": NaN}', "data.json: is no JSON: `NaN` is no number"),
        ('{"a": Infinity}', "data.json: is no JSON: `Infinity` is no number"),
        ('{"a": 9223372036854775808}', "data.json: is no JSON: 9223372036854775808 has more than 64 bits"),
        ('{"a":\n\n1,}', "data.json:3: is no JSON"),
        ('{"a": 0.50}', "data.json: is no JSON: `0.50` must be written as `0.5`"),
        ('{"a": 1.0}', "data.json: is no JSON: `1.0` must be written as `1`"),
        ('{"a": 1e3}', "data.json: is no JSON: `1e3` must be written as `1000`"),
        ('{"a": 1e400}', "data.json: is no JSON: `1e400` must be written as `inf`"),
    ],
)
def test_json_is_read_strictly(content: str, message: str) -> None:
    """What JSON parsers read differently is refused."""
    assert refusal("data.json", content).startswith(message)


def test_yaml_is_read_as_json() -> None:
    """Strings, integers, fractions, constants, lists and objects, in block and flow style."""
    content = """
        # a comment
        plain: SEO_METADATA
        quoted: "yes"
        single: '012'
        folded: >-
          one
          two
        integer: -42
        fraction: 0.25
        yes_: true
        nothing: ~
        empty:
        flow: [a, {b: 1}, null]
        "on": off_
        key with spaces: a-b_c.d/e:f
    """

    assert parse_yaml("data.yaml", "\n".join(line[8:] for line in content.splitlines()).encode()) == {
        "plain": "SEO_METADATA",
        "quoted": "yes",
        "single": "012",
        "folded": "one two",
        "integer": -42,
        "fraction": 0.25,
        "yes_": True,
        "nothing": None,
        "empty": None,
        "flow": ["a", {"b": 1}, None],
        "on": "off_",
        "key with spaces": "a-b_c.d/e:f",
    }


@pytest.mark.parametrize(
    "scalar",
    [
        *("yes", "No", "on", "OFF", "y", "N", "True", "FALSE", "Null"),
        *("012", "0o17", "0x1F", "0b1", "1_000", "+1", "1e3", "1.", ".5", "1.5e3", ".inf", "-.INF", ".nan"),
        *("12:30", "12:30:45", "2026-11-29", "2026-11-29T10:00:00Z", "1,5", "9223372036854775808"),
    ],
)
def test_a_scalar_that_parsers_read_differently_is_refused(scalar: str) -> None:
    """`yes` and `012` are put in quotes by whoever means them."""
    assert refusal("data.yaml", f"a: 1\nb: {scalar}\n") == (
        f"data.yaml:2: `{scalar}` can be read in two ways: put it in quotes"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: &x 1\nb: *x\n", "data.yaml:1: an alias is refused: write the value out"),
        ("a: !!str 1\nb: !thing 2\n", "data.yaml:2: the tag `!thing` is refused"),
        ("a: 1\na: 2\n", "data.yaml:2: the key `a` is given twice"),
        ("1: a\n", "data.yaml:1: the key `1` is no string: put it in quotes"),
        ("[a]: 1\n", "data.yaml:1: the key `['a']` is no string: put it in quotes"),
        ("a:\n  <<: {b: 1}\n", "data.yaml:2: `<<` can be read in two ways: put it in quotes"),
        ("a: [1\n", "data.yaml:2: is no YAML: expected ',' or ']', but got '<stream end>'"),
        ("a: 0.50\n", "data.yaml:1: `0.50` must be written as `0.5`"),
        ("a: 1.0\n", "data.yaml:1: `1.0` must be written as `1`"),
        ("a: 1\n---\nb: 2\n", "data.yaml:2: is no YAML: but found another document"),
        (b"\xff", "data.yaml: is no YAML: "),
        ("- a\n", "data.yaml: holds no object"),
        ("", "data.yaml: holds no object"),
    ],
)
def test_what_is_more_than_json_is_refused(content: str | bytes, message: str) -> None:
    """Tags, aliases, merge keys and the like have no place in policy data."""
    assert refusal("data.yaml", content).startswith(message)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5000])
def test_deep_data_is_refused(depth: int) -> None:
    """Neither parser nor reader runs out of stack."""
    assert refusal("data.yaml", "a: " + "[" * depth + "]" * depth)
