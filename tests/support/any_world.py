"""Random worlds in which every law holds, for properties: odd names, pasts, windows, scopes, structure.

Built from the ground up: owners of disjoint fields, grants by the root, rights and delegations inside what their
delegator holds, each filled in as the loader would. So that `load(dump(w)) == w` can be asked of the value itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from hypothesis import strategies as st

from remit_graph.laws.owns import rests_on
from remit_graph.model.condition import Condition
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.principal import Principal
from remit_graph.model.realm import EnforcementPoint, Realm
from remit_graph.model.resource_type import Action, Concurrency, FieldSpec, ResourceType
from remit_graph.model.scope import Scope
from remit_graph.model.template import parse_template
from remit_graph.world import Epochs, World
from remit_graph.world.graph import WorldGraph
from remit_graph.world.names import edge_id_of

ROOT: Final = "organization:root"
FIELDS: Final = ("f0", "f1", "f2", "no")
ACTIONS: Final = ("READ", "WRITE", "yes")
TYPES: Final = ("t0", "t1")
OWNERS: Final = ("controller:c0", "controller:c1")
ROLES: Final = ("role:r0", "role:r1", "role:\u00e9diteur")
INSTANCES: Final = ("instance:i0", "instance:i1", "instance:i2")
RESOURCES: Final = ("t0:a", "t0:b", "t1:1024", "t1:\u4e2d")
_YEAR: Final = 365 * 24 * 3600 * 1_000_000

_names = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=5)
_strings = st.text(st.characters(codec="utf-8"), max_size=6)
_values = st.one_of(_strings, st.integers(-(10**18), 10**18), st.booleans(), st.lists(_strings, max_size=2))
_attributes = st.dictionaries(_strings, _values, max_size=2)
_instants = st.integers(-1900 * _YEAR, 8000 * _YEAR)


def _some(values: tuple[str, ...], *, least: int = 0) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=len(values), unique=True).map(
        lambda chosen: tuple(sorted(chosen))
    )


_conditions = st.lists(
    st.one_of(
        st.builds(Condition, attribute=_names, operator=st.just("equals"), value=st.one_of(_strings, st.booleans())),
        st.builds(Condition, attribute=_names, operator=st.just("in"), value=st.lists(_strings, max_size=2).map(tuple)),
        st.builds(Condition, attribute=st.just("risk"), operator=st.just("at_most"), value=st.integers(0, 3)),
    ),
    max_size=2,
    unique_by=lambda each: each.attribute,
).map(lambda found: tuple(sorted(found, key=lambda each: (each.attribute, each.operator, str(each.value)))))
_where = st.dictionaries(st.sampled_from(["environment", "site"]), _some(("x", "y", "1")), max_size=2)


@st.composite
def _windows(draw: st.DrawFn) -> tuple[int | None, int | None]:
    begin, end = draw(st.one_of(st.none(), _instants)), draw(st.one_of(st.none(), _instants))
    if begin is not None and end is not None:
        begin, end = min(begin, end), max(begin, end) + 1
    return begin, end


@st.composite
def any_world(draw: st.DrawFn) -> World:
    """Draw a world in which every law holds."""
    epochs = draw(st.builds(Epochs, authority=st.integers(1, 4), minimum_read=st.integers(0, 1)))
    types = {name: _type(draw, name) for name in TYPES}
    people = {name: _principal(draw, name) for name in (ROOT, *OWNERS, *ROLES, *INSTANCES)}
    edges = [*_structure(draw, epochs), *_owners(draw, epochs)]
    edges += _grants(draw, epochs, edges)
    edges += _rights(draw, epochs)
    edges += _delegations(draw, epochs, edges)
    points = draw(st.lists(st.sampled_from(["service:g", "service:h"]), unique=True))
    return World(
        realm=Realm(name="any", root=(ROOT,), subject_types=draw(st.sampled_from([{}, {"user": "human"}]))),
        resource_types=types,
        actions={name: _action(draw, name) for name in ACTIONS},
        principals=people,
        resources={key: draw(_attributes) for key in RESOURCES},
        aliases=draw(st.sampled_from([{}, {"x:{id}": "t0:{id}"}])),
        edges={each.edge_id: each for each in sorted(edges, key=lambda each: each.edge_id)},
        enforcement_points={each: _point(draw, each) for each in sorted(points)},
        epochs=epochs,
    )


def _type(draw: st.DrawFn, name: str) -> ResourceType:
    spec = st.builds(
        FieldSpec,
        domain=st.sampled_from([None, "CONTENT_BODY"]),
        merge=st.sampled_from(["exclusive", "set_merge"]),
        managed=st.booleans(),
        concurrency=st.sampled_from([None, *Concurrency]),
    )
    return ResourceType(
        name=name,
        key=parse_template(f"{name}:{{id}}"),
        concurrency=draw(st.sampled_from(list(Concurrency))),
        lock_rank=draw(st.integers(-5, 50)),
        acquisition=draw(st.sampled_from(["FIFO", "DEADLINE"])),
        escalate_at=draw(st.one_of(st.none(), st.integers(1, 9))),
        fields={field: draw(spec) for field in FIELDS},
    )


def _action(draw: st.DrawFn, name: str) -> Action:
    return Action(
        name=name,
        class_="read" if name == "READ" else "write",
        fields=draw(_some(FIELDS)),
        domain=draw(st.sampled_from([None, "CONTENT_BODY", "null"])),
        reversible=draw(st.booleans()),
        sequence=draw(st.sampled_from([None, "line"])),
    )


def _principal(draw: st.DrawFn, name: str) -> Principal:
    return Principal(
        id=name,
        display_name=draw(st.one_of(st.none(), _strings.filter(bool))),
        trust=draw(st.integers(-1, 4)),
        disabled=draw(st.booleans()),
        minimum_epoch=draw(st.integers(0, 2)),
        attributes=dict(sorted(draw(_attributes).items())),
        identities=draw(st.sampled_from([(), (f"key:{name.partition(':')[2]}",)])) if name.isascii() else (),
    )


def _point(draw: st.DrawFn, name: str) -> EnforcementPoint:
    return EnforcementPoint(
        id=name,
        speaks_for=draw(_some(("human:*", "instance:i0", "*:*"))),
        trusted=draw(_some(("risk", "action.soft"))),
        visibility=draw(st.sampled_from(["full", "codes"])),
        loopback=draw(st.booleans()),
    )


def _edge(draw: st.DrawFn, epochs: Epochs, edge: EdgeType, from_: str, to: str, **members: Any) -> Edge:
    begin, end = draw(_windows())
    own = draw(st.booleans())
    edge_id = members.pop("edge_id", None) or (edge_id_of(edge, from_, to) if own else f"e-{edge}-{from_}-{to}")
    return Edge(
        edge_id=edge_id,
        version=draw(st.integers(1, 3)),
        edge=edge,
        from_=from_,
        to=to,
        valid_from=begin,
        valid_until=end,
        epoch=draw(st.integers(0, epochs.authority)),
        issuer=ROOT,
        **members,
    )


def _structure(draw: st.DrawFn, epochs: Epochs) -> list[Edge]:
    edges: dict[tuple[EdgeType, str, str], Edge] = {}

    def join(kind: EdgeType, from_: str, to: str, **members: Any) -> None:
        if draw(st.booleans()):
            edges[kind, from_, to] = _edge(draw, epochs, kind, from_, to, **members)

    for instance in INSTANCES:
        join(EdgeType.ACTS_AS, instance, draw(st.sampled_from(ROLES)))
        join(EdgeType.MEMBER_OF, instance, ROOT)
        join(EdgeType.REPORTS_TO, instance, draw(st.sampled_from(OWNERS)))
    for index, key in enumerate(RESOURCES[1:], start=1):
        join(EdgeType.PART_OF, key, RESOURCES[draw(st.integers(0, index - 1))])
    domains = draw(st.sampled_from([None, ("PERMISSIONS",)]))
    join(EdgeType.AFFECTS, RESOURCES[0], RESOURCES[2], count=draw(st.integers(1, 9)), domains=domains)
    join(EdgeType.MUST_COORDINATE_WITH, RESOURCES[1], RESOURCES[0])
    return list(edges.values())


def _owners(draw: st.DrawFn, epochs: Epochs) -> list[Edge]:
    """Give each field at most one owner over everything, so that no two meet over PART_OF either."""
    edges: list[Edge] = []
    for field in FIELDS:
        owner, kind = draw(st.sampled_from([None, *OWNERS])), draw(st.sampled_from(TYPES))
        if owner is not None:
            members = {"scope": Scope(fields=(field,)), "ownership_epoch": draw(st.integers(1, 3))}
            except_ = draw(st.sampled_from([(), (f"{kind}:a",)]))
            edge_id = f"own-{field}"
            edges.append(_edge(draw, epochs, EdgeType.OWNS, owner, kind, edge_id=edge_id, except_=except_, **members))
    return edges


def _grants(draw: st.DrawFn, epochs: Epochs, edges: list[Edge]) -> list[Edge]:
    graph = WorldGraph(edges)
    found: list[Edge] = []
    for number in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from([EdgeType.MAY_READ, EdgeType.MAY_WRITE, EdgeType.MAY_RECONCILE]))
        to = draw(st.sampled_from(["t0", "t0:*", "t1:1024", "remit:graph"]))
        grant = _edge(draw, epochs, kind, draw(st.sampled_from(ROLES)), to, edge_id=f"g-{number}", scope=_scope(draw))
        usual = rests_on(grant, graph.owners_over(grant.to))
        found.append(replace(grant, rests_on=draw(st.sampled_from([usual, (("gone", 1),)]))))
    return found


def _scope(draw: st.DrawFn) -> Scope:
    resources = draw(st.sampled_from([None, ((),), (("t0:*",),), (("t0:a", "t1:1024"),), (("t0",), ("t1",))]))
    return Scope(
        actions=draw(st.one_of(st.none(), _some(ACTIONS))),
        resources=resources,
        fields=draw(st.one_of(st.none(), _some(FIELDS))),
        where=tuple(sorted(draw(_where).items())),
        conditions=draw(_conditions),
    )


def _rights(draw: st.DrawFn, epochs: Epochs) -> list[Edge]:
    kinds = [each for each in (EdgeType.MAY_PREEMPT, EdgeType.MAY_REVOKE) if draw(st.booleans())]
    return [_edge(draw, epochs, each, ROLES[0], ROLES[1], edge_id=f"r-{each}", scope=_scope(draw)) for each in kinds]


def _delegations(draw: st.DrawFn, epochs: Epochs, edges: list[Edge]) -> list[Edge]:
    """Hand one ownership down: a right, a delegation under it, and one below that."""
    owns = [
        each for each in edges if each.edge is EdgeType.OWNS and each.valid_from is None and each.valid_until is None
    ]
    if not owns or not draw(st.booleans()):
        return []
    top = draw(st.sampled_from(owns))
    scope = Scope(fields=top.scope.fields, resources=((f"{top.to}:b",),), conditions=draw(_conditions))
    depth = draw(st.integers(2, 5))
    right = _edge(
        draw, epochs, EdgeType.MAY_DELEGATE, top.from_, ROLES[0], edge_id="right", scope=scope, max_depth=depth
    )
    first = _below(draw, right, ROLES[0], "d-1", depth - 1)
    second = _below(draw, first, INSTANCES[0], "d-2", draw(st.integers(0, depth - 2)))
    third = replace(second, from_=ROLES[0], issuer=ROLES[0])
    return [right, first, third]


def _below(draw: st.DrawFn, above: Edge, to: str, edge_id: str, depth: int) -> Edge:
    narrowed = replace(above.scope, actions=draw(st.sampled_from([None, ("WRITE",)])))
    return replace(
        above,
        edge_id=edge_id,
        edge=EdgeType.DELEGATES,
        version=draw(st.integers(1, 3)),
        to=to,
        scope=narrowed.filled_from(above.scope, {}),
        max_depth=depth,
        issuer=above.from_,
        under=above.position,
    )
