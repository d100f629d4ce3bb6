"""Versions of edges: how one begins, what it ends, and what that does to the delegations that rest on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import Change
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.instant import format_instant
from remit_graph.view.fall import Fall, fall
from remit_service.slices import at_once
from remit_service.writer.command import Accepted, Refused

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.policy import Policy

ENDED_A_ROW: Final = 1_000
"""Edges in one `edges.end`, so that a row stays near 64 KiB (rules.md 11)."""

REVOKED: Final = "delegation_revoked"
"""What decisions say of an edge that was ended, until near misses forget it."""


def begin(policy: Policy, view: View, at: Instant, edge: Edge) -> Accepted:
    """Begin a version of an edge, where its law and the policy let it: the first, or the next one.

    The next one ends the version before it in the same revision, and whatever rested on that is settled: it stays where
    it still fits, moves, is narrowed, or ends.
    """
    before = view.edges.get(edge.edge_id)
    if before is None:
        return Accepted(changes=(Change("edge.begin", edge.record()),), result=shown(edge))
    over = before.valid_until is not None and before.valid_until <= at
    ends = [*ends_of([before], "expired" if over else "amended")]
    found = fall(view, [], at, policy.scales, amended=[edge])
    changes = (*ends, Change("edge.begin", edge.record()), *settled(view, found))
    return Accepted(changes=changes, result={**shown(edge), **told(found)})


def next_version(view: View, edge_id: str) -> int:
    """Return the version that an edge of this id gets when it is made now."""
    ended = view.history.get(edge_id, ())
    current = view.edges.get(edge_id)
    return 1 + max([each.version for each in ended] + ([current.version] if current else []), default=0)


def lives_on(view: View, edge: Edge, at: Instant) -> Refused | None:
    """Refuse to make what exists already; an id whose version has run out may be used again (F017)."""
    current = view.edges.get(edge.edge_id)
    if current is None or (current.valid_until is not None and current.valid_until <= at):
        return None
    message = f"`{edge.edge_id}` exists already; amend it, or choose another id"
    return Refused(code="already_exists", message=message, facts={"id": edge.edge_id})


def settled(view: View, found: Fall) -> list[Change]:
    """Return the changes that a fall brings about beside what was named."""
    return at_once(settling(view, found))


def settling(view: View, found: Fall) -> Generator[None, None, list[Change]]:
    """Return the same in steps: a fall may be large."""
    changes: list[Change] = []
    for some in _rows(sorted(found.ended)):
        changes += ends_of([found.ended[each] for each in some], "revoked")
        yield
    begun = sorted({*found.moved, *found.narrowed})
    for some in _rows(begun):
        changes += ends_of([view.edges[each] for each in some], "amended")
        yield
    for some in _rows(begun):
        versions = (found.narrowed.get(each) or found.moved[each] for each in some)
        changes += [Change("edge.begin", each.record()) for each in versions]
        yield
    return changes


def _rows(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + ENDED_A_ROW] for start in range(0, len(ids), ENDED_A_ROW))


def ends_of(edges: Iterable[Edge], cause: str) -> list[Change]:
    """Return the changes that end edges, at most a thousand a row."""
    pairs = [[each.edge_id, each.version] for each in edges]
    more = {"code": REVOKED} if cause in ("revoked", "removed") else {}
    return [
        Change("edges.end", {"edges": pairs[start : start + ENDED_A_ROW], "cause": cause, **more})
        for start in range(0, len(pairs), ENDED_A_ROW)
    ]


def told(found: Fall) -> dict[str, Any]:
    """Return what an answer says of a fall: members are left out where nothing came of it."""
    answer: dict[str, Any] = {}
    if found.ended:
        answer["ended"] = {"delegations": sorted(found.ended)}
    if found.moved:
        answer["re_anchored"] = [moved(found.moved[each]) for each in sorted(found.moved)]
    if found.narrowed:
        answer["narrowed"] = [moved(found.narrowed[each]) for each in sorted(found.narrowed)]
    return answer


def moved(edge: Edge) -> dict[str, Any]:
    """Return how an answer names a delegation that stays otherwise than it was."""
    return {"delegation_id": edge.edge_id, "version": edge.version, "under": edge.under}


def shown(edge: Edge) -> Mapping[str, Any]:
    """Return an edge as answers show it: with instants as text, and by the name its kind goes by."""
    record = edge.record()
    record["scope"] = edge.scope.record()
    for name in ("valid_from", "valid_until"):
        if name in record:
            record[name] = format_instant(record[name])
    if edge.edge is EdgeType.DELEGATES:
        record |= {"delegation_id": edge.edge_id, "delegator": edge.from_, "delegate": edge.to}
    return record
