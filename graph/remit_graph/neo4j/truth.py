"""What the log says of single elements of the graph: the side that is right when the two differ."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from remit_graph.model.change import Change
from remit_graph.neo4j.edges import UNJOINED, begun
from remit_graph.neo4j.nouns import named_by
from remit_graph.neo4j.place import revision_of
from remit_graph.neo4j.plan import Step, plan
from remit_graph.neo4j.properties import MODULUS, digest_of_end

if TYPE_CHECKING:
    from collections.abc import Collection

    from remit_graph.neo4j.database import Database
    from remit_graph.neo4j.properties import Properties


async def edge_row(database: Database, node: Properties) -> list[Any] | None:
    """Return type and properties of the relationship of an edge's node, or None where the log has no such edge."""
    for found in await database.read("beginnings", revision=node["revision_from"]):
        record = json.loads(found["body"])["body"]
        if (record.get("edge_id"), record.get("version")) == (node["edge_id"], node["version"]):
            edge = begun(record, node["revision_from"])
            return None if edge.label == UNJOINED else _with_end(edge.properties, node)
    return None


def _with_end(properties: Properties, node: Properties) -> list[Any]:
    """Add what the node says of the end; the node's digest vouches for it."""
    ended = {name: value for name, value in node.items() if name == "revision_to" or name.startswith("ended_")}
    digest = (properties["row_digest"] + digest_of_end(ended)) % MODULUS
    kind = f"WAS_{properties['edge']}" if ended else properties["edge"]
    return [kind, {**properties, **ended, "row_digest": digest}]


async def entity_rows(database: Database, noun: str, refs: Collection[str]) -> list[list[Any]]:
    """Return label and properties of the current nodes of `refs`, which are all of one noun."""
    last: dict[str, Step] = {}
    kinds = [f"{noun}.{verb}" for verb in ("put", "set", "activate", "end")]
    async for found in database.stream("changes_of_kinds", kinds=kinds):
        document: dict[str, Any] = json.loads(found["body"])
        thing = named_by(noun, document["body"])
        if thing is None or thing.ref not in refs:
            continue
        if document["kind"].endswith(".end"):
            last.pop(thing.ref, None)
        else:
            change = Change(document["kind"], document["body"])
            last[thing.ref] = Step(revision_of(found["place"]), document["at"], change)
    puts = [put for wave in plan(last.values()) for put in wave.entity_puts.values()]
    return [[put.thing.label, put.properties] for put in puts]
