"""The input on its way into an engine: bytes of one JSON document, in UTF-8."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from remit_service.engines.errors import PolicyError

if TYPE_CHECKING:
    from remit_service.engines.ports import Input


def encoded(document: Input) -> bytes:
    """Return `document` as JSON; bytes are returned as they are.

    Raises:
        PolicyError: a value in it is none of JSON. Integers of more than 64 bits are not looked for here: who parses a
            request refuses them, since the engines would not agree on them.
    """
    if isinstance(document, bytes):
        return document
    try:
        return msgspec.json.encode(document)
    except (TypeError, OverflowError, ValueError, RecursionError) as error:
        raise PolicyError(f"the input is no JSON: {error}") from error


def text_of(input_json: bytes) -> str:
    """Return the text of an input.

    Raises:
        PolicyError: it is not UTF-8; OPA would put replacement characters in its place, and decide about those.
    """
    try:
        return input_json.decode()
    except UnicodeDecodeError as error:
        raise PolicyError("the input is not UTF-8") from error
