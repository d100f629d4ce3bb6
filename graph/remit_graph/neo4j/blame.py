"""Which command of a batch the database refused, read back after the fact.

The server's error names no constraint that a program could rely on, so the rows that could have been in the way are
looked for instead (reference: "tell constraints apart by reading back the row you expected").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.errors import ConstraintBroken, RequestReused
from remit_graph.neo4j.edges import ends_of, pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from remit_graph.errors import LedgerError
    from remit_graph.model.change import Change, Entry
    from remit_graph.neo4j.database import Database
    from remit_graph.neo4j.nouns import Named


async def why_refused(database: Database, batch: Sequence[Entry], error: ConstraintBroken) -> LedgerError:
    """Return what stood in the way of `batch`: a request id, an edge, or something beside the ledger."""
    requests = [command.request_id for command in batch if command.request_id is not None]
    there = {row["request_id"] for row in await database.read("results_there", newest=True, request_ids=requests)}
    edges = await _edges_there(database, batch)
    for index, command in enumerate(batch):
        if command.request_id in there:
            return RequestReused(
                f"request `{command.request_id}` was appended before",
                advice="ask for its result; another request needs another id",
                request_id=command.request_id,
                index=index,
            )
        there.add(str(command.request_id))
        if clash := edges.first_clash(command.changes):
            edge_id, version = clash
            return ConstraintBroken(
                f"edge `{edge_id}` version {version} was made before, or another version of it is current",
                index=index,
                edge_id=edge_id,
                version=version,
            )
    return await _foreign(database, batch) or error


class _Edges:
    """The edges that stand in the way, followed through the batch."""

    def __init__(self, made: set[tuple[str, int]], current: dict[str, int]) -> None:
        self._made = made
        self._current = current

    def first_clash(self, changes: Sequence[Change]) -> tuple[str, int] | None:
        """Apply `changes` and return the first edge that cannot begin."""
        for change in changes:
            if change.kind == "edges.end":
                for edge_id, version in pairs(change.body.get("edges", ())):
                    if self._current.get(edge_id) == version:
                        del self._current[edge_id]
            elif change.kind == "edge.begin":
                edge_id, version = change.body["edge_id"], change.body["version"]
                if (edge_id, version) in self._made or edge_id in self._current:
                    return edge_id, version
                self._made.add((edge_id, version))
                self._current[edge_id] = version
        return None


async def _edges_there(database: Database, batch: Sequence[Entry]) -> _Edges:
    begins = [change.body for change in _changes(batch) if change.kind == "edge.begin"]
    rows = await database.read(
        "edges_there",
        newest=True,
        positions=[f"{body['edge_id']}@{body['version']}" for body in begins],
        edge_ids=[body["edge_id"] for body in begins],
    )
    made = {(row["edge_id"], row["version"]) for row in rows}
    return _Edges(made, {row["edge_id"]: row["version"] for row in rows if row["current"]})


async def _foreign(database: Database, batch: Sequence[Entry]) -> ConstraintBroken | None:
    """Return the error for a batch that meets something written past the ledger."""
    named = [list(_names(command)) for command in batch]
    everything = [each for names in named for each in names]
    rows = await database.read(
        "foreign_named",
        newest=True,
        **{kind: sorted({name for of, name in everything if of == kind}) for kind in _KINDS},
    )
    foreign = {row["name"] for row in rows}
    for index, names in enumerate(named):
        for _, name in names:
            if name in foreign:
                return ConstraintBroken(
                    f"`{name}` was put into the database past the ledger",
                    advice="run `remit graph check`, and take out what it names",
                    index=index,
                    name=name,
                )
    return None


_KINDS = ("edge_ids", "principals", "resources", "selectors")
_KIND_OF_LABEL = {"Principal": "principals", "Resource": "resources", "Selector": "selectors"}


def _names(command: Entry) -> Iterator[tuple[str, str]]:
    for change in command.changes:
        if change.kind == "edge.begin":
            yield "edge_ids", change.body["edge_id"]
            ends: tuple[Named, ...] = ends_of(change.body) or ()
            yield from ((_KIND_OF_LABEL[each.label], _name(each)) for each in ends)
        elif change.kind in ("principal.put", "resource.put"):
            member = "id" if change.kind == "principal.put" else "key"
            yield _KIND_OF_LABEL[change.kind.partition(".")[0].capitalize()], str(change.body.get(member))


def _name(node: Named) -> str:
    return node.ref.partition("/")[2]


def _changes(batch: Sequence[Entry]) -> Iterator[Any]:
    return (change for command in batch for change in command.changes)
