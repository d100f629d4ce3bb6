"""The fact `capability` of the policy input: what a request presents, and whether it is good for this request.

    context.capability = {"capability_id": "cap_771"}  or  {"token": "eyJ…"}

The record in the view says what was granted; a token is known by its digest there, so that no key is needed to decide
and every replica decides alike. A signature is for those who verify without asking.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from typing import TYPE_CHECKING, Any, Final

from remit_service.capability.binding import holds
from remit_service.capability.record import token_digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.view.state import View
    from remit_service.decision.resolve import Question

EXPIRED: Final = "capability_expired"
REVOKED: Final = "capability_revoked"
NOUN: Final = "capability"


def capability_fact(view: View, question: Question) -> dict[str, Any] | None:
    """Return the fact, or None where no capability is presented."""
    presented = question.evaluation.context.get(NOUN)
    if presented is None:
        return None
    token, capability_id = presented.get("token"), shown_id(presented)
    record, ended = find(view, str(capability_id))
    known = record or ended
    is_forged = known is not None and isinstance(token, str) and not is_its_token(known, token)
    code = None if is_forged else state_code(view, record, ended, question.at, writes=_writes(question))
    return {
        "capability_id": str(capability_id or ""),
        "valid": record is not None and code is None and not is_forged,
        "code": code,
        "chain": list(known["proof"]) if known is not None else [],
        "matches": known is not None and not is_forged and _matches(known, question),
    }


def find(view: View, capability_id: str) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """Return the record of a capability that is there, and of one that ended."""
    record = view.records.get(NOUN, {}).get(capability_id)
    ended = view.coordination.spent.get(capability_id) if record is None else None
    return record, ended if ended is None or ended.get("capability_id") == capability_id else None


def state_code(
    view: View, record: Mapping[str, Any] | None, ended: Mapping[str, Any] | None, at: int, *, writes: bool = True
) -> str | None:
    """Return why a capability does not count any more, or None where it does or nothing is known of it.

    It counts no longer where it ended, expired, was given out before a restore, or under an authority epoch that the
    realm takes no more for the class of action (S34).
    """
    if record is None:
        return None if ended is None else (REVOKED if ended.get("state") == "REVOKED" else EXPIRED)
    if record["incarnation"] != view.incarnation or record["epochs"].get("authority", 0) < view.floor(writes=writes):
        return REVOKED
    return EXPIRED if record["expires_at"] <= at else None


def _writes(question: Question) -> bool:
    return question.action is None or question.action.writes


def _matches(record: Mapping[str, Any], question: Question) -> bool:
    """Whether it was given for this subject, action, resource and fields, to who presents it."""
    if question.principal is None or question.action is None or question.resource is None:
        return False
    asked = (question.principal.id, question.action.name, question.resource.key)
    given, touched = record["fields"], question.fields
    return (
        asked == (record["subject"], record["action"], record["resource_key"])
        and (not given or (bool(touched) and set(touched) <= set(given)))
        and holds(record["bound_to"], question.caller)
    )


def is_its_token(record: Mapping[str, Any], token: str) -> bool:
    """Whether a token is the one that was made of a record."""
    return hmac.compare_digest(record["token_digest"], token_digest(token))


def shown_id(presented: Any) -> str | None:
    """Return the id of what a request presents, named or in a token."""
    if not isinstance(presented, dict):
        return None
    token, capability_id = presented.get("token"), presented.get("capability_id")
    if isinstance(token, str):
        return id_in(token)
    return capability_id if isinstance(capability_id, str) else None


def id_in(token: str) -> str | None:
    """Return the id that a token states; it proves nothing, and is good for finding the record."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return str(claims["jti"])
    except (ValueError, binascii.Error, LookupError, TypeError, RecursionError):
        return None
