"""A chapter on order: migrations that depend on each other, each approved by somebody else than who runs it."""

from __future__ import annotations

from typing import Any, Final

from remit_service.demo.act import Act, Chapter
from remit_service.demo.wording import asks, begins, gives_up, writes

_SCHEMA: Final = "db:schema:content"
_ACTION: Final = "MIGRATE_SCHEMA"
_ONE, _OTHER = "instance:migration-runner-1", "instance:migration-runner-2"


def _approves(says: str, number: int, runner: str, version: str) -> Act:
    return Act(
        says=says,
        call="POST /v1/approvals",
        status=201,
        body={
            "action": {"name": _ACTION},
            "resource": {"type": "key", "id": _SCHEMA},
            "for": runner,
            "expected_version": version,
            "expires_at": "2099-01-01T00:00:00Z",
            "under": "APPROVE_MIGRATION",
            "approver": "human:security",
            "shown": {
                "resources": [_SCHEMA],
                "operation": _ACTION,
                "target": f"migration {number}",
                "expected_effect": f"schema {number}",
                "conflicts": [],
            },
        },
        holds={"complete": True},
        keeps={f"approval_{number}": "approval_id"},
        shows=("approval_id", "approvers"),
    )


def _context(number: int, version: str, approval: int) -> dict[str, Any]:
    return {
        "risk": "LOW",
        "expected_version": version,
        "resource_version": version,
        "approval_id": f"{{approval_{approval}}}",
        "sequence": {"number": number, "depends_on": [number - 1]},
    }


_FIRST: Final = {**_context(103, "v102", 103), "sequence": {"number": 103, "depends_on": []}}

MIGRATIONS: Final = (
    Chapter(
        title="Migrations, in their order",
        teaches="Only the next number runs, alone, on the version that somebody else has approved.",
        beats=(
            Act(says="a runner starts migration 103, which nobody has approved", call="POST /v1/operations", status=403,
                code="approval_required", outcome="review_required",
                body=asks(_ONE, _ACTION, _SCHEMA, context={**_FIRST, "approval_id": "apr_none"})),
            _approves("the security officer looks at it, and approves", 103, _ONE, "v102"),
            begins("now it runs", "m103", _ONE, _ACTION, _SCHEMA, context=_FIRST),
            Act(says="a second runner with the same migration is turned away", call="POST /v1/operations", status=403,
                code="approval_required", body=asks(_OTHER, _ACTION, _SCHEMA, context=_FIRST)),
            *writes("m103", "v103", read="v102"),
            _approves("105 is approved too early", 105, _OTHER, "v103"),
            Act(says="and is out of order: it depends on 104", call="POST /v1/operations", status=409,
                code="sequence_violated", outcome="ordered",
                body=asks(_OTHER, _ACTION, _SCHEMA, context=_context(105, "v103", 105))),
            begins("104 is next, under the same approval of schema v103", "m104", _OTHER, _ACTION, _SCHEMA,
                   context=_context(104, "v103", 105)),
            gives_up("it turns out to be wrong; the line stays where it was", "m104"),
            Act(says="so that 105 is out of order still", call="POST /v1/operations", status=409,
                code="sequence_violated", outcome="ordered",
                body=asks(_OTHER, _ACTION, _SCHEMA, context=_context(105, "v103", 105))),
        ),
    ),
)  # fmt: skip
"""What happens in its order, or not at all."""
