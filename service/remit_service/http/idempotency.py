"""`Idempotency-Key`: what makes a repeat of a command mean the same (rules.md 11).

The request id is a digest of the calling enforcement point and the key; the fingerprint is one of method, path and
body. A repeat with the same body is answered with the stored result, one with another body is 422. Keys may be quoted,
as the draft wants it, or bare, as most clients send them.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, Final

from remit_service.coordinator.reply import Key
from remit_service.decision.request import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.decision.caller import Caller
    from remit_service.http.exchange import Exchange

HEADER: Final = b"idempotency-key"
REPLAYED: Final = "Idempotent-Replayed"
"""Header of an answer that is the stored one of an earlier call."""

_KEY: Final = re.compile(rb'"([\x20-\x21\x23-\x5b\x5d-\x7e]{1,255})"|([\x21\x23-\x7e]{1,255})')
PARAMETER: Final[dict[str, Any]] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Repeats with the same key and body are answered with the first answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[A-Za-z0-9._~-]+$"},
}
"""How the OpenAPI document describes the header."""


def key_of(exchange: Exchange, caller: Caller, body: Mapping[str, Any], *, required: bool = False) -> Key | None:
    """Return what a repeat of this call is known by, or None where the caller names no key.

    Args:
        exchange: The call.
        caller: Who calls; keys of one caller mean nothing to another.
        body: The decoded body.
        required: Whether doing it twice would hurt.

    Raises:
        RequestError: the key is missing where it is required, or is none.
    """
    given = exchange.headers.get(HEADER)
    if given is None:
        if required:
            raise RequestError("this command needs an Idempotency-Key", pointer="", header="Idempotency-Key")
        return None
    match = _KEY.fullmatch(given.strip())
    if match is None:
        message = "an Idempotency-Key is 1 to 255 visible characters, quoted or bare"
        raise RequestError(message, pointer="", header="Idempotency-Key")
    key = match[1] or match[2]
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    called = f"{exchange.scope['method']} {exchange.path}\n".encode()
    return Key(
        request_id=hashlib.sha256(caller.name.encode() + b"\n" + key).hexdigest(),
        fingerprint=hashlib.sha256(called + canonical).hexdigest(),
    )
