"""The public keys of an issuer: from a file that is read again when it changes, or from an address.

- An address is asked at most once in `ASK_AGAIN_SECONDS`, whatever callers present, so that made-up key ids cannot
  make this service a load on the issuer; one request at a time, without redirects, within a bound of time and size.
- When it cannot be asked, the keys of the last answer go on being used for `KEEP_SECONDS`.
- Only public keys for signatures are taken from a set; whatever else is in it is passed over.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

import httpx
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet, OKPKey, RSAKey

from remit_service.identity.errors import KeysUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REFRESH_SECONDS: Final = 300.0
"""How old keys become before they are asked for again; SPIFFE's usual interval."""

ASK_AGAIN_SECONDS: Final = 10.0
KEEP_SECONDS: Final = 86_400.0
TIMEOUT_SECONDS: Final = 3.0
MAX_BYTES: Final = 1 << 18
"""Far more than any issuer's set; an answer without end must not fill the memory."""

_USES: Final = frozenset({None, "sig", "jwt-svid"})
_KINDS: Final[dict[str, Callable[[Any], RSAKey | ECKey | OKPKey]]] = {
    "RSA": RSAKey.import_key,
    "EC": ECKey.import_key,
    "OKP": OKPKey.import_key,
}
_RSA_DIGITS: Final = 342
"""Of the modulus of a 2,048 bit key in base64url; shorter ones are weak."""

SigningKeys = KeySet


def read_key_set(document: Any) -> SigningKeys:
    """Return the signing keys of a JWKS document.

    Raises:
        KeysUnavailable: it is none, or none of its keys can check a signature.
    """
    entries = document.get("keys") if isinstance(document, dict) else None
    keys: list[Any] = []
    for each in entries if isinstance(entries, list) else ():
        key = _signing_key(each)
        if key is not None:
            keys.append(key)
    if not keys:
        raise KeysUnavailable("the issuer publishes no key that can check a signature")
    return KeySet(keys)


def _signing_key(entry: Any) -> RSAKey | ECKey | OKPKey | None:
    if not isinstance(entry, dict) or entry.get("use") not in _USES or entry.get("kty") not in _KINDS:
        return None
    if entry["kty"] == "RSA" and len(str(entry.get("n"))) < _RSA_DIGITS:
        return None
    # `use` is judged here: `jwt-svid` is SPIFFE's own and unknown to the library.
    members = {name: value for name, value in entry.items() if name != "use"}
    try:
        return _KINDS[entry["kty"]](members)
    except (JoseError, ValueError, TypeError, KeyError):
        return None


class FileKeys:
    """Keys of a file."""

    def __init__(self, path: Path) -> None:
        """Read `path` when keys are first needed."""
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._keys: SigningKeys | None = None

    async def current(self, kid: str | None) -> SigningKeys:
        """Return the keys; a file that changed is read again, and one that went away gives no keys."""
        _ = kid
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if self._keys is None or stamp != self._stamp:
                self._keys = read_key_set(json.loads(self._path.read_bytes()))
                self._stamp = stamp
        except (OSError, ValueError) as error:
            raise KeysUnavailable("the issuer's keys cannot be read") from error
        return self._keys

    async def aclose(self) -> None:
        """Nothing to give back."""


class UrlKeys:
    """Keys of an address."""

    def __init__(
        self, url: str, monotonic: Callable[[], float], transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        """Ask `url` when keys are first needed; `transport` replaces the network in tests."""
        self._url = url
        self._monotonic = monotonic
        self._client = httpx.AsyncClient(timeout=TIMEOUT_SECONDS, transport=transport, trust_env=False)
        self._lock = asyncio.Lock()
        self._keys: SigningKeys | None = None
        self._fetched_at = float("-inf")
        self._asked_at = float("-inf")

    async def current(self, kid: str | None) -> SigningKeys:
        """Return the keys, asked for anew when they are old or none has this id."""
        if self._wants_refresh(kid):
            async with self._lock:
                if self._wants_refresh(kid):
                    await self._refresh()
        if self._keys is None or self._monotonic() - self._fetched_at > KEEP_SECONDS:
            raise KeysUnavailable("the issuer's keys cannot be fetched")
        return self._keys

    def _wants_refresh(self, kid: str | None) -> bool:
        now = self._monotonic()
        if now - self._asked_at < ASK_AGAIN_SECONDS:
            return False
        is_known = self._keys is not None and (kid is None or any(key.kid == kid for key in self._keys.keys))
        return not is_known or now - self._fetched_at > REFRESH_SECONDS

    async def _refresh(self) -> None:
        self._asked_at = self._monotonic()
        try:
            async with self._client.stream("GET", self._url) as reply:
                reply.raise_for_status()
                body = b""
                async for chunk in reply.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_BYTES:
                        return
            self._keys = read_key_set(json.loads(body))
            self._fetched_at = self._monotonic()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeysUnavailable):
            # The keys of the last answer stay; without any, `current` says so.
            return

    async def aclose(self) -> None:
        """Close the connection."""
        await self._client.aclose()
