"""Policy inputs of decision.md section 2 for tests that compare two ways of evaluating them.

Every member of the input is there, as the service builds it. What the service takes from a caller, the trusted context,
holds values of any type; everything else has the types that the service gives it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.support.policy_chains import ACTIONS, AT, FIELDS, PRINCIPALS, VALUES, chain, near_miss
from tests.support.policy_chance import Chance, Usual

if TYPE_CHECKING:
    from collections.abc import Sequence

DOMAINS: Final = (
    *("INDEXING_CONTROL", "URL_ROUTING", "URL_REDIRECT", "CONTENT_BODY", "SEO_METADATA", "CANONICAL", "PERMISSIONS"),
    *("INFRASTRUCTURE", "APPLICATION_DEPLOY", "DATABASE_SCHEMA", "ANALYTICS_READ"),
)
CONCURRENCY: Final = (
    *("WRITE_OPTIMISTIC", "WRITE_EXCLUSIVE", "APPEND_ONLY", "SINGLE_WRITER", "MULTI_WRITER_MERGEABLE"),
    *("NON_CONCURRENT", "READ_SHARED"),
)
MERGES: Final = ("set_merge", "ordered_merge", "three_way", "exclusive", None)
ANCESTORS: Final = ["wp:post:1024", "site:example.com:product-pages", "site:example.com"]


def policy_input(seed: int) -> dict[str, Any]:
    """Return the policy input of `seed`."""
    return _input(Chance(seed))


def plain_input(*, fields: list[str]) -> dict[str, Any]:
    """Return an input without a flaw: a write of `fields` by who may."""
    chance = Usual()
    found = _input(chance)
    found["request"]["fields"] = fields
    found["resource"] |= {"concurrency": "APPEND_ONLY", "ownership": [_owner(chance, field) for field in fields]}
    return found


def conflict_input(mine: str, theirs: str) -> dict[str, Any]:
    """Return the input of an owner who writes what is of the domain `mine`, beside a lease of the domain `theirs`."""
    found = plain_input(fields=["canonical"])
    found["action"]["domain"] = mine
    found["resource"]["type_fields"]["canonical"] |= {"domain": mine, "merge": "exclusive"}
    lease = {**a_lease(Usual(), 1), "domain": theirs, "relation": "affects", "holder": "human:anna"}
    found["coordination"]["overlapping"] = [lease]
    return found


def _input(chance: Chance) -> dict[str, Any]:
    subject = chance.mostly("instance:seo-7", "controller:seo", "human:anna", None)
    fields = sorted(chance.some(FIELDS, 2))
    action = _action(chance)
    chains = [
        chain(chance, number, subject=subject or "nobody", klass=action["class"] or "")
        for number in range(1, chance.of([1, 0, 1, 1, 2, 3]) + 1)
    ]
    return {
        "request": _request(chance, fields),
        "identity": {"authenticated": chance.mostly(True, False), "speaks_for": chance.mostly(True, False)},
        "subject": {
            "principal": subject,
            "kind": subject and subject.partition(":")[0],
            "disabled": chance.mostly(False, True),
            "trust": chance.number(0, 3),
            "acts_as": [subject] if subject else [],
            "attributes": {"region": "eu"},
        },
        "action": action,
        "resource": _resource(chance, fields),
        "chains": chains,
        "near_misses": [near_miss(chance, number) for number in range(0 if chains else chance.number(0, 2))],
        "search": {"truncated": chance.mostly(False, True), "depth_bound_hit": chance.mostly(False, True)},
        "coordination": _coordination(chance),
        "capability": _capability(chance, chains),
        "approval": _approval(chance),
        "incidents": [_incident(chance)] if chance.yes(0.2) else [],
        "epochs": {"policy": 7, "authority": 91, "minimum_authority": {"read": 90, "write": 91}},
    }


def _request(chance: Chance, fields: Sequence[str]) -> dict[str, Any]:
    return {
        "subject": {"type": "agent", "id": "seo-7"},
        "action": {"name": "UPDATE_CANONICAL", "properties": {}},
        "resource": {"type": "wp:post", "id": "1024", "properties": {}},
        "fields": list(fields),
        "context": _context(chance),
        "at": AT,
        "faults": chance.mostly([], ["malformed_resource_key"], ["unknown_field"]),
    }


def _context(chance: Chance) -> dict[str, Any]:
    """Return trusted context: known members, mostly of their type, and free attributes."""
    found: dict[str, Any] = {"set_operations": _set_operations(chance)}
    known: dict[str, Any] = {
        "environment": chance.mostly("production", *VALUES),
        "risk": chance.mostly("LOW", *VALUES),
        "purpose": chance.mostly("repair", *VALUES),
        "preempt": chance.mostly(True, False),
        "expected_version": chance.mostly("v7", "v8", None),
        "resource_version": chance.mostly("v7", "v8", None),
        "ownership_epoch": chance.mostly(5, 4, 6),
        "coordination_id": chance.mostly("op-1", None),
        "on_behalf_of": chance.mostly("controller:seo", *PRINCIPALS),
        "change_id": chance.of(VALUES),
        "free": chance.of(VALUES),
        "deep.er": chance.of(VALUES),
    }
    return found | {name: value for name, value in known.items() if chance.yes()}


def _set_operations(chance: Chance) -> dict[str, Any] | None:
    if chance.yes():
        return None
    return {name: chance.some(["a", "b", "c"], 2) for name in chance.some(["add", "remove"], 2)}


def _action(chance: Chance) -> dict[str, Any]:
    known = chance.mostly(True, False)
    return {
        "name": chance.of(ACTIONS),
        "known": known,
        "class": chance.of(["write", "write", "read", "approve", "reconcile"]) if known else None,
        "risk": chance.mostly("LOW", "MEDIUM", "HIGH", "CRITICAL", None, "ODD") if known else None,
        "reversible": chance.yes() if known else False,
        "domain": chance.of([*DOMAINS, None]),
        "strict": False,
        "record_required": False,
    }


def _resource(chance: Chance, fields: Sequence[str]) -> dict[str, Any]:
    known = chance.mostly(True, False)
    return {
        "key": chance.mostly("wp:post:1024", None),
        "coordination_key": "wp:post:1024",
        "type": "wp:post",
        "known": known,
        "attributes": {"region": chance.of(VALUES)} if chance.yes() else {},
        "ancestors": ANCESTORS if known else [],
        "concurrency": chance.mostly(chance.of(CONCURRENCY), None),
        "version": chance.mostly("v7", None, "v8"),
        "version_trusted": chance.yes(),
        "superseded": chance.mostly(False, True),
        "dimensions": {
            "environment": {
                "graph": chance.mostly(["production"], [], ["staging"], ["production", "staging"]),
                "context": chance.mostly(None, "production", "staging"),
            },
            "site": {"graph": ["example.com"], "context": None},
        },
        "escalated": chance.mostly(False, True),
        "type_fields": {
            field: {
                "domain": chance.of([*DOMAINS, None]),
                "merge": chance.of(MERGES),
                "managed": chance.mostly(True, False),
                "independent": chance.mostly(False, True),
            }
            for field in FIELDS
        },
        "ownership": [_owner(chance, field) for field in fields or FIELDS[:2]],
    }


def _owner(chance: Chance, field: str) -> dict[str, Any]:
    owner = chance.mostly("controller:seo", "controller:content", None)
    return {
        "field": field,
        "managed": chance.mostly(True, False),
        "owner": owner,
        "edge_id": owner and chance.mostly("own-1", "e-0"),
        "ownership_epoch": owner and chance.mostly(5, 6),
        "frozen": chance.mostly(False, True),
        "owners": chance.mostly([owner], ["controller:content", "controller:seo"]) if owner else [],
    }


def _coordination(chance: Chance) -> dict[str, Any]:
    presented = {
        "lease_id": "l-own",
        "mode": chance.mostly("exclusive", "shared"),
        "fencing_token": chance.mostly(8, 7),
        "state": chance.mostly("current", "expired", "revoked", "unknown", "stale", "not_held"),
        "code": chance.mostly(None, "lease_revoked", "preempted"),
        "current_token": chance.mostly(8, 9, None),
    }
    return {
        "required": chance.of(["none", "lease", "version"]),
        "mode": chance.mostly("exclusive", "shared"),
        "held": None,
        "presented": chance.mostly(presented, None),
        "overlapping": [a_lease(chance, number) for number in range(chance.of([0, 0, 1, 1, 2, 3]))],
        "overlapping_cut": chance.mostly(False, True),
        "presence": chance.mostly([], [_presence(chance)]),
        "transfer": None,
        "sequence": _sequence(chance) if chance.yes(0.2) else None,
        "queue_length": chance.number(0, 2),
        "priority": chance.number(9, 11),
    }


def a_lease(chance: Chance, number: int) -> dict[str, Any]:
    """Return a live lease of somebody on the same or a related key."""
    return {
        "lease_id": f"l-{number}",
        "holder": chance.of(PRINCIPALS),
        "domain": chance.of([*DOMAINS, "*", "UNHEARD_OF"]),
        "fields": chance.some(FIELDS, 2),
        "merge": chance.of(MERGES),
        "set_operations": _set_operations(chance),
        "key": chance.of(ANCESTORS),
        "relation": chance.of(["same", "same", "ancestor", "descendant", "affects", "must_coordinate"]),
        "mode": chance.mostly("exclusive", "shared"),
        "priority": chance.number(9, 11),
        "preemptible": chance.yes(),
    }


def _presence(chance: Chance) -> dict[str, Any]:
    return {"actor": chance.of(PRINCIPALS), "fields": chance.some(FIELDS, 1), "resource_key": "wp:post:1024"}


def _sequence(chance: Chance) -> dict[str, Any]:
    return {"line": "schema", "number": chance.number(103, 105), "next": 104, "depends_met": chance.mostly(True, False)}


def _capability(chance: Chance, chains: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    if chance.yes():
        return None
    edges = [hop["edge_id"] for hop in chains[0]["hops"]] if chains else []
    return {
        "capability_id": "cap-1",
        "valid": chance.mostly(True, False),
        "code": chance.mostly(None, "capability_expired", "capability_revoked"),
        "chain": chance.mostly(edges, ["e-9"], []),
        "matches": chance.mostly(True, False),
    }


def _approval(chance: Chance) -> dict[str, Any] | None:
    if chance.yes():
        return None
    return {
        "approval_id": "ap-1",
        "quorum": chance.number(1, 2),
        "approvers": chance.some(PRINCIPALS, 2),
        "current": chance.mostly(True, False),
        "code": chance.mostly(None, "approval_stale"),
    }


def _incident(chance: Chance) -> dict[str, Any]:
    return {
        "incident_id": "inc-1",
        "severity": chance.of(["SEV1", "SEV3", "SEV9"]),
        "resource_key": "site:example.com",
        "status": chance.mostly("OPEN", "CLOSED"),
    }
