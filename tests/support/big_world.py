"""Large worlds for benchmarks and load tests: deterministic, layered, of any number of edges.

The shape is that of the content platform: control planes own fields of posts, roles hold grants, rights let the control
planes hand on, delegations go down in layers from controllers over roles to instances, and every instance acts as a
role. Nothing is judged or filled in while building, so that a million edges take seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.principal import Principal
from remit_graph.model.realm import EnforcementPoint, Realm
from remit_graph.model.resource_type import Action, Concurrency, FieldSpec, ResourceType
from remit_graph.model.scope import Scope
from remit_graph.model.template import parse_template
from remit_graph.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = "organization:acme"
FIELDS: Final = ("body", "canonical", "meta_description", "tags")
ACTIONS: Final = ("UPDATE_BODY", "UPDATE_CANONICAL", "UPDATE_META_DESCRIPTION", "UPDATE_TAGS")
DEPTH: Final = 3
"""Delegations in one chain: controller to role, role to instance, instance to instance."""

_ROLES_A_CONTROLLER: Final = 8
_INSTANCES_A_ROLE: Final = 6
_GRANTS_A_ROLE: Final = 2


@dataclass(frozen=True, slots=True)
class _Group:
    """One controller with all that hangs on it, by number."""

    number: int

    @property
    def controller(self) -> str:
        return f"controller:c{self.number}"

    @property
    def site(self) -> str:
        return f"site:s{self.number}"

    @property
    def posts(self) -> str:
        """The selector of the group's posts."""
        return f"post:s{self.number}"

    def role(self, index: int) -> str:
        return f"role:c{self.number}-r{index}"

    def instance(self, role: int, index: int) -> str:
        return f"instance:c{self.number}-r{role}-i{index}"


def big_world(edges: int) -> World:
    """Return a world with exactly `edges` edges (at least 1), the same for the same number."""
    principals = [Principal(id=ROOT, trust=4)]
    resources: dict[str, dict[str, str]] = {}
    made: dict[str, Edge] = {}
    number = 0
    while len(made) < edges:
        group = _Group(number)
        principals.extend(_principals(group))
        resources[group.site] = {"environment": "production", "site": f"s{number}"}
        for edge in _edges(group):
            if len(made) < edges:
                made[edge.edge_id] = edge
        number += 1
    return World(
        realm=Realm(name="big", root=(ROOT,), dimensions=("environment", "resource_type", "site")),
        resource_types=_types(),
        actions={
            name: Action(name=name, class_="write", fields=(field,), reversible=True)
            for name, field in zip(ACTIONS, FIELDS, strict=True)
        },
        principals={each.id: each for each in principals},
        resources=resources,
        edges=made,
        enforcement_points={"service:gateway": _gateway()},
    )


def _types() -> dict[str, ResourceType]:
    fields = {
        name: FieldSpec(domain="SEO_METADATA", merge="field_versioned", managed=True, independent=True)
        for name in FIELDS
    }
    site = ResourceType(name="site", key=parse_template("site:{id}"), concurrency=Concurrency.WRITE_EXCLUSIVE)
    post = ResourceType(
        name="post", key=parse_template("post:{site}:{id}"), concurrency=Concurrency.WRITE_OPTIMISTIC, fields=fields
    )
    return {"site": site, "post": post}


def _gateway() -> EnforcementPoint:
    trusted = ("environment", "resource_version", "risk")
    return EnforcementPoint(
        id="service:gateway",
        identities=("key:gateway",),
        speaks_for=("instance:*",),
        trusted=trusted,
        visibility="full",
    )


def _principals(group: _Group) -> Iterator[Principal]:
    yield Principal(id=group.controller, trust=4)
    for role in range(_ROLES_A_CONTROLLER):
        yield Principal(id=group.role(role), trust=2)
        for index in range(_INSTANCES_A_ROLE):
            name = group.instance(role, index)
            yield Principal(id=name, trust=2, identities=(f"spiffe://big.test/{name.replace(':', '/')}",))


def _edges(group: _Group) -> Iterator[Edge]:
    """Iterate one group's edges, each after what it rests on."""
    number = group.number
    own = f"own-{number}"
    for index, field in enumerate(FIELDS):
        yield _edge(f"{own}-{field}", EdgeType.OWNS, group.controller, group.posts, scope=_FIELD[index], ownership=1)
    for role in range(_ROLES_A_CONTROLLER):
        yield from _role_edges(group, role)


def _role_edges(group: _Group, role: int) -> Iterator[Edge]:
    suffix = f"{group.number}-{role}"
    holder = group.role(role)
    which = role % len(FIELDS)
    for index in range(_GRANTS_A_ROLE):
        field = (which + 1 + index) % len(FIELDS)
        resting = ((f"own-{group.number}-{FIELDS[field]}", 1),)
        target = f"{group.posts}:p{role}-{index}"
        yield _edge(f"g-{suffix}-{index}", EdgeType.MAY_WRITE, holder, target, scope=_NARROW[field], rests_on=resting)
    right = f"r-{suffix}"
    yield _edge(right, EdgeType.MAY_DELEGATE, group.controller, holder, scope=_NARROW[which], depth=DEPTH)
    given = f"d-{suffix}"
    yield _edge(given, EdgeType.DELEGATES, group.controller, holder, scope=_NARROW[which], depth=2, under=right)
    for index in range(_INSTANCES_A_ROLE):
        instance = group.instance(role, index)
        yield _edge(f"a-{suffix}-{index}", EdgeType.ACTS_AS, instance, holder)
        next_one = group.instance(role, (index + 1) % _INSTANCES_A_ROLE)
        below = f"d-{suffix}-{index}"
        if index % 2 == 0:
            yield _edge(below, EdgeType.DELEGATES, holder, instance, scope=_NARROW[which], depth=1, under=given)
            yield _edge(
                f"{below}-n", EdgeType.DELEGATES, instance, next_one, scope=_NARROW[which], depth=0, under=below
            )


_FIELD: Final = tuple(Scope(fields=(field,)) for field in FIELDS)
_NARROW: Final = tuple(Scope(actions=(action,), fields=(field,)) for action, field in zip(ACTIONS, FIELDS, strict=True))


def _edge(  # noqa: PLR0913 - one line of a table
    edge_id: str,
    edge: EdgeType,
    from_: str,
    to: str,
    *,
    scope: Scope | None = None,
    depth: int | None = None,
    under: str | None = None,
    ownership: int | None = None,
    rests_on: tuple[tuple[str, int], ...] = (),
) -> Edge:
    return Edge(
        edge_id=edge_id,
        version=1,
        edge=edge,
        from_=from_,
        to=to,
        scope=scope or Scope(),
        epoch=1,
        issuer=from_ if edge is EdgeType.DELEGATES else ROOT,
        max_depth=depth,
        ownership_epoch=ownership,
        rests_on=rests_on,
        under=None if under is None else f"{under}@1",
    )
