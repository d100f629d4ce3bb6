"""The realm: its roots, its dimensions, its bounds and its enforcement points (model.md 8, rules.md 14)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ModelError
from remit_graph.model.key import WILDCARD, check_name
from remit_graph.model.principal import KINDS, check_identity, check_principal_id

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DELEGATION_DEPTH: Final = 5
"""Delegations in one chain where the world does not say (model.md 5)."""

MAX_CHAIN_HOPS: Final = 16
"""Edges in one chain, memberships included (model.md 5)."""

MAX_BOUND: Final = 64
"""What a world may raise either bound to: beyond it a search is no longer cheap."""

DEFAULT_DIMENSIONS: Final = ("environment", "resource_type", "site")
PROTOCOLS: Final = ("authzen", "caddy", "envoy", "haproxy", "nginx", "traefik")
RESPONSES: Final = ("full", "reasons", "decision")
VISIBILITIES: Final = ("full", "codes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Realm:
    """Settings of one realm.

    Attributes:
        name: The realm's name.
        root: Principals whose word needs no grant.
        dimensions: Names that `where` may use.
        subject_types: AuthZEN subject type to principal kind; every kind maps to itself.
    """

    name: str
    root: tuple[str, ...] = ()
    dimensions: tuple[str, ...] = DEFAULT_DIMENSIONS
    subject_types: Mapping[str, str] = field(default_factory=dict)
    max_delegation_depth: int = MAX_DELEGATION_DEPTH
    max_chain_hops: int = MAX_CHAIN_HOPS

    def kind_of(self, subject_type: str) -> str | None:
        """Return the principal kind of an AuthZEN subject type, or None where it is unknown."""
        mapped = self.subject_types.get(subject_type)
        return mapped or (subject_type if subject_type in KINDS else None)

    def record(self) -> dict[str, Any]:
        """Return the form of world files and the ledger."""
        record: dict[str, Any] = {"name": self.name, "root": list(self.root), "dimensions": list(self.dimensions)}
        if self.subject_types:
            record["subject_types"] = dict(sorted(self.subject_types.items()))
        if self.max_delegation_depth != MAX_DELEGATION_DEPTH:
            record["max_delegation_depth"] = self.max_delegation_depth
        if self.max_chain_hops != MAX_CHAIN_HOPS:
            record["max_chain_hops"] = self.max_chain_hops
        return record


def parse_realm(record: Mapping[str, Any]) -> Realm:
    """Read a realm.

    Raises:
        ModelError: no name, a root that is no principal, or a subject type that maps to no kind or shadows one.
    """
    subject_types = dict(record.get("subject_types") or {})
    for name, kind in subject_types.items():
        if kind not in KINDS:
            raise ModelError(f"subject type `{name}`: `{kind}` is no kind of principal; known are {', '.join(KINDS)}")
        if name in KINDS and name != kind:
            raise ModelError(f"subject type `{name}` is a kind itself and cannot mean `{kind}`")
    if len(set(subject_types.values())) != len(subject_types):
        raise ModelError("subject types map one to one to kinds of principals")
    bounds = {name: record.get(name, default) for name, default in _BOUNDS.items()}
    for name, value in bounds.items():
        if type(value) is not int or not 1 <= value <= MAX_BOUND:
            raise ModelError(f"`{name}` is a whole number from 1 to {MAX_BOUND}, not `{value}`")
    return Realm(
        name=check_name(record["name"]),
        root=tuple(sorted(check_principal_id(each) for each in record.get("root") or ())),
        dimensions=tuple(sorted(record.get("dimensions") or DEFAULT_DIMENSIONS)),
        subject_types=subject_types,
        max_delegation_depth=bounds["max_delegation_depth"],
        max_chain_hops=bounds["max_chain_hops"],
    )


_BOUNDS: Final = {"max_delegation_depth": MAX_DELEGATION_DEPTH, "max_chain_hops": MAX_CHAIN_HOPS}


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcementPoint:
    """A gateway, adapter or middleware that asks; secrets are not part of it.

    Attributes:
        id: The principal it is, `service:gateway`.
        identities: Verified identities it may present, `key:gateway`.
        speaks_for: Subjects it may name: principal ids in which the name may be `*`.
        trusted: Attributes of the request it is believed about: `risk`, `fields`, `resource.ownerID`, `action.soft`.
        visibility: `full` or `codes`: what of the graph it may see.
        protocol: Which gateway's headers and status codes it speaks.
        response: How much of the answer's context it wants: `full`, `reasons`, or `decision` alone.
        loopback: Whether unauthenticated callers on loopback count as this one (the demo world only).
    """

    id: str
    identities: tuple[str, ...] = ()
    speaks_for: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()
    visibility: str = "codes"
    protocol: str = "authzen"
    response: str = "full"
    loopback: bool = False

    def may_speak_for(self, principal: str) -> bool:
        """Whether it may name this subject; the kind is compared exactly, the name may be `*`."""
        kind, _, name = principal.partition(":")
        for each in self.speaks_for:
            allowed_kind, _, allowed = each.partition(":")
            if allowed_kind in (kind, WILDCARD) and allowed in (name, WILDCARD):
                return True
        return False

    def record(self) -> dict[str, Any]:
        """Return the form of world files and the ledger."""
        record: dict[str, Any] = {"id": self.id}
        for name in ("identities", "speaks_for", "trusted"):
            if getattr(self, name):
                record[name] = list(getattr(self, name))
        record |= {"visibility": self.visibility, "protocol": self.protocol, "response": self.response}
        if self.loopback:
            record["loopback"] = True
        return record


_POINT_MEMBERS: Final = frozenset(EnforcementPoint.__dataclass_fields__)


def parse_enforcement_point(record: Mapping[str, Any]) -> EnforcementPoint:
    """Read an enforcement point.

    Raises:
        ModelError: an unknown member, or a value outside its closed set.
    """
    for member in record:
        if member not in _POINT_MEMBERS:
            known = ", ".join(sorted(_POINT_MEMBERS))
            raise ModelError(f"enforcement point `{record.get('id')}` has no member `{member}`; known are {known}")
    identifier = check_name(record["id"])
    for name, allowed in (("visibility", VISIBILITIES), ("protocol", PROTOCOLS), ("response", RESPONSES)):
        if record.get(name, allowed[0]) not in allowed:
            raise ModelError(
                f"enforcement point `{identifier}`: {name} `{record[name]}` is none of {', '.join(allowed)}"
            )
    for each in record.get("speaks_for") or ():
        if not isinstance(each, str) or each.count(":") < 1 or each.partition(":")[0] not in (*KINDS, WILDCARD):
            raise ModelError(f"enforcement point `{identifier}`: `{each}` in speaks_for is not <kind>:<name or *>")
    return EnforcementPoint(
        id=identifier,
        identities=tuple(sorted(check_identity(each) for each in record.get("identities") or ())),
        speaks_for=tuple(sorted(record.get("speaks_for") or ())),
        trusted=tuple(sorted(record.get("trusted") or ())),
        visibility=record.get("visibility", "codes"),
        protocol=record.get("protocol", "authzen"),
        response=record.get("response", "full"),
        loopback=bool(record.get("loopback", False)),
    )
