"""End authority: edges, delegations, principals, resources, and everything below; what rested on them ends with them.

One revision ends it all. Leases, waiters and capabilities are decided again by whoever submits the command, since every
command that ends or narrows anything brings that about (`consequences`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.laws.ground import principals_above
from remit_graph.model.builtin import Governance
from remit_graph.model.change import Change
from remit_graph.model.edge import ROOT_GRANTS, Edge, EdgeType
from remit_graph.model.key import contains, prefixes
from remit_graph.view.fall import SLICE, Fall, fall
from remit_graph.view.grounds import ViewGrounds
from remit_graph.view.members import reached
from remit_service.coordination.standing import edge_facts
from remit_service.governance.law import Actor, permitted, refused_by_policy
from remit_service.governance.names import unknown_edge, unknown_principal
from remit_service.governance.versions import ends_of, moved, settling
from remit_service.slices import at_once
from remit_service.writer.command import Accepted, Refused, Verdict

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from remit_graph.model.instant import Instant
    from remit_graph.view.beside import Beside
    from remit_graph.view.state import View
    from remit_service.policy import Policy

MAX_LISTED: Final = 10_000
"""Ids of one noun that an answer lists; what ended is always whole, and `counts` says how much it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is to be ended: one of its members is set.

    Attributes:
        edge_id: One edge, a delegation too.
        principal, resource: With all that hangs on it.
        lease_id, capability_id: What was given out; it ends alone.
    """

    edge_id: str | None = None
    principal: str | None = None
    resource: str | None = None
    lease_id: str | None = None
    capability_id: str | None = None

    @property
    def removes(self) -> bool:
        """Whether a node ends, with every edge on it: then a later one of the same name inherits nothing."""
        return self.principal is not None or self.resource is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What ending a target changes, what its caller is told, and the changes made ready where they are many."""

    changes: tuple[Change, ...]
    result: Mapping[str, Any]
    made: Beside | None = None


def revoke(
    policy: Policy,
    view: View,
    at: Instant,
    actor: Actor,
    target: Target,
    *,
    found: Ending | None = None,
) -> Verdict:
    """Decide a revocation, with its whole subtree in one revision.

    Args:
        policy: The policy in force.
        view: The graph.
        at: The instant.
        actor: Who asks.
        target: What is to be ended.
        found: What comes of it, where that was found on this very graph before; else it is looked for here.
    """
    named = named_by(view, target)
    if isinstance(named, Refused):
        return named
    decision = permitted(policy, view, at, actor, Governance.REVOKE, revocation=_facts(view, at, actor, target, named))
    if refused := refused_by_policy(decision):
        return refused
    if found is None:
        found = at_once(ending(view, target, named, fall(view, named, at, policy.scales)))
    return Accepted(changes=found.changes, result=found.result, made=found.made)


def ending(view: View, target: Target, named: Sequence[Edge], fallen: Fall) -> Generator[None, None, Ending]:
    """Return what a fall comes to, in steps."""
    own = {edge.edge_id for edge in named}
    below, delegations = Fall(moved=fallen.moved), []
    for count, edge_id in enumerate(sorted(fallen.ended), 1):
        edge = fallen.ended[edge_id]
        if edge_id not in own:
            below.ended[edge_id] = edge
        if edge.edge is EdgeType.DELEGATES:
            delegations.append(edge_id)
        if count % SLICE == 0:
            yield
    changes = ends_of(named, "removed" if target.removes else "revoked")
    changes += yield from settling(view, below)
    if target.principal is not None:
        changes.append(Change("principal.end", {"id": target.principal}))
    if target.resource is not None and target.resource in view.resources:
        changes.append(Change("resource.end", {"key": target.resource}))
    return Ending(changes=tuple(changes), result=_result(named, delegations, fallen, target))


def named_by(view: View, target: Target) -> list[Edge] | Refused:
    """Return the current edges that a target names, by edge id."""
    if target.principal is not None:
        return _of_principal(view, target.principal)
    if target.resource is not None:
        return _of_resource(view, target.resource)
    edge = view.edges.get(target.edge_id or "")
    return unknown_edge(view, target.edge_id or "") if edge is None else [edge]


def _of_principal(view: View, principal: str) -> list[Edge] | Refused:
    if principal not in view.principals:
        return unknown_principal(principal)
    if principal in view.realm.root:
        message = f"`{principal}` is a root of this realm; name another root first"
        return Refused(code="still_referenced", message=message, facts={"id": principal})
    found = {
        edge.edge_id: edge
        for kind in EdgeType
        for table in (view.out, view.into)
        for edge in _at(table, kind, principal)
    }
    # Whoever owned something may have issued grants on it; a later owner of this name has not.
    if any(True for _ in view.outgoing(EdgeType.OWNS, principal)):
        found |= {edge.edge_id: edge for edge in view.edges.values() if edge.issuer == principal}
    return [found[each] for each in sorted(found)]


def _at(table: dict[EdgeType, dict[str, dict[str, Edge]]], kind: EdgeType, end: str) -> Iterator[Edge]:
    return iter(table[kind].get(end, {}).values())


def _of_resource(view: View, key: str) -> list[Edge] | Refused:
    on_it = [edge for kind in EdgeType for table in (view.out, view.into) for edge in _at(table, kind, key)]
    held = (
        edge
        for grants in view.grants.values()
        for selector, edges in grants.items()
        if contains(key, selector)
        for edge in edges.values()
    )
    found = {edge.edge_id: edge for edge in (*on_it, *held)}
    if not found and key not in view.resources:
        message = f"`{key}` is not declared, and no edge names it"
        return Refused(code="unknown_resource", message=message, facts={"key": key})
    return [found[each] for each in sorted(found)]


def _result(named: Sequence[Edge], delegations: list[str], fallen: Fall, target: Target) -> dict[str, Any]:
    grants = [each.edge_id for each in named if each.edge is not EdgeType.DELEGATES]
    ended: dict[str, list[str]] = {"edges": grants, "delegations": delegations}
    if target.principal is not None:
        ended["principals"] = [target.principal]
    if target.resource is not None:
        ended["resources"] = [target.resource]
    return {
        "ended": {noun: ids[:MAX_LISTED] for noun, ids in ended.items()},
        "counts": {noun: len(ids) for noun, ids in ended.items()},
        "re_anchored": [moved(fallen.moved[each]) for each in sorted(fallen.moved)[:MAX_LISTED]],
        "truncated": any(len(ids) > MAX_LISTED for ids in (*ended.values(), fallen.moved)),
    }


def _facts(view: View, at: Instant, actor: Actor, target: Target, named: Sequence[Edge]) -> dict[str, Any]:
    graph = ViewGrounds(view=view, at=at)
    mine = graph.acts_as(actor.principal)
    one = None if target.removes else named[0]
    above = set(principals_above(one, graph)) - {one.to} if one is not None else set()
    targets = _targets(view, at, one) if one is not None else {str(target.principal)}
    rights = [
        edge
        for holder in sorted(mine)
        for edge in view.outgoing(EdgeType.MAY_REVOKE, holder)
        if edge.to in targets | above and graph.live(edge)
    ]
    return {
        "maker": one is not None and one.issuer in mine,
        "above": bool(above & mine),
        "keys": list(_keys(target, one)),
        "edges": [edge_facts(edge, view) for edge in rights],
    }


def _targets(view: View, at: Instant, edge: Edge) -> set[str]:
    """Return the principals whose authority an edge is: its holder, and all that it acts as or belongs to."""
    holder = edge.from_ if edge.edge in ROOT_GRANTS else edge.to
    return {holder, *reached(view, holder, at, writes=True)}


def _keys(target: Target, edge: Edge | None) -> tuple[str, ...]:
    """Return what a right to revoke that names resources is compared with; nothing where that is not one place."""
    if target.resource is not None:
        return prefixes(target.resource)
    if edge is None:
        return ()
    if edge.edge in ROOT_GRANTS:
        return prefixes(edge.to)
    groups = edge.scope.resources or ()
    return prefixes(groups[0][0]) if len(groups) == 1 and len(groups[0]) == 1 else ()
