"""Signed tokens: JWTs of an OpenID issuer, and JWT-SVIDs of a SPIFFE trust domain.

- The issuer is looked up by `iss`, for an SVID by the trust domain of `sub`, and only its own keys, algorithms and
  audience count: one issuer never vouches for another's subjects.
- `exp` is needed, `nbf` and `iat` are respected, with a leeway for clocks; `aud` contains this service.
- `act` names the current actor (RFC 8693, 4.1): it is who acts. Actors further inside are told and never believed.
- A token that was verified is remembered for a while, so that it costs one signature check, not one a call.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, Protocol

from joserfc import jws
from joserfc.errors import JoseError

from remit_graph.errors import ModelError
from remit_graph.model.instant import SECOND
from remit_graph.model.principal import check_identity
from remit_service.identity.api_key import PREFIX
from remit_service.identity.errors import BadCredentials
from remit_service.identity.ports import Presented, Verified, bearer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from remit_graph.model.instant import Instant
    from remit_service.identity.issuer import JwtIssuer
    from remit_service.identity.jwks import SigningKeys

LEEWAY_SECONDS: Final = 30
"""How far the issuer's clock may differ."""

MAX_TOKEN_BYTES: Final = 16_384
REMEMBERED: Final = 4_096
REMEMBER_SECONDS: Final = 300.0
"""A key that the issuer withdrew stops working within this time."""

_TYPES: Final = frozenset({None, "jwt", "jose", "at+jwt", "application/at+jwt"})
_SVID_TYPES: Final = frozenset({None, "jwt", "jose"})
_REFUSED: Final = "the token is not valid for this service"


class KeySource(Protocol):
    """Where an issuer's public keys are."""

    async def current(self, kid: str | None) -> SigningKeys:
        """Return the keys; `kid` is the id of the one that is needed."""

    async def aclose(self) -> None:
        """Give back connections."""


class Tokens:
    """Verifies signed tokens in one header."""

    def __init__(
        self,
        issuers: Sequence[tuple[JwtIssuer, KeySource]],
        now: Callable[[], Instant],
        header: bytes = b"authorization",
    ) -> None:
        """Believe `issuers`, each with its keys."""
        self._by_name = {each.issuer: (each, keys) for each, keys in issuers if each.kind == "jwt"}
        self._by_domain = {each.trust_domain: (each, keys) for each, keys in issuers if each.kind == "svid"}
        self._now = now
        self._header = header
        self._known: dict[bytes, tuple[float, Verified]] = {}

    async def verify(self, presented: Presented) -> Verified | None:
        """Return the identity `jwt:<issuer>#<sub>` or `spiffe://…` of the token presented."""
        token = bearer(presented.headers, self._header)
        if token is None or token.startswith(f"{PREFIX}_"):
            return None
        if len(token) > MAX_TOKEN_BYTES:
            raise BadCredentials(_REFUSED)
        digest = hashlib.sha256(token.encode("latin-1")).digest()
        now = self._now() / SECOND
        remembered = self._known.get(digest)
        if remembered is not None and now < remembered[0]:
            return remembered[1]
        ends, verified = await self._check(token, now)
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[digest] = (ends, verified)
        return verified

    async def _check(self, token: str, now: float) -> tuple[float, Verified]:
        header, claims = _unproven(token)
        issuer, source = self._issuer_of(claims)
        keys = await source.current(_text_or_none(header.get("kid")))
        try:
            # Only the payload that the signature covers is read from here on.
            proven = jws.deserialize_compact(token, keys, algorithms=list(issuer.algorithms))
            claims = json.loads(proven.payload)
        except (JoseError, ValueError, TypeError, RecursionError) as error:
            raise BadCredentials(_REFUSED) from error
        kinds = _SVID_TYPES if issuer.kind == "svid" else _TYPES
        kind = header.get("typ")
        if (kind.lower() if isinstance(kind, str) else kind) not in kinds or not isinstance(claims, dict):
            raise BadCredentials(_REFUSED)
        if self._issuer_of(claims)[0] is not issuer:
            raise BadCredentials(_REFUSED)
        ends = _check_claims(claims, issuer, now)
        return ends, _identity(claims, issuer)

    def _issuer_of(self, claims: Mapping[str, Any]) -> tuple[JwtIssuer, KeySource]:
        subject = claims.get("sub")
        text = _text_or_none(subject) or ""
        domain = text.removeprefix("spiffe://").partition("/")[0] if text.startswith("spiffe://") else None
        found = self._by_name.get(_text_or_none(claims.get("iss")) or "") or self._by_domain.get(domain)
        if found is None or (found[0].kind == "svid" and domain is None):
            raise BadCredentials(_REFUSED)
        return found

    async def aclose(self) -> None:
        """Close the connections to the issuers."""
        for _, source in (*self._by_name.values(), *self._by_domain.values()):
            await source.aclose()


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _unproven(token: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return header and claims as the token states them: good for choosing keys, and for nothing else."""
    try:
        header, payload, _ = token.split(".")
        parts = [json.loads(base64.urlsafe_b64decode(each + "=" * (-len(each) % 4))) for each in (header, payload)]
    except (ValueError, binascii.Error, RecursionError) as error:
        raise BadCredentials(_REFUSED) from error
    if not all(isinstance(each, dict) for each in parts):
        raise BadCredentials(_REFUSED)
    return parts[0], parts[1]


def _check_claims(claims: Mapping[str, Any], issuer: JwtIssuer, now: float) -> float:
    """Return until when the token may be remembered."""
    ends = _time(claims, "exp", float("-inf")) + LEEWAY_SECONDS
    begins = max(_time(claims, "nbf", now), _time(claims, "iat", now)) - LEEWAY_SECONDS
    if not begins <= now < ends:
        raise BadCredentials(_REFUSED)
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if issuer.audience not in audiences or not _text_or_none(claims.get("sub")):
        raise BadCredentials(_REFUSED)
    return min(ends, now + REMEMBER_SECONDS)


def _time(claims: Mapping[str, Any], name: str, absent: float) -> float:
    value = claims.get(name, absent)
    if not isinstance(value, int | float) or isinstance(value, bool) or value != value:  # noqa: PLR0124 - NaN is no time
        raise BadCredentials(_REFUSED)
    return float(value)


def _identity(claims: Mapping[str, Any], issuer: JwtIssuer) -> Verified:
    if issuer.kind == "svid":
        return Verified(names=(_checked(claims["sub"]),))
    actor = claims.get("act")
    subject = _checked(f"jwt:{issuer.issuer}#{claims['sub']}")
    if actor is None:
        return Verified(names=(subject,))
    # An actor is the pair of issuer and subject; another issuer's subject is not this one's to name.
    if not isinstance(actor, dict) or actor.get("iss", issuer.issuer) != issuer.issuer or not actor.get("sub"):
        raise BadCredentials(_REFUSED)
    return Verified(names=(subject,), actor=_checked(f"jwt:{issuer.issuer}#{actor['sub']}"))


def _checked(identity: str) -> str:
    try:
        return check_identity(identity)
    except ModelError as error:
        raise BadCredentials(_REFUSED) from error
