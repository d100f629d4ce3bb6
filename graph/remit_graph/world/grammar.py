"""The sections of a world file, each with the shape of its entries (model.md 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from remit_graph.model.condition import OPERATORS
from remit_graph.model.principal import KINDS
from remit_graph.model.realm import PROTOCOLS, RESPONSES, VISIBILITIES
from remit_graph.model.resource_type import ACQUISITIONS, CLASSES, MERGES, Concurrency
from remit_graph.world.shapes import Either, Flag, ListOf, MapOf, Members, Moment, Scalar, Shape, Text, Whole

if TYPE_CHECKING:
    from collections.abc import Mapping

_ID: Final = Text("an id")
_PRINCIPAL: Final = Text("a principal, <kind>:<name>")
_KEY: Final = Text("a resource key")
_SELECTOR: Final = Text("a selector: a resource key in which a segment may be *")
_NAMES: Final = ListOf(Text("a name"))
_CONCURRENCY: Final = Text(choices=tuple(Concurrency))
_ATTRIBUTES: Final = MapOf(Either(Scalar(), ListOf(Text("a string", may_be_empty=True)), tuple))
_POSITION: Final = Text("an edge id, or edge_id@version")

_CONDITION: Final = Members(
    "a condition",
    {
        "attribute": Text("an attribute path: risk, resource.owner, incident.severity"),
        **{
            each: ListOf(Scalar())
            if each == "in"
            else Text("an attribute path")
            if each == "equals_attribute"
            else Scalar()
            for each in OPERATORS
        },
    },
    ("attribute",),
    whole=True,
)
_CONDITIONS: Final = ListOf(_CONDITION)
SCOPE: Final = Members(
    "a scope",
    {
        "actions": _NAMES,
        "resources": ListOf(Either(_SELECTOR, ListOf(_SELECTOR), tuple)),
        "fields": _NAMES,
        "where": MapOf(ListOf(Text("a value"))),
        "conditions": _CONDITIONS,
    },
    description="What an edge covers. A dimension that is left out does not narrow; an empty list covers nothing.",
)

_STAMPS: Final[Mapping[str, Shape]] = {
    "issuer": _PRINCIPAL,
    "valid_from": Moment(),
    "valid_until": Moment(),
    "epoch": Whole(0),
    "version": Whole(1),
}
_LINK: Final[Mapping[str, Shape]] = {"edge_id": _ID, **_STAMPS}


def _links(target: Shape) -> Shape:
    """Return a list of ids, or of mappings where an edge has a window, an epoch or an id of its own."""
    return ListOf(Either(target, Members("a link", {"to": target, **_LINK}, ("to",))))


_FIELD: Final = Members(
    "a field",
    {
        "domain": Text("a conflict domain"),
        "merge": Text(choices=MERGES),
        "managed": Flag(),
        "independent": Flag(),
        "concurrency": _CONCURRENCY,
    },
)
_RESOURCE_TYPE: Final = Members(
    "a resource type",
    {
        "key": Text("a key template: site:{id}:robots"),
        "concurrency": _CONCURRENCY,
        "lock_rank": Whole(),
        "acquisition": Text(choices=ACQUISITIONS),
        "escalate_at": Whole(1),
        "stored": Flag(),
        "fields": MapOf(_FIELD),
    },
    ("key",),
)
_ACTION: Final = Members(
    "an action",
    {
        "class": Text(choices=CLASSES),
        "fields": _NAMES,
        "domain": Text("a conflict domain"),
        "risk": Text("a value of the scale `risk`"),
        "reversible": Flag(),
        "sequence": Text("the name of a line of ordered actions"),
        "concurrency": _CONCURRENCY,
    },
    ("class",),
)
_PRINCIPAL_ENTRY: Final = Members(
    "a principal",
    {
        "id": _PRINCIPAL,
        "display_name": Text("a name for people"),
        "trust": Whole(),
        "disabled": Flag(),
        "minimum_epoch": Whole(0),
        "attributes": _ATTRIBUTES,
        "identities": ListOf(Text("an identity: spiffe://…, jwt:<issuer>#<subject>, x509:spiffe://… or key:<name>")),
        "acts_as": _links(_PRINCIPAL),
        "member_of": _links(_PRINCIPAL),
        "reports_to": _links(_PRINCIPAL),
    },
    ("id",),
)
_RESOURCE: Final = Members("a resource", {"key": _KEY, "attributes": _ATTRIBUTES, "part_of": _links(_KEY)}, ("key",))
_ENDS: Final[Mapping[str, Shape]] = {"from": _PRINCIPAL, "to": _PRINCIPAL}
_RESTS_ON: Final = ListOf(
    Members("an ownership", {"edge_id": _ID, "ownership_epoch": Whole(1)}, ("edge_id", "ownership_epoch"))
)
_RESOURCE_ENDS: Final[Mapping[str, Shape]] = {"from": _KEY, "to": _KEY}
_POINT: Final = Members(
    "an enforcement point",
    {
        "id": _ID,
        "identities": ListOf(Text("an identity")),
        "speaks_for": ListOf(Text("<kind>:<name>, where * stands for any")),
        "trusted": _NAMES,
        "visibility": Text(choices=VISIBILITIES),
        "protocol": Text(choices=PROTOCOLS),
        "response": Text(choices=RESPONSES),
        "loopback": Flag(),
    },
    ("id",),
)


@dataclass(frozen=True, slots=True)
class Section:
    """One key at the top of a world file."""

    shape: Shape
    description: str


def _listed(shape: Shape, description: str) -> Section:
    return Section(ListOf(shape), description)


SECTIONS: Final[Mapping[str, Section]] = {
    "realm": Section(Text("the realm's name"), "Name of the realm."),
    "root": _listed(_PRINCIPAL, "Principals whose word needs no grant."),
    "dimensions": _listed(Text("a name"), "Names that `where` may use."),
    "subject_types": Section(MapOf(Text(choices=KINDS)), "AuthZEN subject type to kind of principal, one to one."),
    "max_delegation_depth": Section(Whole(1), "Delegations in one chain, at most."),
    "max_chain_hops": Section(Whole(1), "Edges in one chain, memberships included, at most."),
    "epochs": Section(
        Members(
            "epochs",
            {"authority": Whole(0), "minimum_authority": Members("floors", {"read": Whole(0), "write": Whole(0)})},
        ),
        "The authority epoch and its floors; they only grow.",
    ),
    "resource_types": Section(MapOf(_RESOURCE_TYPE), "Resource types by name, which is also the AuthZEN type."),
    "actions": Section(MapOf(_ACTION), "Actions by name."),
    "principals": _listed(_PRINCIPAL_ENTRY, "Who can hold authority, with memberships and reporting lines."),
    "resources": _listed(_RESOURCE, "Resources with attributes or a place in the structure."),
    "keys": Section(
        Members(
            "keys",
            {
                "aliases": MapOf(Text("a key template")),
                "affects": ListOf(
                    Members(
                        "an effect",
                        {**_RESOURCE_ENDS, "count": Whole(1), "domains": _NAMES, **_LINK},
                        ("from", "to", "count"),
                    )
                ),
            },
        ),
        "The coordination key registry: aliases, and what a change really touches.",
    ),
    "coordinates": _listed(
        Members("a coordination", {**_RESOURCE_ENDS, **_LINK}, ("from", "to")),
        "MUST_COORDINATE_WITH: a write to the first also needs the key of the second.",
    ),
    "owns": _listed(
        Members(
            "an ownership",
            {
                "edge_id": _ID,
                "from": _PRINCIPAL,
                "to": _SELECTOR,
                "fields": _NAMES,
                "except": ListOf(_SELECTOR),
                "scope": SCOPE,
                "max_depth": Whole(0),
                "ownership_epoch": Whole(1),
                **_STAMPS,
            },
            ("edge_id", "from", "to"),
        ),
        "OWNS: who is authoritative for which fields.",
    ),
    "grants": _listed(
        Members(
            "a grant",
            {
                "edge_id": _ID,
                "edge": Text(choices=("MAY_READ", "MAY_WRITE", "MAY_APPROVE", "MAY_RECONCILE")),
                "from": _PRINCIPAL,
                "to": _SELECTOR,
                "scope": SCOPE,
                "max_depth": Whole(0),
                "rests_on": _RESTS_ON,
                **_STAMPS,
            },
            ("edge_id", "edge", "from", "to"),
        ),
        "Root grants of one class of action each.",
    ),
    "may_delegate": _listed(
        Members(
            "a right to delegate",
            {"edge_id": _ID, **_ENDS, "max_depth": Whole(0), "scope": SCOPE, **_STAMPS},
            ("edge_id", "from", "to"),
        ),
        "MAY_DELEGATE: the standing right to hand on authority.",
    ),
    "delegations": _listed(
        Members(
            "a delegation",
            {"delegation_id": _ID, **_ENDS, "under": _POSITION, "max_depth": Whole(0), "scope": SCOPE, **_STAMPS},
            ("delegation_id", "from", "to"),
        ),
        "DELEGATES: delegations that were made.",
    ),
    "may_preempt": _listed(
        Members(
            "a right to preempt",
            {"edge_id": _ID, **_ENDS, "scope": SCOPE, "conditions": _CONDITIONS, **_STAMPS},
            ("edge_id", "from", "to"),
        ),
        "MAY_PREEMPT: who may take a lease from whom.",
    ),
    "may_revoke": _listed(
        Members("a right to revoke", {"edge_id": _ID, **_ENDS, "scope": SCOPE, **_STAMPS}, ("edge_id", "from", "to")),
        "MAY_REVOKE: who may end what whom holds.",
    ),
    "memberships": _listed(
        Members(
            "a membership", {"edge": Text(choices=("ACTS_AS", "MEMBER_OF")), **_ENDS, **_LINK}, ("edge", "from", "to")
        ),
        "ACTS_AS and MEMBER_OF in their long form.",
    ),
    "reports_to": _listed(
        Members("a reporting line", {**_ENDS, **_LINK}, ("from", "to")),
        "REPORTS_TO in its long form; it gives no authority.",
    ),
    "enforcement_points": _listed(_POINT, "Who asks, for whom it may speak and what it is believed about."),
}
"""Top-level keys of a world file, in the order they are written."""
