"""The largest policy inputs that the service may build: every list at its bound."""

from __future__ import annotations

from typing import Any, Final

from tests.support.policy_chains import ACTIONS, AT, FIELDS, hop
from tests.support.policy_chance import Usual
from tests.support.policy_inputs import a_lease, plain_input

MAX_CANDIDATES: Final = 16
MAX_EXAMPLES: Final = 32
_SCOPE: Final = {
    "actions": list(ACTIONS),
    "resources": [["site:*", "wp:post:*"], ["wp:*:1024"]],
    "fields": list(FIELDS),
    "where": {"environment": ["staging", "production"]},
    "conditions": [
        {"attribute": "risk", "at_most": "HIGH"},
        {"attribute": "context.environment", "in": ["production"]},
    ],
}


def largest_input(*, hops: int, chains: int = MAX_CANDIDATES, leases: int = MAX_EXAMPLES) -> dict[str, Any]:
    """Return an input of `chains` candidates that fail at the end of their last hop, beside `leases` of others."""
    found = plain_input(fields=list(FIELDS))
    found["request"]["context"] |= {"environment": "production", "risk": "LOW"}
    found["chains"] = [_failing_last(number, hops) for number in range(1, chains + 1)]
    found["coordination"]["overlapping"] = [
        {**a_lease(Usual(), number), "domain": "CONTENT_BODY", "holder": f"instance:a-{number}", "fields": list(FIELDS)}
        for number in range(leases)
    ]
    return found


def _failing_last(number: int, length: int) -> dict[str, Any]:
    holders = ["controller:seo", *(f"p-{number}-{position}" for position in range(1, length - 1)), "instance:seo-7"]
    tos = ["wp:post:*", *holders[1:]]
    froms = [holders[0], *holders]
    hops = [
        {
            **hop(Usual(), place, from_=froms[place], to=tos[place], after=length - 1 - place, klass="write"),
            "scope": _SCOPE,
        }
        for place in range(length)
    ]
    hops[-1]["valid_until"] = AT
    return {"chain_id": f"chain-{number}", "root": holders[0], "hops": hops, "memberships": []}
