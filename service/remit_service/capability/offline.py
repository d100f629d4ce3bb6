"""Verify a capability without asking: by its signature, its window and what it names.

What this cannot know is whether the capability was revoked since: where an effect cannot be taken back, ask the
decision point as well, with the capability in the context (S37).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remit_graph.model.instant import SECOND
from remit_service.capability.record import KIND
from remit_service.signing import SignatureInvalid, verify_signature

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a capability has to be good for; what is None is not compared.

    Attributes:
        issuer: Who must have issued it.
        subject, action, resource: As in the request.
        fields: Fields that the request touches.
        presenter: The verified identity, or the enforcement point, that presents it.
        minimum_authority: The authority epoch below which nothing counts.
    """

    issuer: str | None = None
    subject: str | None = None
    action: str | None = None
    resource: str | None = None
    fields: frozenset[str] | None = None
    presenter: str | None = None
    minimum_authority: int = 0


def verify(token: str, key_set: Mapping[str, Any], at: Instant, wanted: Wanted) -> dict[str, Any]:
    """Return the claims of a capability that is good at `at` for what is wanted.

    Raises:
        SignatureInvalid: it is not; the code says whether it expired or is for something else.
    """
    claims = verify_signature(token, key_set, kind=KIND)
    try:
        _check_window(claims, at)
        _check_request(claims, wanted)
    except (KeyError, TypeError) as error:
        raise SignatureInvalid("claims are missing") from error
    return claims


def _check_window(claims: Mapping[str, Any], at: Instant) -> None:
    if at < claims["nbf"] * SECOND:
        raise SignatureInvalid("the capability is not valid yet")
    if at >= claims["exp"] * SECOND:
        raise SignatureInvalid(f"capability `{claims['jti']}` has expired", code="capability_expired")


def _check_request(claims: Mapping[str, Any], wanted: Wanted) -> None:
    granted = claims["remit"]
    pairs = (
        ("issuer", claims["iss"], wanted.issuer),
        ("subject", claims["sub"], wanted.subject),
        ("action", granted["action"], wanted.action),
        ("resource", granted["resource"], wanted.resource),
        ("presenter", claims["act"]["sub"], wanted.presenter),
    )
    for name, given, expected in pairs:
        if expected is not None and given != expected:
            raise SignatureInvalid(f"the {name} of the capability is `{given}`, not `{expected}`")
    given_fields = frozenset(granted["fields"])
    if wanted.fields is not None and given_fields and not (wanted.fields and wanted.fields <= given_fields):
        raise SignatureInvalid("the capability does not cover every field")
    if granted["epochs"].get("authority", 0) < wanted.minimum_authority:
        raise SignatureInvalid("the capability is of an older authority epoch", code="capability_revoked")
