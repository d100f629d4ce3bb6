"""The port `IdentityVerifier`: from what a caller presents to an identity that is proven.

A verifier returns None for a call that presents nothing of its kind, so that the next one may look, and raises for a
credential of its kind that proves nothing: a bad key never falls through to a weaker way in.

Names of identities are those of model.md 1: `key:<name>`, `jwt:<issuer>#<sub>`, `spiffe://…`, `x509:spiffe://…`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

Address = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class Presented:
    """What a caller presents.

    Attributes:
        headers: By lower-case name.
        peer: Address of the other end of the connection, or None for a socket without one.
    """

    headers: Mapping[bytes, bytes]
    peer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A proven identity.

    Attributes:
        names: What it is called, the most exact first: an X.509-SVID is `x509:spiffe://…` and `spiffe://…`.
        actor: The current actor of a token that was exchanged for somebody (RFC 8693, `act`); it acts, not the subject.
    """

    names: tuple[str, ...]
    actor: str | None = field(default=None)


class IdentityVerifier(Protocol):
    """Proves identities of one kind."""

    async def verify(self, presented: Presented) -> Verified | None:
        """Return who is calling, or None where nothing of this kind is presented.

        Raises:
            BadCredentials: something is presented, and proves nothing.
        """

    async def aclose(self) -> None:
        """Give back connections."""


def address_of(peer: str | None) -> Address | None:
    """Return a peer's address; an IPv4 address in IPv6 clothes is an IPv4 address."""
    if peer is None:
        return None
    try:
        found = ip_address(peer.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def bearer(headers: Mapping[bytes, bytes], name: bytes = b"authorization") -> str | None:
    """Return the token of a `Bearer` header, or None where there is no such header or another scheme."""
    value = headers.get(name)
    if value is None:
        return None
    scheme, _, token = value.partition(b" ")
    return token.strip().decode("latin-1") if scheme.lower() == b"bearer" else None
