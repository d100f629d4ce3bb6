"""Chapters on what authority rests on: an owner that hands over, and a right that is taken back."""

from __future__ import annotations

from typing import Any, Final

from remit_service.demo.act import Act, Beat, Chapter
from remit_service.demo.wording import begins, receipt

_BY: Final = {"actor": "controller:seo-control-plane"}
_STEP: Final = "POST /v1/transfers/{move}"
_POST: Final = "wp:post:2001"
_READ: Final = {"risk": "LOW", "expected_version": "rev_1"}


def _step(says: str, step: str, state: str, **more: Any) -> Act:
    return Act(says=says, call=f"{_STEP}/{step}", body=dict(_BY), holds={"state": state}, shows=("state",), **more)


_TRANSFER: Final = Chapter(
    title="Ownership moves",
    teaches="Seven steps; at no revision two owners, and after the freeze the old one starts nothing.",
    beats=(
        Act(says="the SEO control plane hands the canonical of one article over", call="POST /v1/transfers", status=201,
            body={**_BY, "from": "controller:seo-control-plane", "to": "controller:content-control-plane",
                  "resource": _POST, "fields": ["canonical"], "reason": "articles are content's"},
            holds={"state": "PROPOSED"}, keeps={"move": "transfer_id"}, shows=("transfer_id", "state")),
        _step("what hangs on it is listed", "validate", "VALIDATED"),
        _step("the field is frozen", "freeze", "FROZEN"),
        Beat(says="the SEO agent asks under the old owner", subject="instance:seo-agent-7", action="UPDATE_CANONICAL",
             resource=_POST, context=_READ, outcome="deny", reasons=("owner_frozen",)),
        _step("the old ownership ends and the new one begins, in one revision", "transfer", "TRANSFERRED"),
        _step("what still names the old owner is noted", "register", "REGISTERED"),
        _step("a probe of each: the new owner may, the old one may not", "verify", "VERIFIED"),
        _step("what the old one had left of it is closed", "retire", "RETIRED"),
        Act(says="the transfer is its own receipt: each step with who, when and at which revision",
            call="GET /v1/transfers/{move}",
            holds={"state": "RETIRED", "steps.6.step": "retire", "steps.6.actor": _BY["actor"]},
            shows=("steps.3.revision", "steps.5.evidence", "steps.6.revision")),
        Beat(says="the SEO agent asks again", subject="instance:seo-agent-7", action="UPDATE_CANONICAL",
             resource=_POST, context=_READ, outcome="deny",
             reasons=("attenuation_violated", "not_owner", "stale_ownership_epoch")),
        Beat(says="on every other post it goes on as before", subject="instance:seo-agent-7", action="UPDATE_CANONICAL",
             resource="wp:post:1028", context=_READ, outcome="execute"),
    ),
)  # fmt: skip

_REVOKED: Final = Chapter(
    title="A right is taken back",
    teaches="A revocation ends in its own revision what rests on it: the lease, the operation, the next write.",
    beats=(
        begins("an agent works under its role's delegation", "delegated", "instance:seo-agent-7",
               "UPDATE_CANONICAL", "wp:post:1026"),
        Act(says="the owner takes the delegation back", call="POST /v1/revocations",
            body={**_BY, "target": {"delegation_id": "del_882"}, "reason": "ticket 4711"},
            shows=("ended.delegations", "ended.leases")),
        Act(says="its write cannot be recorded any more", call="POST /v1/operations/{delegated}/executed", status=410,
            code="lease_revoked", body={"lease_epoch": "{delegated_token}", "result": "applied"}),
        receipt("its receipt says by what it ended", "delegated", "REVOKED"),
        Beat(says="and whatever it asks now is denied", subject="instance:seo-agent-7", action="UPDATE_CANONICAL",
             resource="wp:post:1026", context=_READ, outcome="deny", reasons=("delegation_revoked",)),
    ),
)  # fmt: skip

OWNERS: Final = (_TRANSFER, _REVOKED)
"""What moves and what ends authority."""
