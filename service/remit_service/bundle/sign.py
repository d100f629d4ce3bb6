"""Signatures of a bundle, as OPA makes and checks them: `.signatures.json` (reference/opa.md 3.3).

It holds one JWS over the list of all other files with their hashes. JSON and YAML files, and the manifest, are hashed
by value, with sorted keys; Rego files byte by byte. A bundle is taken only if signature and expectation agree: signed
and a verifier given, or neither. The list must name exactly the files that are there.

```python
archive = pack(bundle, signatures=sign(bundle.all_files, signer))
bundle = unpack(archive, verifier=Verifier(key=public_pem, algorithm="ES256"))
```
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OctKey, RSAKey

from remit_service.bundle.data import parse_data
from remit_service.bundle.digest import MANIFEST, SIGNATURES
from remit_service.bundle.errors import BundleRefused, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

_HASH: Final = "SHA-256"
DEFAULT_KEY_ID: Final = "remit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """The private key, PEM or secret, that bundles are signed with."""

    key: bytes
    algorithm: str = "ES256"
    key_id: str = DEFAULT_KEY_ID
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifier:
    """The public key, PEM or secret, that signatures must be made with; `scope` is compared too."""

    key: bytes
    algorithm: str = "ES256"
    scope: str = ""


def sign(files: Mapping[str, bytes], signer: Signer) -> bytes:
    """Return the content of `.signatures.json` for `files`.

    Raises:
        BundleRefused: the key does not fit the algorithm.
    """
    payload: dict[str, object] = {"files": _listing(files)}
    if signer.scope:
        payload["scope"] = signer.scope
    header = {"alg": signer.algorithm, "kid": signer.key_id}
    try:
        key = _key(signer.key, signer.algorithm)
        token = jws.serialize_compact(header, _json(payload), key, algorithms=[signer.algorithm])
    except (JoseError, ValueError, TypeError) as error:
        raise BundleRefused(Problem(SIGNATURES, 0, f"cannot be made with `{signer.algorithm}`: {error}")) from error
    return _json({"signatures": [token]})


def verify(files: Mapping[str, bytes], verifier: Verifier | None) -> None:
    """Check that `files` are signed as `verifier` demands.

    Raises:
        BundleRefused: they are not.
    """
    signed = files.get(SIGNATURES)
    if signed is None and verifier is None:
        return
    if signed is None:
        raise _refused("is missing, but a key to verify it is configured")
    if verifier is None:
        raise _refused("is there, but no key to verify it is configured")
    payload = _payload(signed, verifier)
    if payload.get("scope", "") != verifier.scope:
        raise _refused(f"is made for the scope `{payload.get('scope', '')}`, expected `{verifier.scope}`")
    _compare(payload.get("files"), _listing({path: files[path] for path in files if path != SIGNATURES}))


def _payload(signed: bytes, verifier: Verifier) -> dict[str, Any]:
    try:
        tokens = json.loads(signed)["signatures"]
        key = _key(verifier.key, verifier.algorithm)
        # The algorithm is ours, never the one that the token's header asks for.
        token = jws.deserialize_compact(tokens[0], key, algorithms=[verifier.algorithm])
        payload: dict[str, Any] = json.loads(token.payload)
    except (JoseError, ValueError, TypeError, KeyError, IndexError) as error:
        raise _refused(f"does not verify: {error}") from error
    return payload


def _compare(stated: object, actual: list[dict[str, str]]) -> None:
    if not isinstance(stated, list):
        raise _refused("lists no files")
    hashes = {str(entry.get("name")).removeprefix("/"): entry for entry in stated if isinstance(entry, dict)}
    for entry in actual:
        listed = hashes.pop(entry["name"], None)
        if listed is None or (listed.get("hash"), listed.get("algorithm")) != (entry["hash"], entry["algorithm"]):
            raise _refused(f"does not fit `{entry['name']}`")
    if hashes:
        raise _refused(f"lists `{min(hashes)}`, which is not in the bundle")


def _listing(files: Mapping[str, bytes]) -> list[dict[str, str]]:
    return [{"name": path, "hash": _hash(path, files[path]), "algorithm": _HASH} for path in sorted(files)]


def _hash(path: str, content: bytes) -> str:
    if path == MANIFEST or path.endswith((".json", ".yaml")):
        # Go, in which OPA is written, escapes the two line separators of Unicode in strings.
        content = _json(parse_data(path, content))
        content = content.replace("\u2028".encode(), b"\\u2028").replace("\u2029".encode(), b"\\u2029")
    return hashlib.sha256(content).hexdigest()


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _key(material: bytes, algorithm: str) -> ECKey | OctKey | RSAKey:
    match algorithm[:2]:
        case "ES":
            return ECKey.import_key(material)
        case "PS" | "RS":
            return RSAKey.import_key(material)
        case "HS":
            return OctKey.import_key(material)
        case _:
            raise ValueError("the algorithm is not supported")


def _refused(message: str) -> BundleRefused:
    return BundleRefused(Problem(SIGNATURES, 0, message))
