"""What the log says of single elements of the graph: the side that is right when the two differ."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from remit_graph.model.change import Change
from remit_graph.neo4j.edges import begun
from remit_graph.neo4j.nouns import named_by
from remit_graph.neo4j.place import revision_of
from remit_graph.neo4j.plan import Step, plan
from remit_graph.neo4j.properties import MODULUS, digest_of_end

if TYPE_CHECKING:
    from collections.abc import Collection

    from remit_graph.neo4j.database import Database
    from remit_graph.neo4j.plan import Row


async def edge_row(database: Database, node: Row) -> Row | None:
    """Return the parameters that make the relationship of an edge's node, or None where the log has no such edge."""
    for found in await database.read("beginnings", revision=node["revision_from"]):
        record = json.loads(found["body"])["body"]
        if (record.get("edge_id"), record.get("version")) == (node["edge_id"], node["version"]):
            row = begun(record, node["revision_from"])
            return _ended(row, node) if "edge" in row else None
    return None


def _ended(row: Row, node: Row) -> Row:
    """Return the row with what the node says of the end; the node's digest vouches for it."""
    ended = {name: value for name, value in node.items() if name == "revision_to" or name.startswith("ended_")}
    properties = {**row["properties"], **ended}
    properties["row_digest"] = (row["properties"]["row_digest"] + digest_of_end(ended)) % MODULUS
    return {**row, "properties": properties, "type": f"WAS_{row['edge']}" if ended else row["edge"]}


async def entity_rows(database: Database, noun: str, refs: Collection[str]) -> list[Row]:
    """Return the parameters that make the current nodes of `refs`, which are all of one noun."""
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
    return [row for wave in plan(last.values()) for row in wave.entity_puts.values()]
