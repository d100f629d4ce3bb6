"""The moment of a transfer: the old OWNS ends, the new one begins, and nothing of the old owner's passes any more.

Where only a part moves, what stays with the old owner keeps its ownership epoch, so that grants on it stay good: other
fields stay in the edge, and other resources stay in it with the part in `except`. Where both a part of the resources
and a part of the fields move, the fields that move get an edge of their own for the resources that stay, and the grants
that rest on the old edge are stamped with it too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from remit_graph.laws.owns import fields_overlap, next_ownership_epoch
from remit_graph.model.edge import AUTHORITY, GRANT_CLASS, Edge, EdgeType
from remit_graph.model.key import contains, overlap
from remit_graph.model.scope import Scope
from remit_service.coordination.expire import freed_by
from remit_service.coordination.receipt import lose_lease
from remit_service.coordination.resting import Found, decide_again
from remit_service.coordination.settle import settle
from remit_service.coordination.states import Cause, LeaseState
from remit_service.coordination.touched import Touched

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.coordination.values import Ask, Record, Verdict
    from remit_service.coordination.work import Work


def owned_by(view: View, owner: str, resource: str, fields: Iterable[str], at: Instant) -> list[Edge] | None:
    """Return the OWNS edges by which `owner` owns all of `fields` on `resource`, or None where it does not."""
    edges: list[Edge] = []
    missing = set(fields)
    for edge in sorted(view.outgoing(EdgeType.OWNS, owner), key=lambda each: each.edge_id):
        gone = any(overlap(each, resource) for each in edge.except_)
        if not edge.is_live(at) or gone or not contains(edge.to, resource):
            continue
        mine = missing if edge.scope.fields is None else missing & set(edge.scope.fields)
        if mine:
            edges.append(edge)
            missing = missing - mine
    return None if missing else edges


def dependencies(view: View, transfer: Record) -> dict[str, list[str]]:
    """Return what hangs on what is transferred: delegations, leases, waiters, operations, coordinated resources."""
    leases = still_writing(view, transfer)
    return {
        "delegations": sorted(edge.position for edge in _delegations(view, transfer, partly=True)),
        "grants": sorted(edge.position for edge in remaining_grants(view, transfer, partly=True)),
        "leases": sorted(each["id"] for each in leases),
        "operations": sorted({each["coordination_id"] for each in leases}),
        "waiters": sorted(
            waiter["id"]
            for waiter in view.records.get("waiter", {}).values()
            if any(_touches(transfer, claim["keys"][0]) for claim in waiter["claims"])
        ),
        "coordinates": sorted(
            edge.position
            for ends in view.out[EdgeType.MUST_COORDINATE_WITH].values()
            for edge in ends.values()
            if contains(transfer["resource"], edge.from_) or contains(transfer["resource"], edge.to)
        ),
    }


def still_writing(view: View, transfer: Record) -> list[Record]:
    """Return the leases on what is transferred, by id."""
    leases = view.records.get("lease", {})
    return [leases[each] for each in sorted(leases) if _touches(transfer, leases[each]["keys"][0])]


def _touches(transfer: Record, own: Record) -> bool:
    fields = {name for part in own["parts"] for name in part["fields"]}
    return contains(transfer["resource"], own["key"]) and (not fields or bool(fields & set(transfer["fields"])))


def move_ownership(work: Work, transfer: Record) -> Generator[Ask, Verdict, dict[str, Any]]:
    """End the old ownership, begin the new one, end what rests on the old; returns the evidence of the step."""
    fields = tuple(transfer["fields"])
    old = owned_by(work.view, transfer["from_owner"], transfer["resource"], fields, work.at) or []
    delegations = _with_subtree(work.view, _delegations(work.view, transfer, partly=False))
    ended = [*old, *delegations]
    begun = [each for edge in old for each in _kept(edge, transfer, fields)]
    begun.append(_new(work, transfer, old[0], fields))
    restamped = list(_restamped(work.view, old, begun))
    ended.extend(work.view.edges[each.edge_id] for each in restamped)
    work.change("edges.end", {"edges": [[each.edge_id, each.version] for each in ended], "cause": "transferred"})
    for edge in (*begun, *restamped):
        work.change("edge.begin", edge.record())
    freed: list[str] = []
    lost: list[str] = []
    for lease in still_writing(work.view, transfer):
        if work.record("lease", lease["id"]) is not None:
            freed.extend(freed_by(work, lease))
            lose_lease(work, lease, LeaseState.REVOKED, cause=Cause.OWNERSHIP, code="lease_revoked", by=transfer["id"])
            lost.append(lease["id"])
    touched = Touched(
        positions=dict.fromkeys((each.position for each in ended), "stale_ownership_epoch"), cause=Cause.OWNERSHIP
    )
    found = Found()
    yield from decide_again(work, touched, found)
    yield from settle(work, freed)
    return {
        "ended": [each.position for each in ended],
        "begun": [each.position for each in (*begun, *restamped)],
        "leases": sorted([*lost, *found.ended.get("lease", ())]),
        "ownership_epoch": begun[-1].ownership_epoch,
    }


def _kept(edge: Edge, transfer: Record, fields: Sequence[str]) -> Iterator[Edge]:
    """Iterate what stays of an OWNS edge with the old owner, under its old ownership epoch."""
    whole = contains(transfer["resource"], edge.to)
    other = None if edge.scope.fields is None else tuple(each for each in edge.scope.fields if each not in fields)
    following = replace(edge, version=edge.version + 1)
    if edge.scope.fields is None or not other:
        if not whole:
            yield replace(following, except_=tuple(sorted({*edge.except_, transfer["resource"]})))
        return
    yield replace(following, scope=replace(edge.scope, fields=other))
    if not whole:
        yield replace(
            edge,
            edge_id=f"{edge.edge_id}.{transfer['id']}",
            version=1,
            scope=replace(edge.scope, fields=tuple(each for each in edge.scope.fields if each in fields)),
            except_=tuple(sorted({*edge.except_, transfer["resource"]})),
        )


def _new(work: Work, transfer: Record, old: Edge, fields: Sequence[str]) -> Edge:
    """The new owner's edge: issued by whoever issued the old one, a root, with the next ownership epoch."""
    edge = Edge(
        edge_id=f"own.{transfer['id']}",
        version=1,
        edge=EdgeType.OWNS,
        from_=transfer["to_owner"],
        to=transfer["resource"],
        scope=replace(Scope(where=old.scope.where), fields=tuple(sorted(fields))),
        epoch=work.view.authority_epoch,
        issuer=old.issuer,
    )
    current = work.view.out[EdgeType.OWNS].values()
    past = [each for versions in work.view.history.values() for each in versions if each.edge is EdgeType.OWNS]
    others = [*past, *(each for ends in current for each in ends.values())]
    return replace(edge, ownership_epoch=next_ownership_epoch(edge, others))


def _restamped(view: View, old: Sequence[Edge], begun: Sequence[Edge]) -> Iterator[Edge]:
    """Iterate grants that rest on an old edge of which a part got an edge of its own, stamped with that one too."""
    split = {each.edge_id.rpartition(".")[0]: each for each in begun if each.edge_id.rpartition(".")[0] in view.edges}
    for edge in old:
        part = split.get(edge.edge_id)
        if part is None:
            continue
        stamp = (edge.edge_id, edge.ownership_epoch or 1)
        for grant in sorted(_grants(view), key=lambda each: each.edge_id):
            if stamp in grant.rests_on and fields_overlap(grant.scope.fields, part.scope.fields):
                stamps = tuple(sorted({*grant.rests_on, (part.edge_id, part.ownership_epoch or 1)}))
                yield replace(grant, version=grant.version + 1, rests_on=stamps)


def _grants(view: View) -> Iterator[Edge]:
    for kind in GRANT_CLASS:
        for ends in view.out[kind].values():
            yield from ends.values()


def remaining_grants(view: View, transfer: Record, *, partly: bool) -> list[Edge]:
    """Return grants that the old owner issued or holds on what was transferred, whole ones or also parts, by id."""
    owner = transfer["from_owner"]
    return sorted(
        (
            each
            for each in _grants(view)
            if owner in (each.issuer, each.from_) and _within(transfer, each, each.to, partly)
        ),
        key=lambda each: each.edge_id,
    )


def _delegations(view: View, transfer: Record, *, partly: bool) -> list[Edge]:
    """Return delegations and rights of the old owner about what is transferred, and nothing else unless `partly`."""
    found: list[Edge] = []
    for kind in (EdgeType.DELEGATES, EdgeType.MAY_DELEGATE):
        for edge in view.outgoing(kind, transfer["from_owner"]):
            groups = edge.scope.resources or (("",),)
            targets = [each for group in groups for each in group]
            inside = [each != "" and _within(transfer, edge, each, partly) for each in targets]
            unbounded = partly and edge.scope.resources is None and _fields_meet(transfer, edge, partly=True)
            if (inside and all(inside)) or (partly and any(inside)) or unbounded:
                found.append(edge)
    return sorted(found, key=lambda each: each.edge_id)


def _within(transfer: Record, edge: Edge, target: str, partly: bool) -> bool:  # noqa: FBT001 - private, named at the calls
    lies = overlap(transfer["resource"], target) if partly else contains(transfer["resource"], target)
    return lies and _fields_meet(transfer, edge, partly=partly)


def _fields_meet(transfer: Record, edge: Edge, *, partly: bool) -> bool:
    named, moved = edge.scope.fields, set(transfer["fields"])
    if named is None:
        return partly
    return bool(set(named) & moved) if partly else set(named) <= moved


def _with_subtree(view: View, delegations: Sequence[Edge]) -> list[Edge]:
    """Return delegations with everything that was made under them: what they covered has another owner now."""
    found = {each.edge_id: each for each in delegations}
    frontier = list(delegations)
    while frontier:
        for edge_id in view.under.get(frontier.pop().edge_id, ()):
            if edge_id not in found and view.edges[edge_id].edge in AUTHORITY:
                found[edge_id] = view.edges[edge_id]
                frontier.append(view.edges[edge_id])
    return [found[each] for each in sorted(found)]
