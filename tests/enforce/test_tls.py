"""The decision point is checked before it is believed: a certificate of nobody's is a deny."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from remit_enforce import AsyncClient, Permit, Refusal, Settings
from tests.support.listening import listening

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of 127.0.0.1 that signs itself, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "remit")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = tmp_path / "point.pem"
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return file


async def permitting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Permit whatever is asked."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{"decision": true}')
    await writer.drain()


async def test_an_unknown_certificate_is_a_deny(certificate: Path) -> None:
    """Nobody vouches for it: no answer. Where the caller trusts it, its answer counts."""
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate)
    asked = []
    async with listening(permitting, tls=served) as url:
        for tls in (None, ssl.create_default_context(cafile=str(certificate))):
            async with AsyncClient(Settings(url=url, tls=tls, pause_seconds=0.01)) as client:
                asked.append(await client.evaluate(subject="instance:a", action="READ", resource="page:p"))

    assert isinstance(asked[0], Refusal)
    assert asked[0].code == "no_answer"
    assert "CERTIFICATE_VERIFY_FAILED" in asked[0].message
    assert isinstance(asked[1], Permit)
