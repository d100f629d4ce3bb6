"""Page tokens: opaque, tamper-evident, bound to one search at one revision and instant (rules.md 13)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from remit_service.decision.request import RequestError

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant

_MAC_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class PageToken:
    """Where a search goes on.

    Attributes:
        store: Which store, in which incarnation, the first page was asked of.
        revision: Of the first page; every page answers for it.
        at: Instant of the first page.
        after: The last candidate that was looked at.
        limit: Results of a page, inherited where the next request leaves it open.
        fingerprint: Of the search.
    """

    store: str
    revision: int
    at: Instant
    after: str
    limit: int
    fingerprint: str


def seal(token: PageToken, key: bytes) -> str:
    """Return the token's opaque form."""
    payload = json.dumps(asdict(token), sort_keys=True, separators=(",", ":")).encode()
    return _spelled(_mac(payload, key) + payload)


def unseal(text: str, key: bytes, fingerprint: str) -> PageToken:
    """Read a token.

    Raises:
        RequestError: it was changed, or belongs to another search.
    """
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise _refused("is not one that this service made") from error
    mac, payload = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
    # The last character of base64 has bits that decode to nothing: one spelling of a token, and no other.
    if _spelled(raw) != text or not hmac.compare_digest(mac, _mac(payload, key)):
        raise _refused("is not one that this service made")
    token = PageToken(**json.loads(payload))
    if token.fingerprint != fingerprint:
        raise _refused("belongs to another search: nothing but the page may change")
    return token


def _spelled(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _mac(payload: bytes, key: bytes) -> bytes:
    return hmac.new(key, payload, hashlib.sha256).digest()[:_MAC_BYTES]


def _refused(why: str) -> RequestError:
    return RequestError(f"the page token {why}, at `/page/token`", pointer="/page/token")
