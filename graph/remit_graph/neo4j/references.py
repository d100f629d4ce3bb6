"""Members of a record that name another thing, and the relationships that they become.

`{"holder": "instance:seo-7", "lease_id": "l-1", "proof": ["del_882@1"]}` gives `HOLDER` to the principal, `LEASE` to
the lease and `RESTS_ON {position, ordinal}` to the node of that version of the edge: so one Cypher path goes from a
receipt to the root of its authority. Only records of coordination and evidence refer in this way; what joins
principals and resources are edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.principal import KINDS
from remit_graph.neo4j.nouns import Named, named, principal, resource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PRINCIPALS: Final = frozenset(
    {"actor", "approvers", "by", "contenders", "from_owner", "holder", "instance", "issuer", "owner", "principal",
     "requester", "subject", "to_owner", "winner"}
)  # fmt: skip
"""Members that hold a principal's id, or a list of them."""

RESOURCES: Final = frozenset({"coordination_key", "keys", "resource", "resource_key", "resource_keys"})
"""Members that hold a resource's key, or a list of them: as texts, or as objects with a `key`."""

NOUNS: Final[Mapping[str, str]] = {
    "approval_id": "approval",
    "capability_id": "capability",
    "conflict_id": "conflict",
    "coordination_id": "operation",
    "incident_id": "incident",
    "lease_id": "lease",
    "operation_id": "operation",
    "presence_id": "presence",
    "receipt_id": "receipt",
    "transfer_id": "transfer",
    "waiter_id": "waiter",
}
"""Members that hold the id of a record, with its noun."""

PROOFS: Final = frozenset({"authority_origin", "chain", "proof", "proof_edges"})
"""Members that list the edges which authority rests on, root first: as `edge_id@version`, or as objects."""

DECLARED: Final = frozenset({"principal", "resource"})
"""Nouns whose node is made when something names it; all others are made by their own change."""

Reference = dict[str, Any]


def references_of(record: Mapping[str, Any], own: Named) -> list[Reference]:
    """Return what `record` refers to by name, in the order of its members."""
    found: list[Reference] = []
    for member in sorted(record):
        for target in _targets(member, record[member]):
            if target.ref != own.ref:
                noun = target.ref.partition("/")[0]
                found.append({"type": type_of(member), "member": member, "noun": noun, **target._asdict()})
    return found


def proofs_of(record: Mapping[str, Any]) -> list[Reference]:
    """Return the positions that `record` rests on."""
    found: list[Reference] = []
    for member in sorted(PROOFS & record.keys()):
        hops = record[member] if isinstance(record[member], list | tuple) else ()
        positions = [position for hop in hops if (position := _position(hop)) is not None]
        found += [{"position": each, "ordinal": place, "member": member} for place, each in enumerate(positions)]
    return found


def _targets(member: str, value: Any) -> Iterator[Named]:
    for one in value if isinstance(value, list | tuple) else (value,):
        each = one.get("key") if isinstance(one, dict) else one
        if not isinstance(each, str) or not each:
            continue
        if member in PRINCIPALS and each.partition(":")[0] in KINDS:
            yield principal(each)
        elif member in RESOURCES:
            yield resource(each)
        elif member in NOUNS:
            yield named(NOUNS[member], each)


def type_of(member: str) -> str:
    """Return the relationship's type: the member without what says that it is a name."""
    return member.removesuffix("_id").removesuffix("_keys").removesuffix("_key").upper()


def _position(hop: Any) -> str | None:
    if isinstance(hop, str):
        return hop if "@" in hop else None
    if isinstance(hop, dict) and "edge_id" in hop and "version" in hop:
        return f"{hop['edge_id']}@{hop['version']}"
    return None
