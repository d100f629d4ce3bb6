"""The labels, constraints and indexes of a ledger's database, declared in neomodel (rules.md 11, reference/neo4j.md).

The classes are the declaration: `install` makes what they ask for, `missing` names what is not there. They are not
used to write: appends need locks, clocks and compare-and-set, which are in `queries/`.

Neo4j Community has uniqueness constraints and indexes, and none that demands a property. So presence is Remit's matter:
the ledger writes whole records, and the drift check finds what somebody else made without them.
"""

from __future__ import annotations

import asyncio
import random
from io import StringIO
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from neo4j.exceptions import TransientError
from neomodel import (
    AsyncRelationshipTo,
    AsyncStructuredNode,
    AsyncStructuredRel,
    BooleanProperty,
    IntegerProperty,
    StringProperty,
    adb,
    get_config,
)

from remit_graph.neo4j.attempt import MAX_REPEATS
from remit_graph.neo4j.faults import translated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from remit_graph.neo4j.database import Database


class Head(AsyncStructuredNode):
    """Where the ledger stands; every append locks it first."""

    realm = StringProperty(unique_index=True)


class Change(AsyncStructuredNode):
    """A row of the ledger; `place` orders all of them."""

    place = IntegerProperty(unique_index=True)
    revision = IntegerProperty(index=True)
    kind = StringProperty(index=True)


class Op(AsyncStructuredNode):
    """What a request id was answered with."""

    request_id = StringProperty(unique_index=True)
    keep_until = IntegerProperty(index=True)


class Kept(AsyncStructuredNode):
    """A row that was cut off, kept since no other that was cut off says what its thing or edge is."""

    ref = StringProperty(index=True)
    revision = IntegerProperty(index=True)
    kind = StringProperty(index=True)


class Replica(AsyncStructuredNode):
    """A decision point that uses the ledger."""

    name = StringProperty(unique_index=True)


class Part(AsyncStructuredNode):
    """How many elements of one kind the graph must have, and the sum of their digests."""

    name = StringProperty(unique_index=True)


class Checkpoint(AsyncStructuredNode):
    """An image of the whole state at one revision, kept in parts."""

    revision = IntegerProperty(unique_index=True)


class CheckpointPart(AsyncStructuredNode):
    """A part of an image; `name` is the image's digest with the number of the part."""

    name = StringProperty(unique_index=True)
    digest = StringProperty(index=True)


class Entity(AsyncStructuredNode):
    """Whatever the realm holds now, by `<noun>/<id>`."""

    ref = StringProperty(unique_index=True)


class Ended(AsyncStructuredNode):
    """Whatever the realm held once; a name may have ended several times."""

    was_ref = StringProperty(index=True)


class Edge(AsyncStructuredNode):
    """A version of an edge, for evidence to point at; `live` is the edge id while the version is current."""

    position = StringProperty(unique_index=True)
    live = StringProperty(unique_index=True)
    edge_id = StringProperty(index=True)


class Current(AsyncStructuredRel):
    """A current edge of its type."""

    edge_id = StringProperty(unique_index=True)


class Pass(AsyncStructuredRel):
    """What an upper principal holds passes to a lower one: along a delegation, or against a membership."""

    position = StringProperty(unique_index=True)


class Past(AsyncStructuredRel):
    """An ended version of an edge."""

    position = StringProperty(unique_index=True)
    edge_id = StringProperty(index=True)


class Selector(AsyncStructuredNode):
    """What a root grant is for: a resource key, or one with `*` for any segment."""

    key = StringProperty(unique_index=True)
    wildcard = BooleanProperty(index=True)


class Resource(AsyncStructuredNode):
    """What is acted on."""

    key = StringProperty(unique_index=True)
    affects = AsyncRelationshipTo("Resource", "AFFECTS", model=Current)
    must_coordinate_with = AsyncRelationshipTo("Resource", "MUST_COORDINATE_WITH", model=Current)
    part_of = AsyncRelationshipTo("Resource", "PART_OF", model=Current)
    was_affects = AsyncRelationshipTo("Resource", "WAS_AFFECTS", model=Past)
    was_must_coordinate_with = AsyncRelationshipTo("Resource", "WAS_MUST_COORDINATE_WITH", model=Past)
    was_part_of = AsyncRelationshipTo("Resource", "WAS_PART_OF", model=Past)


class Principal(AsyncStructuredNode):
    """Who can hold authority."""

    identifier = StringProperty(unique_index=True, db_property="id")
    kind = StringProperty(index=True)
    acts_as = AsyncRelationshipTo("Principal", "ACTS_AS", model=Current)
    delegates = AsyncRelationshipTo("Principal", "DELEGATES", model=Current)
    may_approve = AsyncRelationshipTo("Selector", "MAY_APPROVE", model=Current)
    may_delegate = AsyncRelationshipTo("Principal", "MAY_DELEGATE", model=Current)
    may_preempt = AsyncRelationshipTo("Principal", "MAY_PREEMPT", model=Current)
    may_read = AsyncRelationshipTo("Selector", "MAY_READ", model=Current)
    may_reconcile = AsyncRelationshipTo("Selector", "MAY_RECONCILE", model=Current)
    may_revoke = AsyncRelationshipTo("Principal", "MAY_REVOKE", model=Current)
    may_write = AsyncRelationshipTo("Selector", "MAY_WRITE", model=Current)
    member_of = AsyncRelationshipTo("Principal", "MEMBER_OF", model=Current)
    owns = AsyncRelationshipTo("Selector", "OWNS", model=Current)
    passes_to = AsyncRelationshipTo("Principal", "PASSES_TO", model=Pass)
    reports_to = AsyncRelationshipTo("Principal", "REPORTS_TO", model=Current)
    was_acts_as = AsyncRelationshipTo("Principal", "WAS_ACTS_AS", model=Past)
    was_delegates = AsyncRelationshipTo("Principal", "WAS_DELEGATES", model=Past)
    was_may_approve = AsyncRelationshipTo("Selector", "WAS_MAY_APPROVE", model=Past)
    was_may_delegate = AsyncRelationshipTo("Principal", "WAS_MAY_DELEGATE", model=Past)
    was_may_preempt = AsyncRelationshipTo("Principal", "WAS_MAY_PREEMPT", model=Past)
    was_may_read = AsyncRelationshipTo("Selector", "WAS_MAY_READ", model=Past)
    was_may_reconcile = AsyncRelationshipTo("Selector", "WAS_MAY_RECONCILE", model=Past)
    was_may_revoke = AsyncRelationshipTo("Principal", "WAS_MAY_REVOKE", model=Past)
    was_may_write = AsyncRelationshipTo("Selector", "WAS_MAY_WRITE", model=Past)
    was_member_of = AsyncRelationshipTo("Principal", "WAS_MEMBER_OF", model=Past)
    was_owns = AsyncRelationshipTo("Selector", "WAS_OWNS", model=Past)
    was_reports_to = AsyncRelationshipTo("Principal", "WAS_REPORTS_TO", model=Past)


class Lease(AsyncStructuredNode):
    """Temporary control of a coordination key."""

    identifier = StringProperty(index=True, db_property="id")


class Operation(AsyncStructuredNode):
    """One coordinated write."""

    identifier = StringProperty(index=True, db_property="id")


class Receipt(AsyncStructuredNode):
    """The evidence of an operation."""

    identifier = StringProperty(index=True, db_property="id")


class Capability(AsyncStructuredNode):
    """Authority for one operation, bound to its chain."""

    identifier = StringProperty(index=True, db_property="id")


class Incident(AsyncStructuredNode):
    """What makes preemption lawful."""

    identifier = StringProperty(index=True, db_property="id")


REPEAT_WITHIN_SECONDS: Final = 0.5
"""How long at most whoever was given up waits, so that the other, which makes the same, comes to its end."""

DECLARED: Final[tuple[type[AsyncStructuredNode], ...]] = (
    Head, Change, Op, Kept, Replica, Part, Checkpoint, CheckpointPart, Entity, Ended, Edge, Selector, Resource,
    Principal, Lease, Operation, Receipt, Capability, Incident,
)  # fmt: skip


class Rule(NamedTuple):
    """A constraint or index: what `kind` of it is on which property of which label or type."""

    kind: str
    on: str
    property: str

    def __str__(self) -> str:
        """Return it as a sentence names it."""
        return f"the {self.kind} on {self.on}({self.property})"


UNIQUE: Final = "uniqueness constraint"
INDEX: Final = "index"


def declared() -> list[Rule]:
    """Return every constraint and index that the classes ask for."""
    return sorted({rule for each in DECLARED for rule in _rules(each)})


def _rules(node: type[AsyncStructuredNode]) -> Iterator[Rule]:
    yield from _of_properties(node.__label__, node)
    for relationship in node.defined_properties(aliases=False, rels=True, properties=False).values():
        definition = relationship.definition
        yield from _of_properties(definition["relation_type"], definition["model"])


def _of_properties(name: str, owner: Any) -> Iterator[Rule]:
    for member, each in owner.defined_properties(aliases=False, rels=False).items():
        if each.unique_index:
            yield Rule(UNIQUE, name, each.get_db_property_name(member))
        elif each.index:
            yield Rule(INDEX, name, each.get_db_property_name(member))


async def missing(database: Database) -> list[Rule]:
    """Return what the classes ask for and the database does not have, or cannot use."""
    constraints = await database.alone("constraints")
    indexes = await database.alone("indexes")
    there = {Rule(UNIQUE, *each) for each in _single(constraints)}
    there |= {Rule(INDEX, *each) for each in _single(row for row in indexes if row["state"] == "ONLINE")}
    return [rule for rule in declared() if rule not in there]


def _single(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for row in rows:
        if len(row["names"] or ()) == 1 and len(row["properties"] or ()) == 1:
            yield row["names"][0], row["properties"][0]


_INSTALLING: Final = asyncio.Lock()


async def _install_one(declared: type[AsyncStructuredNode]) -> None:
    """Make what is declared; several processes may do so at once, and the database then gives one of them up."""
    for repeat in range(MAX_REPEATS + 1):
        try:
            # What it prints is that some of them are there already.
            await adb.install_labels(declared, stdout=StringIO())
        except TransientError:
            if repeat == MAX_REPEATS:
                raise
            await asyncio.sleep(random.random() * REPEAT_WITHIN_SECONDS)  # noqa: S311 - spread, not secret
        else:
            return


async def install(database: Database) -> list[Rule]:
    """Make every constraint and index that is missing, wait until all can be used, and return what was made.

    neomodel keeps one driver for the process. It is lent ours for the time and given its own back; it closes neither.
    """
    wanted = await missing(database)
    names = {rule.on for rule in wanted}
    async with _INSTALLING:
        driver, settings = adb.driver, get_config()
        name = settings.database_name
        try:
            settings.database_name = database.options.database
            await adb.set_connection(driver=database.driver)
            for each in DECLARED:
                if not names.isdisjoint(rule.on for rule in _rules(each)):
                    with translated(database.url):
                        await _install_one(each)
        finally:
            adb.driver, settings.database_name = driver, name
    await database.alone("wait_for_indexes")
    return wanted
