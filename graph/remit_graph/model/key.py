r"""Resource keys: segments joined by `:`, and selectors that stand for many of them.

Rules kept here (model.md 2, rules.md 8):

- a segment is non-empty, NFC, at most 256 bytes, without control characters, white space, zero-width or
  bidirectional marks, `/`, `\\`, `*`, `#`, and is neither `.` nor `..` nor holds `..`;
- a key has at most 16 segments, and case matters;
- input that would change under normalisation is refused, never repaired;
- a selector is a key in which a segment may be `*`; it covers what begins with it, segment by segment.

Whether a key belongs to a registered type is asked in `registry`, not here.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

from remit_graph.errors import ModelError

Segments = tuple[str, ...]

MAX_SEGMENTS: Final = 16
MAX_SEGMENT_BYTES: Final = 256
WILDCARD: Final = "*"
_FORBIDDEN: Final = frozenset("/\\*#")
# Zs, Zl, Zp are white space; Cc, Cf cover control, zero-width and bidirectional marks; Cs are lone surrogates.
_FORBIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
# Marks that Unicode files under other categories but that join or hide letters (UTS 39, default ignorables).
_INVISIBLE: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u3164\uffa0")


def _malformed(text: object, why: str) -> ModelError:
    return ModelError(f"`{text}` is not a resource key: {why}", code="malformed_resource_key", key=text)


def _check_segment(segment: str, text: str) -> None:
    if not segment:
        raise _malformed(text, "a segment is empty")
    if segment.isascii() and segment.isalnum():
        return
    if ".." in segment or segment == ".":
        raise _malformed(text, "`.` and `..` are not names")
    for character in segment:
        if character in _FORBIDDEN:
            raise _malformed(text, f"`{character}` is not allowed in a segment")
        if unicodedata.category(character) in _FORBIDDEN_CATEGORIES or character in _INVISIBLE:
            raise _malformed(text, f"U+{ord(character):04X} is not allowed in a segment")
    if unicodedata.normalize("NFC", segment) != segment:
        raise _malformed(text, "it is not in Unicode form NFC")


@lru_cache(maxsize=65_536)
def parse_key(text: str) -> Segments:
    """Split a key into its segments.

    Raises:
        ModelError: `malformed_resource_key`, saying which rule it breaks.
    """
    return _parse(text, wildcards=False)


@lru_cache(maxsize=65_536)
def parse_selector(text: str) -> Segments:
    """Split a selector into its segments; a segment that is exactly `*` stands for any one segment."""
    return _parse(text, wildcards=True)


@lru_cache(maxsize=65_536)
def segments_of(text: str) -> Segments:
    """Split without checking: for comparing what is stored, where a malformed selector covers nothing."""
    return tuple(text.split(":"))


def _parse(text: str, *, wildcards: bool) -> Segments:
    if not isinstance(text, str):
        raise _malformed(text, "it is not a string")
    segments = tuple(text.split(":"))
    if len(segments) > MAX_SEGMENTS:
        raise _malformed(text, f"it has {len(segments)} segments, at most {MAX_SEGMENTS} are allowed")
    for segment in segments:
        if wildcards and segment == WILDCARD:
            continue
        _check_segment(segment, text)
        if len(segment.encode()) > MAX_SEGMENT_BYTES:
            raise _malformed(text, f"a segment has more than {MAX_SEGMENT_BYTES} bytes")
    return segments


def check_name(text: str) -> str:
    """Check an id that is not a key (principal, edge, enforcement point) by the rules of a key.

    Raises:
        ModelError: `malformed_request`, as ids never reach a resource.
    """
    try:
        parse_key(text)
    except ModelError as error:
        raise ModelError(error.message.replace("a resource key", "an id"), code="malformed_request", id=text) from error
    return text


def prefixes(key: str) -> tuple[str, ...]:
    """Return the key itself and every shorter prefix of it, longest first."""
    segments = key.split(":")
    return tuple(":".join(segments[:end]) for end in range(len(segments), 0, -1))


def covers(selector: Segments, segments: Segments) -> bool:
    """Say whether `selector` matches the key `segments` or one of its prefixes."""
    if len(selector) > len(segments):
        return False
    return all(mine in (WILDCARD, theirs) for mine, theirs in zip(selector, segments, strict=False))


def contains(outer: str, inner: str) -> bool:
    """Say whether everything `inner` stands for lies inside `outer`, by segments only (rules.md 3).

    PART_OF is left out on purpose: attenuation must not change with the graph.
    """
    wide, narrow = segments_of(outer), segments_of(inner)
    if len(wide) > len(narrow):
        return False
    return all(mine in (WILDCARD, theirs) for mine, theirs in zip(wide, narrow, strict=False))


def overlap(left: str, right: str) -> bool:
    """Say whether some key could lie under both selectors, by segments."""
    pairs = zip(segments_of(left), segments_of(right), strict=False)
    return all(WILDCARD in (mine, theirs) or mine == theirs for mine, theirs in pairs)
