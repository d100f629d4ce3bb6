"""X.509-SVIDs that a trusted proxy has verified and names in a header.

The proxy ends the TLS connection, checks the client's certificate against its trust bundle, and must remove the header
from what clients send. It is believed only by its address (`trusted_proxies`); from anybody else the header counts as
absent. Two forms are read: Envoy's `X-Forwarded-Client-Cert`, whose last element is the proxy's own neighbour, and an
URL-encoded PEM certificate, as nginx and HAProxy send it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

from remit_graph.errors import ModelError
from remit_graph.model.principal import check_identity
from remit_service.identity.errors import BadCredentials
from remit_service.identity.ports import Presented, Verified, address_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_service.settings import Network

MAX_HEADER_BYTES: Final = 32_768
_REFUSED: Final = "the client certificate is no X.509-SVID of one workload"


class Certificates:
    """Verifies what trusted proxies say about client certificates."""

    def __init__(self, proxies: Sequence[Network], header: str) -> None:
        """Believe `header` from `proxies`."""
        self._proxies = tuple(proxies)
        self._header = header.lower().encode("ascii")

    async def verify(self, presented: Presented) -> Verified | None:
        """Return the identities `x509:spiffe://…` and `spiffe://…` of the certificate presented."""
        value = presented.headers.get(self._header)
        if not value or not self._is_proxy(presented.peer):
            return None
        if len(value) > MAX_HEADER_BYTES:
            raise BadCredentials(_REFUSED)
        identity = _identity(value.decode("latin-1"))
        try:
            check_identity(identity)
        except ModelError as error:
            raise BadCredentials(_REFUSED) from error
        return Verified(names=(f"x509:{identity}", identity))

    def _is_proxy(self, peer: str | None) -> bool:
        address = address_of(peer)
        return address is not None and any(address in network for network in self._proxies)

    async def aclose(self) -> None:
        """Nothing to give back."""


def _identity(value: str) -> str:
    decoded = unquote(value) if "BEGIN" in value else value
    if decoded.startswith("-----BEGIN CERTIFICATE-----"):
        return _of_certificate(decoded)
    pairs = _pairs(_elements(value)[-1])
    certificates = [unquote(text) for name, text in pairs if name == "cert"]
    addresses = [text for name, text in pairs if name == "uri"]
    if certificates:
        found = _of_certificate(certificates[0])
        if addresses and addresses != [found]:
            raise BadCredentials(_REFUSED)
        return found
    if len(addresses) != 1:
        # X509-SVID, 2: exactly one URI SAN.
        raise BadCredentials(_REFUSED)
    return addresses[0]


def _of_certificate(pem: str) -> str:
    """Return the SPIFFE id of a leaf certificate (X509-SVID, 2 and 4)."""
    try:
        certificate = x509.load_pem_x509_certificate(pem.encode("latin-1"))
        extensions = certificate.extensions
        names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        usage = extensions.get_extension_for_class(x509.KeyUsage)
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension) as error:
        raise BadCredentials(_REFUSED) from error
    addresses = names.get_values_for_type(x509.UniformResourceIdentifier)
    signs_others = usage.value.key_cert_sign or usage.value.crl_sign or _is_authority(extensions)
    if len(addresses) != 1 or signs_others or not usage.critical or not usage.value.digital_signature:
        raise BadCredentials(_REFUSED)
    if not _allows_clients(extensions):
        raise BadCredentials(_REFUSED)
    return addresses[0]


def _is_authority(extensions: x509.Extensions) -> bool:
    try:
        return extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _allows_clients(extensions: x509.Extensions) -> bool:
    try:
        found = extensions.get_extension_for_oid(ExtensionOID.EXTENDED_KEY_USAGE).value
    except x509.ExtensionNotFound:
        return True
    return isinstance(found, x509.ExtendedKeyUsage) and {
        ExtendedKeyUsageOID.SERVER_AUTH,
        ExtendedKeyUsageOID.CLIENT_AUTH,
    } <= set(found)


def _elements(value: str) -> list[str]:
    return _split(value, ",")


def _pairs(element: str) -> list[tuple[str, str]]:
    pairs = (each.partition("=") for each in _split(element, ";"))
    return [(name.strip().lower(), text.strip().strip('"').replace('\\"', '"')) for name, _, text in pairs]


def _split(value: str, separator: str) -> list[str]:
    """Split where `separator` stands outside quotes."""
    parts, start, quoted, escaped = [], 0, False, False
    for index, each in enumerate(value):
        if escaped:
            escaped = False
        elif each == "\\":
            escaped = True
        elif each == '"':
            quoted = not quoted
        elif each == separator and not quoted:
            parts.append(value[start:index])
            start = index + 1
    return [*parts, value[start:]]
