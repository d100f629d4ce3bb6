"""Edges as the entries of a world file: what the loader would fill in by itself is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.laws.owns import rests_on
from remit_graph.model.edge import GRANT_CLASS, Edge, EdgeType
from remit_graph.model.instant import format_instant
from remit_graph.world.graph import WorldGraph
from remit_graph.world.names import edge_id_of

if TYPE_CHECKING:
    from remit_graph.world.value import World

Record = dict[str, Any]


class Entries:
    """Writes edges of one world."""

    def __init__(self, world: World) -> None:
        """Index what defaults depend on."""
        self._world = world
        self._graph = WorldGraph(world.edges.values())

    def link(self, edge: Edge) -> str | Record:
        """Return the short form of a membership, reporting line or part: the id alone where that says everything."""
        record = self.entry(edge)
        ends = {"from", "to", "edge"}
        return edge.to if set(record) <= ends else {"to": edge.to, **{k: v for k, v in record.items() if k not in ends}}

    def entry(self, edge: Edge) -> Record:
        """Return the entry of an edge in its section, members in the order of the grammar."""
        record: Record = {}
        if edge.edge is EdgeType.DELEGATES:
            record["delegation_id"] = edge.edge_id
        elif edge.edge_id != edge_id_of(edge.edge, edge.from_, edge.to):
            record["edge_id"] = edge.edge_id
        if edge.edge in GRANT_CLASS or edge.edge in (EdgeType.ACTS_AS, EdgeType.MEMBER_OF):
            record["edge"] = str(edge.edge)
        record |= {"from": edge.from_, "to": edge.to}
        record |= self._scope(edge)
        record |= self._particulars(edge)
        return record | self._stamps(edge)

    def _scope(self, edge: Edge) -> Record:
        scope = edge.scope.record()
        record: Record = {}
        short = {EdgeType.OWNS: "fields", EdgeType.MAY_PREEMPT: "conditions"}.get(edge.edge)
        if short is not None and short in scope:
            record[short] = scope.pop(short)
        if edge.except_:
            record["except"] = list(edge.except_)
        if scope:
            record["scope"] = scope
        return record

    def _particulars(self, edge: Edge) -> Record:
        record: Record = {}
        if edge.under is not None:
            parent = self._graph.parent(edge)
            current = parent is not None and parent.position == edge.under
            record["under"] = edge.under.rpartition("@")[0] if current else edge.under
        for name in ("max_depth", "count"):
            if getattr(edge, name) is not None:
                record[name] = getattr(edge, name)
        if edge.domains is not None:
            record["domains"] = list(edge.domains)
        if edge.ownership_epoch not in (None, 1):
            record["ownership_epoch"] = edge.ownership_epoch
        if edge.edge in GRANT_CLASS and edge.rests_on != self.usual_rests_on(edge):
            record["rests_on"] = [{"edge_id": each, "ownership_epoch": epoch} for each, epoch in edge.rests_on]
        return record

    def usual_rests_on(self, grant: Edge) -> tuple[tuple[str, int], ...]:
        """Return what a grant would rest on were it made now."""
        return rests_on(grant, self._graph.owners_over(grant.to))

    def _stamps(self, edge: Edge) -> Record:
        record: Record = {}
        roots = self._world.realm.root
        usual = edge.from_ if edge.edge is EdgeType.DELEGATES else roots[0] if roots else ""
        if edge.issuer != usual:
            record["issuer"] = edge.issuer
        for name in ("valid_from", "valid_until"):
            if getattr(edge, name) is not None:
                record[name] = format_instant(getattr(edge, name))
        if edge.epoch != self._world.epochs.authority:
            record["epoch"] = edge.epoch
        if edge.version != 1:
            record["version"] = edge.version
        return record
