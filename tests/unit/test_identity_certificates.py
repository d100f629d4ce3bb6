"""X.509-SVIDs in a header: from whom it is believed, and which certificates name one workload."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any
from urllib.parse import quote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from remit_service.identity.certificates import Certificates
from remit_service.identity.errors import BadCredentials
from remit_service.identity.ports import Presented

PROXY = "10.0.0.7"
WORKLOAD = "spiffe://acme.test/adapters/wordpress"
KEY = ec.generate_private_key(ec.SECP256R1())


def pem(
    *names: str, ca: bool = False, usage: dict[str, bool] | None = None, critical: bool = True, extended: Any = None
) -> str:
    """Return a certificate for these URIs."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "workload")])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    flags = {
        "digital_signature": True, "content_commitment": False, "key_encipherment": False, "data_encipherment": False,
        "key_agreement": False, "key_cert_sign": False, "crl_sign": False, "encipher_only": False,
        "decipher_only": False,
    }  # fmt: skip
    builder = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(KEY.public_key()).serial_number(1)
        .not_valid_before(start).not_valid_after(start + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**{**flags, **(usage or {})}), critical=critical)
    )  # fmt: skip
    if names:
        alternatives = [x509.UniformResourceIdentifier(each) for each in names]
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    if extended is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage(extended), critical=False)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def verifier() -> Certificates:
    """A verifier that believes one network of proxies."""
    return Certificates([ip_network("10.0.0.0/8"), ip_network("fd00::/8")], "X-Forwarded-Client-Cert")


def shown(value: str, peer: str | None = PROXY) -> Presented:
    """A call that came over `peer` with this header."""
    return Presented({b"x-forwarded-client-cert": value.encode("latin-1")}, peer)


GOOD = {
    "envoy_uri": f"By=spiffe://acme.test/remit;Hash=ab;URI={WORKLOAD}",
    "envoy_quoted": f'Hash=ab;Subject="CN=a,O=\\"b;c\\"";URI={WORKLOAD}',
    "envoy_certificate": f'Hash=ab;Cert="{quote(pem(WORKLOAD))}"',
    "envoy_both": f'URI={WORKLOAD};Cert="{quote(pem(WORKLOAD))}"',
    "envoy_last_hop": f"URI=spiffe://acme.test/other,By=x;URI={WORKLOAD}",
    "nginx": quote(pem(WORKLOAD)),
    "both_uses": quote(pem(WORKLOAD, extended=[ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])),
}


@pytest.mark.parametrize("value", GOOD.values(), ids=GOOD)
async def test_a_workload_is_named_twice(value: str) -> None:
    """The exact identity first, then the SPIFFE id that a token could name as well."""
    verified = await verifier().verify(shown(value))

    assert verified is not None
    assert verified.names == (f"x509:{WORKLOAD}", WORKLOAD)


BAD = {
    "no_uri": "By=spiffe://acme.test/remit;Hash=ab",
    "two_uris": f"URI={WORKLOAD};URI=spiffe://acme.test/root",
    "certificate_of_another": f'URI={WORKLOAD};Cert="{quote(pem("spiffe://acme.test/root"))}"',
    "last_hop_without_uri": f"URI={WORKLOAD},By=x;Hash=ab",
    "no_spiffe_id": "URI=https://acme.test/x",
    "trust_domain_itself": "URI=spiffe://acme.test",
    "no_certificate": quote("-----BEGIN CERTIFICATE-----\nxx\n-----END CERTIFICATE-----"),
    "two_names": quote(pem(WORKLOAD, "spiffe://acme.test/root")),
    "no_name": quote(pem()),
    "authority": quote(pem(WORKLOAD, ca=True)),
    "signs_certificates": quote(pem(WORKLOAD, usage={"key_cert_sign": True})),
    "signs_revocations": quote(pem(WORKLOAD, usage={"crl_sign": True})),
    "does_not_sign": quote(pem(WORKLOAD, usage={"digital_signature": False, "key_agreement": True})),
    "usage_is_a_hint": quote(pem(WORKLOAD, critical=False)),
    "servers_only": quote(pem(WORKLOAD, extended=[ExtendedKeyUsageOID.SERVER_AUTH])),
    "too_long": "URI=" + "x" * 40_000,
}


@pytest.mark.parametrize("value", BAD.values(), ids=BAD)
async def test_what_names_no_single_workload_is_refused(value: str) -> None:
    """SPIFFE's rules for a leaf: one URI, no authority, signs for itself; everything else proves nothing."""
    with pytest.raises(BadCredentials):
        await verifier().verify(shown(value))


@pytest.mark.parametrize("peer", [None, "203.0.113.9", "11.0.0.7", "not-an-address", "::1"])
async def test_the_header_of_anybody_else_is_not_there(peer: str | None) -> None:
    """Only a trusted proxy may say who is behind it."""
    assert await verifier().verify(shown(GOOD["envoy_uri"], peer)) is None


@pytest.mark.parametrize("peer", ["10.255.0.1", "::ffff:10.0.0.7", "fd00::1", "fd00::1%eth0"])
async def test_a_proxy_is_known_by_its_address(peer: str) -> None:
    """In every form that an address is written in."""
    assert await verifier().verify(shown(GOOD["envoy_uri"], peer)) is not None


async def test_no_header_is_nothing() -> None:
    """A call without a certificate is for the next verifier."""
    assert await verifier().verify(Presented({}, PROXY)) is None
    assert await verifier().verify(shown("")) is None
