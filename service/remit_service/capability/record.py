"""The record of a capability in the ledger, and the claims of its token."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.instant import SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.capability.binding import Binding
    from remit_service.coordination.values import Claim, Verdict

KIND: Final = "remit-capability+jwt"
"""`typ` of the token."""

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a capability is given out on.

    Attributes:
        capability_id: Its id.
        point: The enforcement point that asked.
        minted_by: The principal in whose name it was asked for.
        bound_to: Who may present it.
        issuer: How this service calls itself, `iss`.
        kid: Id of the key that signs.
        decision_id: The decision it is derived from.
        expires_at: Its end.
        purpose: For the record.
    """

    capability_id: str
    point: str
    minted_by: str
    bound_to: Binding
    issuer: str
    kid: str
    decision_id: str
    expires_at: Instant
    purpose: str | None = None


def record_of(view: View, at: Instant, claim: Claim, verdict: Verdict, terms: Terms) -> Record:
    """Return the record, without the digest of the token that is made of it."""
    record: Record = {
        "id": terms.capability_id,
        "capability_id": terms.capability_id,
        "subject": claim.subject,
        "action": claim.action.name,
        "resource_key": claim.key,
        "fields": list(claim.fields),
        "request": dict(claim.request),
        "proof": list(verdict.proof),
        "epochs": dict(verdict.epochs),
        "incarnation": view.incarnation,
        "realm": view.realm.name,
        "decided_revision": view.revision,
        "decision_id": terms.decision_id,
        "point": terms.point,
        "minted_by": terms.minted_by,
        "bound_to": dict(terms.bound_to),
        "issuer": terms.issuer,
        "kid": terms.kid,
        "issued_at": at,
        "expires_at": terms.expires_at,
    }
    if terms.purpose is not None:
        record["purpose"] = terms.purpose
    return record


def claims_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims of the token; whole seconds, rounded so that it never outlives the record."""
    bound = record["bound_to"]
    return {
        "iss": record["issuer"],
        "sub": record["subject"],
        "aud": record["realm"],
        "jti": record["capability_id"],
        "iat": record["issued_at"] // SECOND,
        "nbf": record["issued_at"] // SECOND,
        "exp": record["expires_at"] // SECOND,
        "act": {"sub": bound.get("identity") or bound["point"]},
        "remit": {
            "action": record["action"],
            "resource": record["resource_key"],
            "fields": record["fields"],
            "epochs": record["epochs"],
            "incarnation": record["incarnation"],
            "revision": record["decided_revision"],
            "decision_id": record["decision_id"],
            "chain": record["proof"],
        },
    }


def token_digest(token: str) -> str:
    """Return what the record keeps of the token: enough to know it again, and nothing that could be presented."""
    return hashlib.sha256(token.encode()).hexdigest()
