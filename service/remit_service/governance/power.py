"""The power to act for others: who has it, and what an edge would give of it (S15).

A principal that may hand authority on, that speaks for a root or for somebody who may hand on, that gets capabilities
or keys for others, or that applies worlds, in which it may write edges in a root's name, widens whatever it is given.
So it is marked, listed and granted with care: the edge that makes it one needs of its holder the trust that production
asks of a delegate (S31), and the policy judges that.

    power_of(view, at, edge)   ->  {"edge", "holder", "trust", "rights": [{"classes", "scope"}]}  or None
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.builtin import Governance
from remit_graph.model.change import canonical
from remit_graph.model.edge import Edge, EdgeType
from remit_graph.model.key import contains
from remit_graph.model.principal import HOLDER_KINDS
from remit_graph.model.registry import GRAPH_KEY
from remit_graph.view.grounds import ViewGrounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from remit_graph.model.change import Change
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View

Facts = dict[str, Any]
_WIDENING: Final[Mapping[Governance, str]] = {
    Governance.APPLY_WORLD: "applies_worlds",
    Governance.MANAGE_KEYS: "makes_keys",
    Governance.MINT_CAPABILITY: "mints",
}
"""Commands by which whoever may give them gets more than its own for somebody, and what documents call that."""


def power_of(view: View, at: Instant, edge: Edge) -> Facts | None:
    """Return the facts of an edge that would give its holder power to act for others; None where it gives none."""
    rights = list(_given_by(view, at, edge))
    if not rights:
        return None
    holder, trust = _least_trusted(view, edge.from_)
    return {"edge": str(edge.edge), "holder": holder, "trust": trust, "rights": rights}


def _least_trusted(view: View, holder: str) -> tuple[str, int]:
    """Return who of the holder and those who act as it is trusted least: the power is theirs as well."""
    acting = {edge.from_ for edge in view.incoming(EdgeType.ACTS_AS, holder)}
    trusts = {each: view.principals[each].trust for each in acting if view.alive(each)}
    known = view.principals.get(holder)
    trusts[holder] = 0 if known is None else known.trust
    # The holder itself where nobody is trusted less: it is what the command names.
    return min(trusts.items(), key=lambda each: (each[1], each[0] != holder, each[0]))


def powers_begun(view: View, at: Instant, changes: Sequence[Change]) -> list[Facts]:
    """Return the powers that edges among `changes` give, on the view with all of them applied.

    Those that the policy cannot tell apart are given once, so that a file of many edges asks few questions.
    """
    found: dict[str, Facts] = {}
    for each in changes:
        edge = view.edges.get(each.body["edge_id"]) if each.kind == "edge.begin" else None
        power = None if edge is None else power_of(view, at, edge)
        if power is not None:
            alike = [[right["classes"], right["scope"].get("where")] for right in power["rights"]]
            found.setdefault(canonical([power["trust"], alike]), power)
    return list(found.values())


def _given_by(view: View, at: Instant, edge: Edge) -> Iterator[Facts]:
    if edge.edge is EdgeType.MAY_DELEGATE:
        yield _right(view, edge)
    elif edge.edge is EdgeType.ACTS_AS:
        yield from _rights_of(view, at, edge.to)
    elif any(_conveys(edge, action) for action in _WIDENING):
        yield _anything(view)


def _rights_of(view: View, at: Instant, principal: str) -> Iterator[Facts]:
    """Iterate what whoever acts as a principal may hand on; a root's word is good for everything."""
    graph = ViewGrounds(view=view, at=at)
    for voice in sorted(graph.acts_as(principal)):
        if view.is_root(voice):
            yield _anything(view)
        yield from (_right(view, each) for each in view.outgoing(EdgeType.MAY_DELEGATE, voice) if graph.live(each))
        written = [each for each in view.outgoing(EdgeType.MAY_WRITE, voice) if graph.live(each)]
        if any(_conveys(each, action) for each in written for action in _WIDENING):
            yield _anything(view)


def _conveys(edge: Edge, action: Governance) -> bool:
    """Whether an edge lets its holder give a command that widens what it has."""
    names = edge.scope.actions
    named = names is None or action.value in names
    return edge.edge is EdgeType.MAY_WRITE and named and contains(edge.to, GRAPH_KEY)


def _right(view: View, edge: Edge) -> Facts:
    names = edge.scope.actions
    covered = view.actions.values() if names is None else (view.actions[each] for each in names if each in view.actions)
    return {"classes": sorted({each.class_ for each in covered}), "scope": edge.scope.record()}


def _anything(view: View) -> Facts:
    return {"classes": sorted({each.class_ for each in view.actions.values()}), "scope": {}}


def acting_for_others(view: View, at: Instant) -> list[Facts]:
    """Return the principals that have such power, by name, with whom or what they reach.

    Each has `principal` and `trust`, and of these what is not empty: `may_delegate_to` (principals), `may_hand_on`
    (delegations), `speaks_for` (patterns of an enforcement point), `governs` (roots it speaks for), `mints`,
    `makes_keys` and `applies_worlds` (true), and `through` (the powerful principals that it acts as).
    """
    found: dict[str, dict[str, set[str] | bool]] = {}
    for name in sorted(view.principals):
        if has := power_held(view, at, name):
            found[name] = has
    graph = ViewGrounds(view=view, at=at)
    for name, known in view.principals.items():
        through = {each for each in graph.acts_as(name) if each != name and each in found}
        if through and known.kind in HOLDER_KINDS and view.alive(name):
            found.setdefault(name, {})["through"] = through
    for point in view.points.values():
        if point.speaks_for:
            found.setdefault(point.id, {})["speaks_for"] = set(point.speaks_for)
    return [
        {
            "principal": name,
            "trust": view.principals[name].trust if name in view.principals else None,
            **written(found[name]),
        }
        for name in sorted(found)
    ]


def written(power: Mapping[str, set[str] | bool]) -> dict[str, list[str] | bool]:
    """Return what somebody has of this power as documents say it, sorted."""
    return {how: sorted(what) if isinstance(what, set) else what for how, what in sorted(power.items())}


def power_held(view: View, at: Instant, principal: str) -> dict[str, set[str] | bool]:
    """Return what a living principal has of this power by edges of its own."""
    if not view.alive(principal):
        return {}
    graph = ViewGrounds(view=view, at=at)
    rights = _live(graph, view.outgoing(EdgeType.MAY_DELEGATE, principal))
    handed = _live(graph, view.incoming(EdgeType.DELEGATES, principal))
    roots = {each for each in graph.acts_as(principal) if view.is_root(each)}
    has: dict[str, set[str] | bool] = {
        "may_delegate_to": {each.to for each in rights},
        "may_hand_on": {each.edge_id for each in handed if each.max_depth != 0},
        "governs": roots,
    }
    written = _live(graph, view.outgoing(EdgeType.MAY_WRITE, principal))
    has |= {how: any(_conveys(each, action) for each in written) for action, how in _WIDENING.items()}
    return {how: what for how, what in has.items() if what}


def _live(graph: ViewGrounds, edges: Iterable[Edge]) -> list[Edge]:
    return [each for each in edges if graph.live(each)]
