"""Signatures: made and checked as OPA does, and never half."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from remit_service.bundle.archive import pack, unpack
from remit_service.bundle.errors import BundleRefused
from remit_service.bundle.sign import Signer, Verifier, sign, verify
from tests.support.engines import a_bundle

if TYPE_CHECKING:
    from collections.abc import Callable

BUNDLE = a_bundle(remit_a="package remit.a\n\nx := 1\n")
SIGNATURES = ".signatures.json"


def pems(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> tuple[bytes, bytes]:
    """Return a key pair as PEM, private and public."""
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private, public


PRIVATE, PUBLIC = pems(ec.generate_private_key(ec.SECP256R1()))
OTHER_PUBLIC = pems(ec.generate_private_key(ec.SECP256R1()))[1]
SIGNED = {**BUNDLE.all_files, SIGNATURES: sign(BUNDLE.all_files, Signer(key=PRIVATE))}


def refusal(files: dict[str, bytes], verifier: Verifier | None) -> str:
    """Return the message with which `files` are refused."""
    with pytest.raises(BundleRefused) as caught:
        verify(files, verifier)
    return str(caught.value)


def test_a_signed_bundle_is_taken() -> None:
    """Signed with the private key and read with the public one, it is the same bundle."""
    archive = pack(BUNDLE, signatures=SIGNED[SIGNATURES])

    assert unpack(archive, verifier=Verifier(key=PUBLIC)) == BUNDLE


@pytest.mark.parametrize("algorithm", ["ES256", "ES384", "RS256", "PS512", "HS256"])
def test_the_algorithms_of_opa_are_known(algorithm: str) -> None:
    """Curves, RSA and shared secrets."""
    make: dict[str, Callable[[], tuple[bytes, bytes]]] = {
        "ES256": lambda: pems(ec.generate_private_key(ec.SECP256R1())),
        "ES384": lambda: pems(ec.generate_private_key(ec.SECP384R1())),
        "RS256": lambda: pems(rsa.generate_private_key(65537, 2048)),
        "PS512": lambda: pems(rsa.generate_private_key(65537, 2048)),
        "HS256": lambda: (b"a secret of thirty-two characters", b"a secret of thirty-two characters"),
    }
    private, public = make[algorithm]()
    signatures = sign(BUNDLE.all_files, Signer(key=private, algorithm=algorithm))

    verify({**BUNDLE.all_files, SIGNATURES: signatures}, Verifier(key=public, algorithm=algorithm))


def test_data_is_signed_by_value() -> None:
    """Another layout of the same JSON keeps the signature, another value does not."""
    relaid = json.dumps(json.loads(SIGNED["remit/revision/data.json"]), indent=4).encode()
    verify({**SIGNED, "remit/revision/data.json": relaid}, Verifier(key=PUBLIC))

    changed = {**SIGNED, "remit/revision/data.json": b'{"policy_revision": "x"}'}
    assert refusal(changed, Verifier(key=PUBLIC)) == ".signatures.json: does not fit `remit/revision/data.json`"


@pytest.mark.parametrize(
    ("files", "verifier", "message"),
    [
        (SIGNED, None, "is there, but no key to verify it is configured"),
        (BUNDLE.all_files, Verifier(key=PUBLIC), "is missing, but a key to verify it is configured"),
        ({**SIGNED, "remit/a/a.rego": b"package remit.a\n"}, Verifier(key=PUBLIC), "does not fit `remit/a/a.rego`"),
        ({**SIGNED, "remit/b/b.rego": b"package remit.b\n"}, Verifier(key=PUBLIC), "does not fit `remit/b/b.rego`"),
        (
            {path: SIGNED[path] for path in SIGNED if path != "remit/a/a.rego"},
            Verifier(key=PUBLIC),
            "lists `remit/a/a.rego`, which is not in the bundle",
        ),
        (SIGNED, Verifier(key=PUBLIC, scope="write"), "is made for the scope ``, expected `write`"),
    ],
)
def test_signature_and_expectation_must_agree(files: dict[str, bytes], verifier: Verifier | None, message: str) -> None:
    """A stripped signature, an unexpected one, a changed, added or removed file, another scope: all refused."""
    assert refusal(files, verifier) == f".signatures.json: {message}"


@pytest.mark.parametrize(
    "verifier",
    [
        Verifier(key=OTHER_PUBLIC),
        Verifier(key=PUBLIC, algorithm="ES384"),
        Verifier(key=PUBLIC, algorithm="HS256"),
        Verifier(key=PUBLIC, algorithm="none"),
        Verifier(key=b"no key"),
    ],
)
def test_another_key_or_algorithm_does_not_verify(verifier: Verifier) -> None:
    """The algorithm is the configured one: a public key is never taken for a secret."""
    assert refusal(SIGNED, verifier).startswith(".signatures.json: does not verify: ")


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"signatures": []}', b'{"signatures": ["a.b.c"]}', b"\xff"])
def test_a_broken_signature_is_refused(content: bytes) -> None:
    """Broken bytes are a refusal, never an exception of a library."""
    assert refusal({**SIGNED, SIGNATURES: content}, Verifier(key=PUBLIC)).startswith(".signatures.json: ")


def test_a_scope_is_signed() -> None:
    """The scope of the signer is the one that the verifier must expect."""
    signatures = sign(BUNDLE.all_files, Signer(key=PRIVATE, scope="write"))

    verify({**BUNDLE.all_files, SIGNATURES: signatures}, Verifier(key=PUBLIC, scope="write"))


def test_a_key_that_does_not_fit_is_refused() -> None:
    """Signing with the wrong kind of key is told, and makes nothing."""
    with pytest.raises(BundleRefused, match="cannot be made with `RS256`"):
        sign(BUNDLE.all_files, Signer(key=PRIVATE, algorithm="RS256"))
