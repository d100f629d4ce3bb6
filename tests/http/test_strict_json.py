"""Strict JSON as a pure function: what it takes is what `json` reads, and what it refuses is refused for a reason."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_service.decision.request import RequestError
from remit_service.http.batch import with_defaults
from remit_service.http.strict_json import decode_object

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(SCALARS | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=12)


@given(st.dictionaries(TEXTS, VALUES), st.sampled_from([None, (",", ":")]), st.booleans())
def test_what_is_well_formed_is_read_as_it_is(
    value: dict[str, Any],
    separators: tuple[str, str] | None,
    escaped: bool,  # noqa: FBT001
) -> None:
    """With and without blanks, with escapes or bytes: the value that was written is the value that is read."""
    body = json.dumps(value, separators=separators, ensure_ascii=escaped).encode()

    assert decode_object(body, max_depth=64) == value


@given(st.dictionaries(TEXTS, VALUES, min_size=1), st.data())
def test_a_member_that_is_there_twice_is_always_found(value: dict[str, Any], data: st.DataObject) -> None:
    """Whatever else is in the body, and however it is written, two members of one name are refused by name."""
    name = data.draw(st.sampled_from(sorted(value)))
    twin = f"{json.dumps(name)}:1,"
    body = ("{" + twin + json.dumps(value, separators=(",", ":"))[1:]).encode()

    with pytest.raises(RequestError) as refused:
        decode_object(body, max_depth=64)

    assert refused.value.facts["pointer"] == "/" + name.replace("~", "~0").replace("/", "~1")


@given(st.binary(max_size=60))
def test_bytes_are_an_object_or_a_refusal(body: bytes) -> None:
    """No input ends in anything but an object or a refusal with a pointer."""
    with suppress(RequestError):
        assert decode_object(body, max_depth=8) == json.loads(body)


@pytest.mark.parametrize("depth", [1, 2, 31, 32])
def test_the_depth_is_counted_from_the_top(depth: int) -> None:
    """The top object is level one; brackets inside of texts are no levels."""
    body = (
        b'{"t":"' + b"[{" * 99 + b'","a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
        if depth > 1
        else b'{"t":"[[["}'
    )

    assert decode_object(body, max_depth=depth)
    with pytest.raises(RequestError):
        decode_object(b'{"x":' + body + b"}", max_depth=depth)


@given(VALUES, st.dictionaries(st.sampled_from(["subject", "action", "resource", "context", "x"]), VALUES))
def test_defaults_never_fail(item: Any, body: dict[str, Any]) -> None:
    """Whatever an item and the defaults are, filling in raises nothing and changes neither."""
    before = repr((item, body))

    with_defaults(item, body)

    assert repr((item, body)) == before
