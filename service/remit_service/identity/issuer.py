"""An issuer of signed tokens, as the configuration names it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - msgspec reads the annotations
from typing import Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta

from remit_graph.errors import ModelError

Algorithm = Literal["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "Ed25519"]
"""Public-key signatures only: a key that verifies must not be able to sign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtIssuer:
    """Whose signed tokens are believed.

    Attributes:
        issuer: The exact `iss` claim; for `svid` only the name of this entry.
        audience: What `aud` must contain: how this decision point is called by that issuer.
        jwks_file, jwks_url: Where its public keys are; exactly one of them.
        kind: `jwt` gives the identity `jwt:<issuer>#<sub>`; `svid` gives the SPIFFE id that `sub` is.
        trust_domain: For `svid`: the only trust domain it may speak for.
        algorithms: Signature algorithms accepted.
    """

    issuer: Annotated[str, Meta(min_length=1)]
    audience: Annotated[str, Meta(min_length=1)]
    jwks_file: Path | None = None
    jwks_url: str | None = None
    kind: Literal["jwt", "svid"] = "jwt"
    trust_domain: str | None = None
    algorithms: tuple[Algorithm, ...] = ("ES256", "RS256", "PS256")

    def __post_init__(self) -> None:
        """Refuse an issuer whose keys or trust domain are left open."""
        if (self.jwks_file is None) == (self.jwks_url is None):
            raise ModelError(f"issuer `{self.issuer}` names either `jwks_file` or `jwks_url`")
        if self.jwks_url is not None and urlsplit(self.jwks_url).scheme not in ("http", "https"):
            raise ModelError(f"issuer `{self.issuer}`: `{self.jwks_url}` is no http or https address")
        if (self.kind == "svid") != (self.trust_domain is not None):
            raise ModelError(f"issuer `{self.issuer}`: `trust_domain` belongs to `kind: svid`, and is needed there")
        if self.kind == "svid" and "Ed25519" in self.algorithms:
            raise ModelError(f"issuer `{self.issuer}`: a JWT-SVID is not signed with Ed25519")
