"""The reference's rules: who is in whose way, and who comes first, written anew from the design.

Nothing here calls the machine. An operation is a pair of a key and what is done there; the few of this town are told
apart by hand, so that the rules fit on a screen.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

SECOND: Final = 1_000_000
AGEING: Final = 60 * SECOND
COOLDOWN: Final = 10 * SECOND
HOLD: Final = 1_800 * SECOND
TOP: Final = 95
PRIORITY: Final = {"instance:a": 90, "instance:b": 50}
RESPONDER: Final = "instance:f"
INCIDENT: Final = 95
HEAVY: Final = "instance:a"
"""Serves its class of a fair queue at a third of the price."""

DOMAINS: Final = {
    "BODY": "BODY", "META": "META", "ADD_TAG": "META", "DROP_TAG": "META", "SLUG": "BODY", "WHOLE": "BODY",
    "READ_IT": "READ", "MIGRATE": "BODY",
}  # fmt: skip
PARTS: Final = {"BODY": "body", "META": "meta", "ADD_TAG": "tags", "DROP_TAG": "tags"}
"""Fields that are edited on their own; everything else is the whole resource."""


class Op(NamedTuple):
    """What is asked for on one key."""

    key: str
    verb: str


def op_of(request: dict[str, Any]) -> Op:
    """Read an operation from a request of the bench."""
    verb = request["action"]
    if verb == "TAGS":
        verb = "ADD_TAG" if request["set_operations"].get("add") else "DROP_TAG"
    return Op(request["key"], verb)


def fence_of(op: Op) -> str:
    """Return the fence key of an operation (rules.md 8)."""
    return f"{op.key}#{PARTS.get(op.verb, '*')}"


@cache
def collide(one: Op, other: Op) -> bool:
    """Whether two operations of two holders exclude each other."""
    if one.key == other.key:
        return _on_one_key(one, other)
    above, below = sorted((one.key, other.key), key=len)
    if not below.startswith(above + ":"):
        return False
    domains = {DOMAINS[one.verb], DOMAINS[other.verb]}
    return len(domains) == 1 and "READ" not in domains


def _on_one_key(one: Op, other: Op) -> bool:
    verbs = {one.verb, other.verb}
    if one.key.startswith("index:"):
        return verbs != {"READ_IT"}
    if not verbs <= PARTS.keys():
        return True
    if verbs in ({"ADD_TAG"}, {"DROP_TAG"}):
        return False
    return len({PARTS[each] for each in verbs}) == 1


def any_collide(ones: tuple[Op, ...], others: tuple[Op, ...]) -> bool:
    """Whether any two of two requests do."""
    return any(collide(one, other) for one in ones for other in others)


def aged(priority: int, age: int) -> int:
    """Return a priority after some waiting: the top at the ageing bound."""
    return priority + max(TOP - priority, 0) * age // AGEING


def order_of(key: str) -> str:
    """Return the acquisition policy of a key's type."""
    return key.partition(":")[0] if key.partition(":")[0] in ("prio", "fair", "dead") else "fifo"
