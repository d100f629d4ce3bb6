"""Who governs as a root, and what of that a root alone changes.

A root, and whoever acts as one, is asked for no right. So who does, who may prove to be one of them, and who may speak
for one is changed by a root alone, whether by a command, a key or a world file. What is written counts, not what holds
at this instant: a window may begin later, and who is disabled may be enabled.

    widened(view, changes)   ->  "`human:new` would govern as a root: who does is changed by a root alone"  or None
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.model.edge import EdgeType
from remit_graph.model.principal import parse_principal
from remit_graph.model.realm import parse_enforcement_point
from remit_service.writer.command import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from remit_graph.model.change import Change
    from remit_graph.model.instant import Instant
    from remit_graph.model.principal import Principal
    from remit_graph.model.realm import EnforcementPoint
    from remit_graph.view.state import View
    from remit_service.governance.law import Actor


def governing(view: View) -> set[str]:
    """Return the roots and all that have an edge by which they act as one, whether it counts now or not."""
    roots = set(view.realm.root)
    return roots | {edge.from_ for root in roots for edge in view.incoming(EdgeType.ACTS_AS, root)}


def governs(view: View, principal: str) -> bool:
    """Whether a principal is one of them."""
    roots = view.realm.root
    return principal in roots or any(edge.to in roots for edge in view.outgoing(EdgeType.ACTS_AS, principal))


def widened(view: View, changes: Sequence[Change]) -> str | None:
    """Return why `changes` take a root's word, or None where they leave alone who governs as one."""
    return next(_widened(view, changes), None)


def unless_root(sentence: str | None, view: View, at: Instant, actor: Actor) -> Refused | None:
    """Refuse with a sentence what takes a root's word, where there is one and the actor is no root."""
    if sentence is None or actor.is_root(view, at):
        return None
    return Refused(code="no_authority", message=sentence, facts={"subject": actor.principal})


def _widened(view: View, changes: Sequence[Change]) -> Iterator[str]:
    for name in sorted(roots_made(view, changes)):
        yield f"`{name}` would govern as a root: who does is changed by a root alone"
    now = governing(view)
    for each in changes:
        if each.kind == "principal.put" and each.body["id"] in now:
            if opened := opens(view, parse_principal(each.body)):
                yield opened
        elif each.kind == "enforcement_point.put":
            point = parse_enforcement_point(each.body)
            if spoken := _speaks_anew(view.points.get(point.id), point, now):
                yield f"`{point.id}` would speak for `{spoken}`, who governs as a root: that takes a root's word"


def roots_made(view: View, changes: Sequence[Change]) -> set[str]:
    """Return whom `changes` would make a root, or let act as one."""
    roots = set(view.realm.root)
    wanted = next((set(each.body["root"]) for each in reversed(changes) if each.kind == "realm.set"), roots)
    begun = (each.body for each in changes if each.kind == "edge.begin")
    acting = {each["from"] for each in begun if each["edge"] == EdgeType.ACTS_AS and each["to"] in wanted}
    return (wanted - roots) | acting


def opens(view: View, wanted: Principal) -> str | None:
    """Return why a principal that governs is known as `wanted` by a root's word alone, or None where it may be.

    Whoever proves one more identity would be it, and so would whoever proves those of one that is disabled.
    """
    known = view.principals.get(wanted.id)
    before = frozenset() if known is None or (known.disabled and not wanted.disabled) else frozenset(known.identities)
    gained = sorted(frozenset(wanted.identities) - before)
    if not gained or wanted.disabled or not governs(view, wanted.id):
        return None
    return f"`{wanted.id}` governs as a root: that `{gained[0]}` proves it takes a root's word"


def spoken_for(view: View, point: EnforcementPoint) -> str | None:
    """Return somebody who governs as a root and for whom an enforcement point may speak, or None."""
    return _speaks_anew(None, point, governing(view))


def _speaks_anew(known: EnforcementPoint | None, point: EnforcementPoint, now: AbstractSet[str]) -> str | None:
    """Return somebody of `now` for whom `point` may speak, or by another identity, and could not as it is `known`."""
    more = known is None or not set(point.identities) <= set(known.identities) or (point.loopback > known.loopback)
    for each in sorted(now):
        could = known is not None and known.may_speak_for(each)
        if (point.may_speak_for(each) and (more or not could)) or (point.loopback and more):
            return each
    return None
