"""Chains for policy inputs: hops, memberships and near misses whose every bound is met, missed by one, or absent.

Values come from small pools, so that a request and a chain often fit, and often miss each other by one thing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tests.support.policy_chance import Chance

AT: Final = 1_795_000_000_000_000
"""The instant of every request, in microseconds."""

HOUR: Final = 3_600_000_000
PRINCIPALS: Final = ("controller:seo", "controller:content", "instance:seo-7", "human:anna", "team:web")
ACTIONS: Final = ("UPDATE_CANONICAL", "UPDATE_BODY", "READ_POST", "APPROVE_RELEASE", "RECONCILE_SEO", "DEPLOY")
FIELDS: Final = ("canonical", "body", "tags", "title")
SELECTORS: Final = (
    *("wp:post:1024", "wp:post:*", "wp:*:1024", "wp:post", "wp:post:1024:x", "*", "wp:post:7"),
    *("site:example.com", "site:*", "site:example.com:product-pages", "site:*:product-pages"),
)
VALUES: Final[tuple[Any, ...]] = (
    "production",
    "LOW",
    "HIGH",
    "CRITICAL",
    "x",
    "",
    0,
    1,
    3,
    -1,
    True,
    None,
    [],
    [1],
    {},
)
"""What a caller may send in a free attribute."""

PATHS: Final = (
    *("environment", "risk", "context.risk", "context.deep.er", "subject.kind", "subject.trust", "subject.region"),
    *(
        "resource.region",
        "action.risk",
        "action.reversible",
        "incident.severity",
        "incident.status",
        "world.x",
        "missing",
    ),
)
STARTS: Final = (None, AT - HOUR, AT - 1, AT)
ENDS: Final = (None, AT + HOUR, AT + 1)
NEAR_REASONS: Final = (
    *("principal_mismatch", "delegation_revoked", "stale_authority_epoch", "delegation_expired"),
    *("delegation_not_yet_valid", "depth_exceeded", "attenuation_violated", "scope_not_covered"),
    *("condition_unknown", "condition_not_met", "trust_too_low"),
)
_CONVEYING: Final = {"read": "MAY_READ", "write": "MAY_WRITE", "approve": "MAY_APPROVE", "reconcile": "MAY_RECONCILE"}


def condition(chance: Chance) -> dict[str, Any]:
    """Return one condition: every operator, on paths that are there, are missing, or mean nothing."""
    operators: list[dict[str, Any]] = [
        {"equals": chance.of(VALUES)},
        {"in": [chance.of(VALUES) for _ in range(chance.number(0, 3))]},
        {"at_most": chance.of(VALUES)},
        {"at_least": chance.of(VALUES)},
        {"equals_attribute": chance.of(PATHS)},
        {"matches": "x"},
        {},
        {"at_least": 0, "at_most": 3},
    ]
    return {"attribute": chance.of(PATHS), **chance.of(operators)}


def scope(chance: Chance) -> dict[str, Any]:
    """Return a scope; each dimension is absent, covers, misses, or is empty."""
    found: dict[str, Any] = {}
    if chance.yes():
        found["actions"] = chance.mostly(list(ACTIONS), chance.some(ACTIONS, 3))
    if chance.yes():
        lists = [[chance.of(SELECTORS) for _ in range(2)] for _ in range(chance.number(1, 2))]
        found["resources"] = chance.mostly(
            ["wp:post:*", "site:x"], chance.some(SELECTORS, 3), lists, [["wp:post"], ["wp:*:1024"]]
        )
    if chance.yes():
        found["fields"] = chance.mostly(list(FIELDS), chance.some(FIELDS, 2))
    if chance.yes(0.2):
        environments = chance.mostly(["production", "staging"], ["staging"], [])
        found["where"] = {chance.mostly("environment", "site", "planet"): environments}
    if chance.yes(0.2):
        found["conditions"] = [condition(chance) for _ in range(chance.number(0, 2))]
    if chance.mostly(False, True):
        found["weekdays"] = ["monday"]
    return found


def hop(chance: Chance, position: int, *, from_: str, to: str, after: int, klass: str) -> dict[str, Any]:
    """Return the edge at `position` of a chain that has `after` more; the first is a grant on a selector."""
    usual = "DELEGATES" if position else chance.of(["OWNS", _CONVEYING.get(klass, "MAY_WRITE")])
    return {
        "edge_id": f"e-{position}" if position else chance.mostly("own-1", "e-0"),
        "version": chance.number(1, 2),
        "edge": chance.mostly(usual, "DELEGATES", "MEMBER_OF", "MAY_READ", "OWNS"),
        "from": from_,
        "to": to,
        "scope": scope(chance) if chance.yes() else {},
        "valid_from": chance.mostly(chance.of(STARTS), AT + 1, AT + HOUR),
        "valid_until": chance.mostly(chance.of(ENDS), AT, AT - 1),
        "epoch": chance.number(91, 92),
        "minimum_epoch": chance.mostly(91, 90, 92, 93),
        "max_depth": chance.mostly(None, 0, 1, 2),
        "delegations_after": after,
        "issuer": chance.of(PRINCIPALS),
        "issuer_standing": chance.mostly("root", "owner", "none") if position == 0 else "none",
        "ownership_epoch": chance.mostly(5, None, 4),
        "rests_on": [{"edge_id": chance.mostly("own-1", "own-2"), "ownership_epoch": chance.mostly(5, 4)}],
        "except": chance.mostly([], ["wp:post:1024"], ["wp:*"], ["wp:post:7"]),
        "trust": chance.mostly(3, 0, 1),
        "disabled": chance.mostly(False, True),
    }


def membership(chance: Chance, *, from_: str, to: str, after: int) -> dict[str, Any]:
    """Return the edge by which `from_` uses what `to` holds."""
    return {
        "edge_id": f"m-{after}",
        "version": 1,
        "edge": chance.of(["ACTS_AS", "MEMBER_OF"]),
        "from": from_,
        "to": to,
        "valid_from": chance.mostly(chance.of(STARTS), AT + 1),
        "valid_until": chance.mostly(chance.of(ENDS), AT),
        "epoch": 91,
        "minimum_epoch": chance.mostly(91, 92),
        "disabled": chance.mostly(False, True),
        "after": after,
    }


def chain(chance: Chance, number: int, *, subject: str, klass: str) -> dict[str, Any]:
    """Return a candidate: a root, up to two delegations, a membership where the last holder is not the subject."""
    delegations = chance.number(0, 2)
    holders = ["controller:seo", "p-1", "p-2"][: delegations + 1]
    if delegations and chance.yes():
        holders[-1] = subject
    tos = [chance.mostly("wp:post:*", "wp:post:7", "site:example.com", "*"), *holders[1:]]
    froms = [holders[0], *holders[:-1]]
    hops = [
        hop(
            chance,
            position,
            from_=chance.mostly(from_, "p-9"),
            to=to,
            after=chance.mostly(delegations - position, 0, 2),
            klass=klass,
        )
        for position, (from_, to) in enumerate(zip(froms, tos, strict=True))
    ]
    below = [] if holders[-1] == subject else [membership(chance, from_=subject, to=holders[-1], after=delegations)]
    return {
        "chain_id": f"chain-{number}",
        "root": chance.mostly(holders[0], "controller:content"),
        "hops": hops,
        "memberships": chance.mostly(below, [], [membership(chance, from_="p-1", to="controller:seo", after=0)]),
    }


def near_miss(chance: Chance, number: int) -> dict[str, Any]:
    """Return a chain that nearly held, with its first failing check."""
    rank = chance.number(0, len(NEAR_REASONS) - 1)
    edge = {"edge_id": f"e-{number}", "version": 1, "edge": "OWNS", "from": chance.of(PRINCIPALS), "to": "wp:*"}
    edge |= {"ownership_epoch": chance.mostly(5, 4)} if chance.yes() else {"edge": "MAY_WRITE", "rests_on": []}
    return {
        "chain_id": f"near-{number}",
        "hops": [edge],
        "failed_hop": 0,
        "reason": NEAR_REASONS[rank],
        "rank": rank,
    }
