"""What the things of the ledger are called in Neo4j: the label of each noun, and the `ref` that names one node.

`lease.put {"id": "l-1", …}` is the node `(:Entity:Lease {ref: "lease/l-1", id: "l-1", …})`. When it ends it becomes
`(:Ended:WasLease {was_ref: "lease/l-1", …})`, so that a later thing of the same name is another node (model.md 1).
One unique constraint, on `ref`, serves every noun that there is and will be.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from remit_graph.model.key import WILDCARD

if TYPE_CHECKING:
    from collections.abc import Mapping

IDENTITY: Final[Mapping[str, str]] = {
    "action": "name",
    "alias": "alias",
    "policy": "policy_epoch",
    "realm": "name",
    "resource": "key",
    "resource_type": "name",
    "selector": "key",
}
"""The member that names a thing, where it is not `id`."""


TAKEN: Final = frozenset(
    {
        "Change",
        "Checkpoint",
        "CheckpointPart",
        "Edge",
        "Ended",
        "Entity",
        "Foreign",
        "Head",
        "Kept",
        "Mentioned",
        "Op",
        "Part",
        "Replica",
    }
)
"""Labels of the ledger itself."""

NOUNS_KEPT: Final = 256
"""Nouns whose label is remembered: there are some thirty, and each change names several."""

_NOUN: Final = re.compile(r"[a-z]+(_[a-z]+)*\Z", re.ASCII)


class Named(NamedTuple):
    """A node that a change is about or that something points at."""

    ref: str
    label: str
    identity: Mapping[str, Any]


@lru_cache(NOUNS_KEPT)
def label_of(noun: str) -> str:
    """Return the label of a noun: `resource_type` is `ResourceType`."""
    return "".join(part[:1].upper() + part[1:] for part in noun.split("_"))


def noun_of(label: str) -> str:
    """Return the noun of a label, current or ended."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", label.removeprefix("Was")).lower()


def was_label(label: str) -> str:
    """Return the label that the same thing has once it ended."""
    return f"Was{label}"


def named(noun: str, value: Any) -> Named:
    """Return how the thing that `value` names is found."""
    return Named(f"{noun}/{value}", label_of(noun), {IDENTITY.get(noun, "id"): value})


@lru_cache(NOUNS_KEPT)
def is_noun(noun: str) -> bool:
    """Say whether things of this name become nodes; the labels of the ledger itself are taken."""
    return _NOUN.fullmatch(noun) is not None and label_of(noun) not in TAKEN


def named_by(noun: str, record: Mapping[str, Any]) -> Named | None:
    """Return how the thing that `record` describes is found, or None if it does not name itself."""
    value = record.get(IDENTITY.get(noun, "id"))
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return named(noun, value)


def principal(identifier: str) -> Named:
    """Return the node of a principal; its kind is there to filter on, whether or not it was declared."""
    found = named("principal", identifier)
    return found._replace(identity={**found.identity, "kind": identifier.partition(":")[0]})


def resource(key: str) -> Named:
    """Return the node of a resource."""
    return named("resource", key)


def selector(key: str) -> Named:
    """Return the node of a selector, which stands for many resources or for one."""
    found = named("selector", key)
    return found._replace(identity={**found.identity, "wildcard": WILDCARD in key.split(":")})
