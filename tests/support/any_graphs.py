"""Random graphs of up to thousands of edges of every shape: cycles, diamonds, windows, old epochs, revoked edges.

No law of creation holds in them: delegations go in rounds, are wider than what they rest on, and hang on nothing. So
whatever a decision permits on one, it permits for the search alone. `shapes_of` says what a graph really holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit_graph.model.change import Change
from tests.support.graphs import ACTIONS, FIELDS, KEYS, NOW, OWNER, ROOT, Question, edge, graph

if TYPE_CHECKING:
    from random import Random

    from remit_graph.view.state import View
    from tests.support.graphs import Record

ROLES: Final = ("role:r", "role:s", "team:t")
SHAPES: Final = frozenset({"cycle", "diamond", "window", "old epoch", "revoked", "membership", "scope", "depth"})
"""What every graph of some size must hold."""


def people_of(edges: int) -> list[str]:
    """Return the principals of a graph of so many edges, beside its roles."""
    return [f"instance:p{number}" for number in range(max(8, edges // 6))]


def declared(edges: int) -> list[Change]:
    """Return the changes that declare them, and the resources; edges of the first epoch are the old ones."""
    people = [Change("principal.put", {"id": each, "trust": 3}) for each in people_of(edges)]
    return [*people, *(Change("resource.put", {"key": each}) for each in KEYS), Change("epoch.set", {"authority": 2})]


def any_edges(random: Random, edges: int) -> list[Record]:
    """Return so many edges, made from `random` alone."""
    people = people_of(edges)
    found = [edge("own", "OWNS", OWNER, "doc", issuer=ROOT, ownership_epoch=1, epoch=2)]
    reached = [OWNER] * 10 + [*ROLES]
    while len(found) < edges:
        number, kind = len(found), random.random()
        if kind < 0.05:
            found.append(_grant(random, number, people))
        elif kind < 0.15:
            found.append(_membership(random, number, people))
        elif kind < 0.2:
            found += _knot(random, number, people)[: edges - len(found)]
        else:
            # From anybody, or from who was reached lately: so chains grow long, and some of them too long.
            from_ = random.choice(reached[-40:] if kind < 0.4 else people)
            made = _delegation(random, number, from_, random.choice(people))
            found.append(made)
            reached.append(made["to"] if random.random() < 0.9 else OWNER)
    return found


def view_of(edges: list[Record], size: int) -> View:
    """Return the view of edges that `any_edges` made with a size, some of them ended."""
    return graph(edges, declared(size))


def any_questions(random: Random, edges: list[Record], count: int) -> list[Question]:
    """Return questions, most of them about whoever holds something."""
    holders = sorted({each["to"] for each in edges if each["edge"] == "DELEGATES"})
    contexts = [{"risk": "LOW", "environment": "production"}, {"risk": "LOW"}, {}]
    return [
        Question(random.choice(holders), random.choice(ACTIONS), random.choice(KEYS), random.choice(contexts))
        for _ in range(count)
    ]


def _grant(random: Random, number: int, people: list[str]) -> Record:
    rests = [{"edge_id": "own", "ownership_epoch": 1}]
    kind, to = random.choice(["MAY_WRITE", "MAY_READ"]), random.choice(["doc:*", "doc:1", "doc:2", "doc"])
    holder, issuer = random.choice([*ROLES, *people]), random.choice([ROOT, OWNER, OWNER, people[0]])
    return edge(f"g{number}", kind, holder, to, issuer=issuer, rests_on=rests, scope=_scope(random), **_state(random))


def _membership(random: Random, number: int, people: list[str]) -> Record:
    kind, to = random.choice([("ACTS_AS", "role:r"), ("ACTS_AS", "role:s"), ("MEMBER_OF", "team:t")])
    return edge(f"m{number}", kind, random.choice(people), to, **_state(random))


def _delegation(random: Random, number: int, from_: str, to: str) -> Record:
    depth = {"max_depth": random.randint(0, 4)} if random.random() < 0.2 else {}
    return edge(f"d{number}", "DELEGATES", from_, to, scope=_scope(random), **_state(random), **depth)


def _knot(random: Random, number: int, people: list[str]) -> list[Record]:
    """Return a cycle or a diamond, below the owner or somebody else."""
    a, b, c, d = random.sample(people, k=4)
    top = random.choice([OWNER, *ROLES, *people])
    ends = random.choice([[(top, a), (a, b), (b, c), (c, a)], [(top, a), (a, b), (a, c), (b, d), (c, d)]])
    return [_delegation(random, number + place, from_, to) for place, (from_, to) in enumerate(ends)]


def _scope(random: Random) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    if random.random() < 0.6:
        scope["actions"] = sorted(random.sample(ACTIONS, k=random.randint(1, 2)))
    if random.random() < 0.1:
        scope["fields"] = sorted(random.sample(FIELDS, k=random.randint(1, 2)))
    if random.random() < 0.1:
        scope["resources"] = [random.choice(["doc:*", "doc:1", "doc"])]
    if random.random() < 0.1:
        scope["where"] = {"environment": ["production"]}
    return scope


def _state(random: Random) -> dict[str, Any]:
    """Return window, epoch and whether it was revoked: most edges live."""
    state: dict[str, Any] = {"epoch": 1 if random.random() < 0.2 else 2}
    if random.random() < 0.2:
        state |= random.choice([{"valid_until": NOW}, {"valid_until": NOW + 1}, {"valid_from": NOW + 1}])
    if random.random() < 0.1:
        state["revoked"] = True
    return state


def shapes_of(edges: list[Record]) -> set[str]:
    """Return what shapes some edges hold."""
    found = {"window" for each in edges if "valid_until" in each or "valid_from" in each}
    found |= {"old epoch" for each in edges if each["epoch"] == 1}
    found |= {"revoked" for each in edges if each.get("revoked")}
    found |= {"membership" for each in edges if each["edge"] in ("ACTS_AS", "MEMBER_OF")}
    found |= {"scope" for each in edges if each.get("scope")} | {"depth" for each in edges if "max_depth" in each}
    below: dict[str, set[str]] = {}
    for each in edges:
        if each["edge"] == "DELEGATES":
            below.setdefault(each["from"], set()).add(each["to"])
    found |= {"cycle" for start in below if start in _below(below, start)}
    found |= {"diamond" for start in below if _meets(below, start)}
    return found


def _below(below: dict[str, set[str]], start: str) -> set[str]:
    seen, frontier = set(), [start]
    while frontier:
        for each in below.get(frontier.pop(), ()):
            if each not in seen:
                seen.add(each)
                frontier.append(each)
    return seen


def _meets(below: dict[str, set[str]], start: str) -> bool:
    """Whether two delegates of one principal hand on to the same third one."""
    twice = [each for middle in below[start] for each in below.get(middle, ()) if each != start]
    return len(twice) > len(set(twice))
