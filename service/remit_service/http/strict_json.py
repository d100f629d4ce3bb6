"""JSON, read strictly: what two readers could take for two different things is refused (RFC 7493, I-JSON).

Refused with a pointer or a byte position: what is no JSON, members with one name, NaN and Infinity, lone surrogates,
bytes that are no UTF-8, nesting deeper than the bound, a body that is no object, numbers beyond a double or 64 bits.

msgspec decodes and refuses most of it by itself, but keeps the last of two equal members. Looking for those costs more
than decoding, so the common case is settled first: a body that is equal to its own compact encoding, but for spaces
between members, has none.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from remit_service.decision.request import RequestError

_DECODER: Final = msgspec.json.Decoder()
_ENCODER: Final = msgspec.json.Encoder()
_DIGITS: Final = bytes(ord("0") if each in b"0123456789" else ord(" ") for each in range(256))
_LONG_NUMBER: Final = b"0" * 19
"""19 digits in a row, each read as 0; a translation and a search are four times faster than a regular expression."""
MAX_WHOLE: Final = 1 << 63
"""Whole numbers beyond it, either way, lose digits in other readers."""


def decode_object(body: bytes, *, max_depth: int) -> dict[str, Any]:
    """Return the object that `body` is.

    Raises:
        RequestError: with `pointer`, and `position` in bytes where the text is no JSON.
    """
    # Counting brackets, those in strings too, never finds too few: a count within the bound needs no walk.
    is_flat = body.count(b"{") + body.count(b"[") <= max_depth
    document = _decode(body)
    if type(document) is not dict:
        raise _refuse("", "the body is a JSON object" if body.strip() else "the body is empty, and an object is needed")
    if not is_flat:
        _check_depth(document, max_depth)
    if _LONG_NUMBER in body.translate(_DIGITS):
        _check_numbers(document, "")
    compact = _ENCODER.encode(document)
    # Taking the spaces out is a tenth of looking for twins, and is all that most of the others need.
    if compact != body and compact != msgspec.json.format(body, indent=-1):
        _check_twins(body)
    return document


def _decode(body: bytes) -> Any:
    try:
        return _DECODER.decode(body)
    except RecursionError:
        raise _refuse("", "the body is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if not body.strip():
            raise _refuse("", "the body is empty, and an object is needed") from None
        text = str(error).removeprefix("JSON is malformed: ")
        if "truncated" in text:
            # A surrogate without its other half at the end of a string is reported as missing input.
            text = "it ends too early, or holds half a surrogate pair"
        raise _refuse("", f"the body is no JSON: {text[0].lower()}{text[1:]}") from None


def _check_depth(document: Any, max_depth: int) -> None:
    level, pointers = [document], [""]
    for _ in range(max_depth):
        children: list[Any] = []
        places: list[str] = []
        for value, pointer in zip(level, pointers, strict=True):
            items = value.items() if type(value) is dict else enumerate(value)
            for name, each in items:
                if type(each) in (dict, list):
                    children.append(each)
                    places.append(f"{pointer}/{_escape(str(name))}")
        if not children:
            return
        level, pointers = children, places
    raise _refuse(pointers[0], f"the body is nested deeper than {max_depth} levels")


class _TwinError(Exception):
    """Two members of one object have one name."""


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) != len(members):
        raise _TwinError
    return found


def _check_twins(body: bytes) -> None:
    try:
        json.loads(body, object_pairs_hook=_unique)
    except _TwinError:
        _find_twins(json.loads(body, object_pairs_hook=_Members), "")


class _Members(list[tuple[str, Any]]):
    """The members of an object as written, twins included."""


def _find_twins(value: Any, pointer: str) -> None:
    if type(value) is _Members:
        seen: set[str] = set()
        for name, each in value:
            place = f"{pointer}/{_escape(name)}"
            if name in seen:
                raise _refuse(place, f"member `{name}` is there twice")
            seen.add(name)
            _find_twins(each, place)
    elif type(value) is list:
        for index, each in enumerate(value):
            _find_twins(each, f"{pointer}/{index}")


def _check_numbers(value: Any, pointer: str) -> None:
    """Whole numbers beyond 64 bits are read as one thing here and as another in engines and stores."""
    if type(value) is int:
        if not -MAX_WHOLE <= value < MAX_WHOLE:
            raise _refuse(pointer, "a whole number has more than 64 bits")
    elif type(value) is dict:
        for name, each in value.items():
            _check_numbers(each, f"{pointer}/{_escape(name)}")
    elif type(value) is list:
        for index, each in enumerate(value):
            _check_numbers(each, f"{pointer}/{index}")


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _refuse(pointer: str, message: str) -> RequestError:
    return RequestError(message, pointer=pointer)
