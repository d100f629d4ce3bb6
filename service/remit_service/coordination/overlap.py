"""Leases in the vicinity of an operation, as the policy input shows them.

One row for each domain of each part of a lease that meets the operation; of more than `MAX_EXAMPLES` rows, one of each
kind that the policy judges alike, and a mark where even those are too many (rules.md 12).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.view.ground import ground_of
from remit_graph.view.members import reached
from remit_service.coordination.bounds import MAX_EXAMPLES
from remit_service.coordination.compare import Meeting, meetings
from remit_service.coordination.holding import AFFECTS, Holding, holding_of
from remit_service.coordination.priority import preempting, priority_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from remit_graph.model.edge import Edge
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordination.tables import Tables
    from remit_service.coordination.values import Record

Row = dict[str, Any]


def leases_near(view: View, held: Holding, at: Instant) -> list[Record]:
    """Return the live leases of others that lie at, above or below the keys of an operation, by id."""
    index, leases = view.coordination.leases, view.records.get("lease", {})
    if not index:
        return []
    ids = {each for entry in held.keys for each in index.near(ground_of(view, entry["key"], at).keys)}
    near = (leases[each] for each in sorted(ids))
    return [lease for lease in near if lease["expires_at"] > at and lease["holder"] != held.holder]


def overlapping(view: View, tables: Tables, mine: Holding, at: Instant) -> tuple[list[Row], bool]:
    """Return the rows of the policy input, and whether some kinds of them had to be left out."""
    rows: list[Row] = []
    roles: list[str] | None = None
    for lease in leases_near(view, mine, at):
        met = list(meetings(view, mine, holding_of(lease), at))
        if not met:
            continue
        roles = roles if roles is not None else [mine.holder, *reached(view, mine.holder, at, writes=True)]
        holder = _holder(view, tables, lease, roles, at)
        rows.extend(row for meeting in met for row in _rows(view, lease, meeting, holder, at))
    if len(rows) <= MAX_EXAMPLES:
        return rows, False
    kinds: dict[str, Row] = {}
    for row in rows:
        kinds.setdefault(_kind(row), row)
    examples = list(kinds.values())
    return examples[:MAX_EXAMPLES], len(examples) > MAX_EXAMPLES


def _rows(view: View, lease: Record, meeting: Meeting, holder: Row, at: Instant) -> Iterator[Row]:
    common = {
        "lease_id": lease["lease_id"],
        "holder": lease["holder"],
        "key": meeting.theirs["key"],
        "relation": meeting.relation,
        "mode": lease["mode"],
        "concurrency": lease["concurrency"],
        "set_operations": lease.get("set_operations"),
        "ancestors": list(ground_of(view, meeting.theirs["key"], at).keys),
        **holder,
    }
    if meeting.mine["relation"] == AFFECTS:
        # Seen from an impact, the domains of the impact are compared and not those of the fields (rules.md 8).
        common["request_domains"] = list(meeting.mine["parts"][0]["domains"])
    for part in meeting.theirs["parts"]:
        for domain in part["domains"] or (None,):
            yield {**common, "domain": domain, "fields": list(part["fields"]), "merge": part["merge"]}


def _holder(view: View, tables: Tables, lease: Record, roles: Sequence[str], at: Instant) -> Row:
    """What tells whether the lease could be taken over: the holder's priority, and the edges that allow it."""
    holder = lease["holder"]
    targets = {holder, *reached(view, holder, at, writes=True)}
    edges = [_edge(view, edge) for edge in preempting(view, roles, at) if edge.to in targets]
    return {
        "priority": priority_of(view, tables, holder, lease["resource_key"], at, proof=lease["proof"]),
        "preemptible": bool(edges),
        "preempt_edges": edges,
    }


def _edge(view: View, edge: Edge) -> Row:
    return {
        "edge_id": edge.edge_id,
        "version": edge.version,
        "from": edge.from_,
        "to": edge.to,
        "scope": edge.scope.record(),
        "valid_from": edge.valid_from,
        "valid_until": edge.valid_until,
        "epoch": edge.epoch,
        "minimum_epoch": view.minimum_epoch(edge, writes=True),
        "disabled": False,
    }


def _kind(row: Row) -> str:
    """What the policy judges a row by, whoever holds it."""
    names = ("domain", "fields", "merge", "relation", "mode", "concurrency", "set_operations", "request_domains")
    return repr([row.get(name) for name in names])
