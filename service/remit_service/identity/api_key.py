"""API keys: `rmk_<id>_<secret>`, stored as a salted hash under the id.

The secret is 256 random bits, so one SHA-256 is as good as a slow hash, and fast enough to be checked on every call;
nothing is remembered between calls, so an ended key ends at once. Several keys may have one name, so that a new one
can be handed out before the old one ends.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_service.identity.errors import BadCredentials
from remit_service.identity.ports import Presented, Verified, bearer

if TYPE_CHECKING:
    from pathlib import Path

    from remit_graph.model.instant import Instant

PREFIX: Final = "rmk"
SECRET_BYTES: Final = 32
"""256 bits: nobody guesses it, whatever the hash."""

_KEY: Final = re.compile(rf"{PREFIX}_([0-9a-f]{{16}})_([A-Za-z0-9_-]{{43}})\Z", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}\Z", re.ASCII)
_MEMBERS: Final = frozenset({"id", "name", "hash", "salt", "created_at", "expires_at"})
_REFUSED: Final = "the API key is not valid"

Records = Mapping[str, Mapping[str, Any]]


def new_key(name: str, *, at: Instant, expires_at: Instant | None = None) -> tuple[str, dict[str, Any]]:
    """Make a key.

    Returns:
        The key itself, which is shown once and stored nowhere, and its record.

    Raises:
        ModelError: `name` cannot be the name of an identity.
    """
    if not _NAME.match(name):
        raise ModelError(f"`{name}` is not a name for a key: letters, digits, dot, dash and underscore, at most 64")
    identifier, salt, secret = secrets.token_hex(8), secrets.token_hex(16), secrets.token_urlsafe(SECRET_BYTES)
    record: dict[str, Any] = {
        "id": identifier,
        "name": name,
        "salt": salt,
        "hash": _hash(salt, secret),
        "created_at": at,
    }
    if expires_at is not None:
        record["expires_at"] = expires_at
    return f"{PREFIX}_{identifier}_{secret}", record


def _hash(salt: str, secret: str) -> str:
    return hashlib.sha256(f"remit-key\n{salt}\n{secret}".encode()).hexdigest()


def read_keys(path: Path) -> dict[str, Mapping[str, Any]]:
    """Read a file of key records, `{"keys": [record, ...]}`.

    Raises:
        ModelError: it cannot be read, or a record has another shape.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        records = {record["id"]: record for record in document["keys"]}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelError(
            f"`{path}` is no file of API keys: {error}", advice="make it with `remit key create`"
        ) from error
    for record in records.values():
        _check(record, path)
    return records


def _check(record: Mapping[str, Any], path: Path) -> None:
    texts = all(isinstance(record.get(name), str) for name in ("id", "name", "hash", "salt"))
    times = all(type(record.get(name, 0)) is int for name in ("created_at", "expires_at"))
    if not texts or not times or set(record) - _MEMBERS or not _NAME.match(record["name"]):
        raise ModelError(f"`{path}`: key `{record.get('id')}` has another shape than a record of `new_key`")


class ApiKeys:
    """Verifies API keys of the ledger and of a file."""

    def __init__(self, ledger: Callable[[], Records], now: Callable[[], Instant], file: Records | None = None) -> None:
        """Look keys up in what `ledger` returns at that moment, then in `file`."""
        self._ledger = ledger
        self._now = now
        self._file = file or {}

    @property
    def exist(self) -> bool:
        """Whether anybody could authenticate with a key."""
        return bool(self._file) or bool(self._ledger())

    async def verify(self, presented: Presented) -> Verified | None:
        """Return the identity `key:<name>` of the key presented."""
        token = bearer(presented.headers)
        if token is None or not token.startswith(f"{PREFIX}_"):
            return None
        match = _KEY.match(token)
        if match is None:
            raise BadCredentials(_REFUSED)
        identifier, secret = match.groups()
        record = self._ledger().get(identifier) or self._file.get(identifier)
        # An unknown id costs as much time as a wrong secret.
        known = record or {"salt": "", "hash": ""}
        is_right = hmac.compare_digest(_hash(known["salt"], secret), known["hash"])
        if record is None or not is_right:
            raise BadCredentials(_REFUSED)
        expires_at = record.get("expires_at")
        if expires_at is not None and expires_at <= self._now():
            raise BadCredentials(_REFUSED)
        return Verified(names=(f"key:{record['name']}",))

    async def aclose(self) -> None:
        """Nothing to give back."""
