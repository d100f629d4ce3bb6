"""The key this decision point signs with: Ed25519, as a JOSE compact signature that anybody verifies offline.

`alg` is `Ed25519`, the name that RFC 9864 gives to EdDSA with this curve. The key is a JWK in a file: the one that
`signing_key_file` names, or one beside an embedded store, made when it is first needed and readable by its owner alone.
A file may hold a key set: the first key signs, the others are published, so that what they signed can be verified.
"""

from __future__ import annotations

import json
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, OKPKey

from remit_graph.errors import ModelError
from remit_service.private_file import private_file
from remit_service.stores import sqlite_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from remit_service.settings import Settings

ALGORITHM: Final = "Ed25519"
_CURVE: Final = "Ed25519"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class SigningError(ModelError):
    """There is no key to sign with, or it cannot be used; `advice` says what to do."""

    code = "forbidden"


class SignatureInvalid(ModelError):
    """What is presented was not signed with any of the keys."""

    code = "capability_mismatch"


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs with the first of its keys.

    Attributes:
        keys: The private keys, the one that signs first.
    """

    keys: tuple[OKPKey, ...]

    @property
    def kid(self) -> str:
        """Id of the key that signs."""
        return str(self.keys[0].kid)

    def sign(self, payload: Mapping[str, Any], *, kind: str) -> str:
        """Return the compact signature of a JSON object; equal payloads give equal texts.

        Args:
            payload: The claims.
            kind: The `typ` of the header, so that no signature passes for another kind of document.
        """
        header = {"alg": ALGORITHM, "kid": self.kid, "typ": kind}
        body = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        return jws.serialize_compact(header, body, self.keys[0], algorithms=[ALGORITHM])

    def public(self) -> dict[str, Any]:
        """Return the key set that verifies, as it is published."""
        return {"keys": [_public(each) for each in self.keys]}


def _public(key: OKPKey) -> dict[str, Any]:
    return {**key.as_dict(private=False), "kid": key.kid, "use": "sig", "alg": ALGORITHM}


def verify_signature(token: str, key_set: Mapping[str, Any], *, kind: str) -> dict[str, Any]:
    """Return the claims of a token that one of the published keys has signed; nothing else is needed for it.

    Raises:
        SignatureInvalid: none has, or it is another kind of document.
    """
    try:
        keys = KeySet([OKPKey.import_key(each) for each in key_set["keys"] if each.get("crv") == _CURVE])
        proven = jws.deserialize_compact(token, keys, algorithms=[ALGORITHM])
        claims = json.loads(proven.payload)
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SignatureInvalid("no key of the set has signed this") from error
    if proven.headers().get("typ") != kind or not isinstance(claims, dict):
        raise SignatureInvalid(f"this is no `{kind}`")
    return claims


def key_file(settings: Settings) -> Path | None:
    """Return where the key is: what the settings name, or beside an embedded store; None where it is nowhere."""
    if settings.signing_key_file is not None:
        return settings.signing_key_file
    store = sqlite_path(settings.store)
    return None if store is None else store.with_name(f"{store.stem}.signing-key.json")


def load_signer(settings: Settings) -> Signer:
    """Return who signs; makes the key beside an embedded store where there is none yet.

    Raises:
        SigningError: there is no key, or the file can be read by others or holds none.
    """
    file = key_file(settings)
    if file is None:
        raise SigningError("there is no key to sign with", advice="name one with `signing_key_file`")
    if not file.exists():
        if settings.signing_key_file is not None:
            raise SigningError(f"there is no signing key at `{file}`", advice="run `remit capability key`")
        make_key(file)
    return _read(file)


def make_key(file: Path) -> bool:
    """Make a key, for its owner alone; one that is there is left as it is, and False returned.

    Raises:
        OSError: the folder is missing or takes no file.
    """
    key = OKPKey.generate_key(_CURVE, auto_kid=True)
    text = json.dumps({**key.as_dict(private=True), "kid": key.kid}) + "\n"
    try:
        with private_file(file) as write:
            write(text)
    except FileExistsError:
        return False
    return True


def _read(file: Path) -> Signer:
    mode = file.stat().st_mode
    if mode & _OTHERS:
        raise SigningError(f"others can read `{file}`", advice=f"chmod 600 {file}, and make another key if they did")
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        entries = document.get("keys", [document])
        keys = tuple(_private(each) for each in entries)
    except (JoseError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise SigningError(f"`{file}` holds no Ed25519 key in the form of a JWK") from error
    if not keys:
        raise SigningError(f"`{file}` holds no key")
    return Signer(keys)


def _private(entry: Mapping[str, Any]) -> OKPKey:
    key = OKPKey.import_key(dict(entry))
    if key.as_dict(private=False)["crv"] != _CURVE or not key.is_private:
        raise ValueError("not a private key of this curve")
    key.ensure_kid()
    return key
