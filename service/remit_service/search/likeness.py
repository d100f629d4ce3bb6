"""Candidates that differ in nothing but their names are decided once.

The policy compares names and never reads a meaning out of them: a resource key with selectors, segment by segment, and
edge ids with each other. So two resources whose facts are the same but for the last segment of the key, and for the
ids of the grants on that very key, come to the same outcome. `shape_of` writes the facts of a question without these
names; questions of one shape share one evaluation, and everything else about them is in the shape: scopes, windows,
attributes, ancestors, owners, leases, the instant.

What is not certain is not shared: where the name that was left out stands anywhere else in the facts, as an attribute,
in a selector, in a lease or by chance, there is no shape. Where the bundle may tell names apart
(`Bundle.tells_names_apart`: a rule of the site reads them, or the shipped rules were changed), there is none at all.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_service.decision.decide import Prepared


class Alike:
    """Outcomes by shape; lives as long as one page."""

    def __init__(self) -> None:
        """Know none."""
        self._outcomes: dict[tuple[str, bytes], str] = {}

    def find(self, policy_revision: str, shape: bytes | None) -> str | None:
        """Return the outcome of whatever had this shape, or None."""
        return None if shape is None else self._outcomes.get((policy_revision, shape))

    def note(self, policy_revision: str, shape: bytes | None, outcome: str) -> None:
        """Remember an outcome that was no fault."""
        if shape is not None:
            self._outcomes[policy_revision, shape] = outcome


def shape_of(prepared: Prepared) -> bytes | None:
    """Return a digest of the facts of a question without the names of its resource, or None where they matter."""
    document = prepared.facts.document
    resource, asked = document["resource"], document["request"]["resource"]
    key, identifier = resource["key"], asked["id"]
    if key is None:
        return None
    tail = key.rpartition(":")[2]
    if not identifier.endswith(tail) or not resource["ancestors"] or resource["ancestors"][0] != key:
        return None
    names = _Names(key)
    shape = {
        **document,
        "request": {**document["request"], "resource": {**asked, "id": identifier.removesuffix(tail)}},
        "resource": {
            **resource,
            "key": key.removesuffix(tail),
            "coordination_key": names.replaced(resource["coordination_key"]),
            "ancestors": resource["ancestors"][1:],
        },
        "chains": [{**chain, "hops": names.hops(chain["hops"])} for chain in document["chains"]],
        "near_misses": [names.near(miss) for miss in document["near_misses"]],
    }
    encoded = msgspec.json.encode(shape)
    left_out = (tail, *names.edges)
    if any(msgspec.json.encode(each)[1:-1] in encoded for each in left_out):
        return None
    # The facts take kilobytes, and a page may meet thousands of shapes.
    return sha256(encoded).digest()


class _Names:
    """What stands in a shape for a key, and for the edges whose selector is that key."""

    def __init__(self, key: str) -> None:
        self._key = key
        self.edges: dict[str, str] = {}

    def replaced(self, value: str) -> str:
        return "" if value == self._key else value

    def hops(self, hops: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [{**hop, "to": "", "edge_id": self._edge(hop)} if hop["to"] == self._key else hop for hop in hops]

    def near(self, miss: Mapping[str, Any]) -> Mapping[str, Any]:
        hops = self.hops(miss["hops"])
        edge_id, _, version = miss["failed_hop"].rpartition("@")
        return {**miss, "hops": hops, "failed_hop": [self.edges.get(edge_id, edge_id), version]}

    def _edge(self, hop: Mapping[str, Any]) -> str:
        # Numbered by where it stands first, so that the same edge in two chains is the same one in both.
        return self.edges.setdefault(hop["edge_id"], f"\u0000{len(self.edges)}")
