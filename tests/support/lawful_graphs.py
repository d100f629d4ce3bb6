"""Random graphs in which every law of creation holds: owners, grants, rights, memberships, delegations many hops deep.

Delegations are tried at random and kept where the law lets them be made, filled in and under a right of their own, as
commands would make them. So a graph of 2,000 edges has long lines, diamonds, members of roles and ended windows, and no
edge that a command would have refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from remit_graph.laws.delegation import Bounds, check_delegation
from remit_graph.laws.ground import grounds_of
from remit_graph.model.change import GENESIS, Change, Entry
from remit_graph.model.edge import Edge, EdgeType, parse_edge
from remit_graph.view.apply import apply, apply_changes
from remit_graph.view.grounds import ViewGrounds
from remit_graph.view.journal import Journal
from remit_graph.view.state import View
from tests.support.graphs import ACTIONS, BASE, FIELDS, NOW, OWNER, ROOT, edge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

    from remit_graph.view.fall import Fall

SCALES: Final = {"risk": ("LOW", "MEDIUM", "HIGH", "CRITICAL")}
ROLES: Final = ("role:r", "role:s", "team:t")
_KEYS: Final = ("doc", "doc:*", "doc:1", "doc:2", "doc:1:part")


def bounds_of(view: View) -> Bounds:
    """Return what delegations in `view` are judged by."""
    return Bounds(max_depth=view.realm.max_delegation_depth, scales=SCALES, actions=view.actions)


def lawful(random: Random, *, edges: int) -> View:
    """Return a graph of about `edges` edges, made from `random` alone."""
    people = [f"instance:i{each}" for each in range(max(6, edges // 8))]
    view = View()
    start = [*BASE, Change("epoch.set", {"authority": 1})]
    start += [Change("principal.put", {"id": each, "trust": 3}) for each in people]
    start += [Change("edge.begin", each) for each in _foundation(random, people)]
    apply(view, _entry(1, start))
    names = [OWNER, *ROLES, *people]
    for number in range(edges * 20):
        if len(view.edges) >= edges:
            break
        made = made_by_law(view, _asked(random, number, names))
        if made is not None:
            apply_changes(view, [Change("edge.begin", made.record())], Journal(keep=False), revision=1, at=NOW - 10)
    return view


def _foundation(random: Random, people: Sequence[str]) -> list[dict[str, Any]]:
    found = [edge("own", "OWNS", OWNER, "doc", issuer=ROOT, ownership_epoch=1)]
    rests = [{"edge_id": "own", "ownership_epoch": 1}]
    for number, role in enumerate(ROLES):
        action = random.choice([None, ["WRITE"], ["WRITE", "PUBLISH"]])
        scope = {} if action is None else {"actions": action}
        found.append(edge(f"g{number}", "MAY_WRITE", role, random.choice(_KEYS), scope=scope, rests_on=rests))
    for number, holder in enumerate([OWNER, OWNER, *ROLES]):
        for to in random.sample(list(people), k=min(4, len(people))):
            extra = {"scope": _scope(random)} if random.random() < 0.5 else {}
            found.append(edge(f"r{number}-{to}", "MAY_DELEGATE", holder, to, max_depth=5, **extra))
    for number, person in enumerate(people):
        if random.random() < 0.3:
            kind, to = random.choice([("ACTS_AS", "role:r"), ("ACTS_AS", "role:s"), ("MEMBER_OF", "team:t")])
            found.append(edge(f"m{number}", kind, person, to, **_window(random)))
    return found


def _scope(random: Random) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    if random.random() < 0.5:
        scope["actions"] = sorted(random.sample(ACTIONS, k=random.randint(1, 3)))
    if random.random() < 0.3:
        scope["fields"] = sorted(random.sample(FIELDS, k=random.randint(1, 2)))
    if random.random() < 0.3:
        scope["resources"] = [random.choice(_KEYS)]
    if random.random() < 0.1:
        scope["conditions"] = [{"attribute": "risk", "at_most": random.choice(SCALES["risk"])}]
    return scope


def _window(random: Random) -> dict[str, int]:
    return random.choice([{}, {}, {}, {"valid_until": NOW + 5}, {"valid_until": NOW}, {"valid_from": NOW + 2}])


def _asked(random: Random, number: int, names: Sequence[str]) -> Edge:
    from_, to = random.sample(list(names), k=2)
    record = edge(f"d{number}", "DELEGATES", from_, to, issuer=from_, scope=_scope(random), **_window(random))
    return parse_edge(record)


def made_by_law(view: View, asked: Edge) -> Edge | None:
    """Return a delegation as a command would make it before any window ends, or None where no ground carries it."""
    return check_delegation(asked, grounds_of(asked, ViewGrounds(view=view, at=NOW - 10)), bounds_of(view)).edge


def delegations(view: View) -> list[Edge]:
    """Return the current delegations, by edge id."""
    return sorted((e for e in view.edges.values() if e.edge is EdgeType.DELEGATES), key=lambda each: each.edge_id)


def after(view: View, found: Fall, amended: Iterable[Edge] = ()) -> View:
    """Return a new view in which a fall has happened."""
    done = View()
    current = [Change("edge.begin", each.record()) for each in view.edges.values()]
    people = [Change("principal.put", each.record()) for each in view.principals.values()]
    apply(done, _entry(1, [*BASE, Change("epoch.set", {"authority": 1}), *people, *current]))
    begun = [*found.begun(), *amended]
    old = [*found.ended.values(), *(view.edges[each.edge_id] for each in begun)]
    changes = [Change("edges.end", {"edges": [[each.edge_id, each.version] for each in old], "cause": "revoked"})]
    changes += [Change("edge.begin", each.record()) for each in begun]
    apply(done, _entry(2, changes))
    return done


def carried(view: View, delegation: Edge) -> bool:
    """Whether the right that a delegation names is there and contains it whole, live or not."""
    graph = ViewGrounds(view=view, at=NOW, dormant=True)
    own = (delegation.under or "").rpartition("@")[0]
    judged = check_delegation(delegation, grounds_of(delegation, graph, under=own), bounds_of(view)).edge
    return judged is not None and replace(judged, under=delegation.under) == delegation


def _entry(revision: int, changes: Sequence[Change]) -> Entry:
    return Entry(revision=revision, at=NOW - 10, action="T", actor="system", changes=tuple(changes), hash=GENESIS)
