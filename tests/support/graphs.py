"""Random authority graphs for the laws: small, dense, with cycles, diamonds, windows, epochs and dead edges.

A graph is a list of edge records over a fixed set of principals and resources, so that it can be permuted, thinned and
extended. `decide` answers a question on it with the shipped policy, in process.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from remit_graph.model.change import GENESIS, Change, Entry
from remit_graph.model.realm import EnforcementPoint
from remit_graph.view.apply import apply
from remit_graph.view.state import View
from remit_service.asking import ask_now
from remit_service.decision.caller import Caller
from remit_service.decision.decide import decide_now, prepare
from remit_service.decision.request import Entity, Evaluation
from remit_service.point import NO_COORDINATION
from tests.support.scenario.stage import policy_with

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remit_service.decision.decision import Decision

NOW = 1_000_000
ROOT = "organization:root"
OWNER = "controller:owner"
PEOPLE = ["team:t", "role:r", "role:s", "instance:a", "instance:b", "instance:c"]
KEYS = ["doc:1", "doc:2", "doc:1:part"]
ACTIONS = ["READ", "WRITE", "PUBLISH"]
FIELDS = ["body", "title"]
POINT = EnforcementPoint(id="service:g", speaks_for=("*:*",), trusted=("risk", "environment"), visibility="full")
CALLER = Caller(point=POINT)

BASE = [
    Change("realm.set", {"name": "laws", "root": [ROOT], "dimensions": ["environment"]}),
    Change(
        "resource_type.put",
        {
            "name": "doc", "key": "doc:{path}", "concurrency": "APPEND_ONLY",
            "fields": {name: {"domain": "CONTENT_BODY", "merge": "exclusive", "managed": True} for name in FIELDS},
        },
    ),
    Change("action.put", {"name": "READ", "class": "read"}),
    Change("action.put", {"name": "WRITE", "class": "write", "fields": ["body"]}),
    Change("action.put", {"name": "PUBLISH", "class": "write", "fields": ["title"], "risk": "MEDIUM"}),
    *(Change("principal.put", {"id": each, "trust": 3}) for each in [ROOT, OWNER, *PEOPLE]),
]  # fmt: skip

Record = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """One question of the laws."""

    subject: str
    action: str
    key: str
    context: Mapping[str, Any]


def graph(edges: Sequence[Record], extra: Sequence[Change] = ()) -> View:
    """Return the view of the fixed nodes and `edges`; revoked ones are ended in a second revision."""
    view = View()
    changes = [*BASE, *extra, *(Change("edge.begin", _without(each, "revoked")) for each in edges)]
    apply(view, _entry(1, changes))
    ended = [[each["edge_id"], each["version"]] for each in edges if each.get("revoked")]
    apply(view, _entry(2, [Change("edges.end", {"edges": ended, "cause": "revoked"})]))
    return view


def _entry(revision: int, changes: Sequence[Change]) -> Entry:
    return Entry(revision=revision, at=NOW - 10, action="T", actor="system", changes=tuple(changes), hash=GENESIS)


def _without(record: Record, name: str) -> Record:
    return {key: value for key, value in record.items() if key != name}


def ask(view: View, question: Question, *, policy_files: tuple[tuple[str, str], ...] = (), at: int = NOW) -> Decision:
    """Answer a question with the shipped policy, and `policy_files` laid over it."""
    policy = policy_with(policy_files)
    kind, _, name = question.subject.partition(":")
    evaluation = Evaluation(
        subject=Entity(type=kind, id=name),
        action=question.action,
        resource=Entity(type="key", id=question.key),
        context=question.context,
    )
    prepared = prepare(evaluation, CALLER, view, at, rules=policy, coordination=NO_COORDINATION)
    return decide_now(prepared, partial(ask_now, policy), rules=policy)


@lru_cache(maxsize=1)
def owner_edges() -> tuple[Record, ...]:
    """The owner of everything, which most graphs begin with."""
    own = edge("own", "OWNS", OWNER, "doc", issuer=ROOT, ownership_epoch=1)
    return (own,)


def edge(edge_id: str, kind: str, from_: str, to: str, **more: Any) -> Record:
    """Return an edge record."""
    return {
        "edge_id": edge_id, "version": 1, "edge": kind, "from": from_, "to": to, "epoch": 1, "issuer": ROOT, **more,
    }  # fmt: skip


def scopes() -> st.SearchStrategy[Record]:
    """Scopes of every shape the laws speak of."""
    selectors = st.sampled_from(["doc", "doc:1", "doc:*", "doc:2", "doc:1:part"])
    return st.fixed_dictionaries(
        {},
        optional={
            "actions": st.lists(st.sampled_from(ACTIONS), max_size=3, unique=True),
            "resources": st.lists(selectors, max_size=2, unique=True),
            "fields": st.lists(st.sampled_from(FIELDS), max_size=2, unique=True),
            "where": st.just({"environment": ["production"]}),
            "conditions": st.just([{"attribute": "risk", "at_most": "MEDIUM"}]),
        },
    )


_WINDOWS = st.sampled_from([{}, {}, {}, {"valid_until": NOW}, {"valid_until": NOW + 1}, {"valid_from": NOW + 1}])
_EXTRAS = st.fixed_dictionaries(
    {}, optional={"max_depth": st.integers(0, 3), "revoked": st.booleans(), "epoch": st.sampled_from([0, 1])}
)


@st.composite
def edges(draw: st.DrawFn, *, with_owner: bool = True, max_size: int = 12) -> list[Record]:
    """Draw a graph: delegations, memberships and grants in any direction."""
    found: list[Record] = list(owner_edges()) if with_owner else []
    for index in range(draw(st.integers(0, max_size))):
        kind = draw(
            st.sampled_from(["DELEGATES", "DELEGATES", "DELEGATES", "ACTS_AS", "MEMBER_OF", "MAY_WRITE", "MAY_READ"])
        )
        found.append(_edge(draw, index, kind))
    return found


def _edge(draw: st.DrawFn, index: int, kind: str) -> Record:
    window = draw(_WINDOWS)
    if kind in ("ACTS_AS", "MEMBER_OF"):
        target = draw(st.sampled_from(["role:r", "role:s"] if kind == "ACTS_AS" else ["team:t"]))
        return edge(f"m{index}", kind, draw(st.sampled_from(PEOPLE[1:])), target, **window)
    if kind in ("MAY_WRITE", "MAY_READ"):
        rests = [{"edge_id": "own", "ownership_epoch": 1}]
        issuer = draw(st.sampled_from([ROOT, OWNER, "instance:a"]))
        holder = draw(st.sampled_from(PEOPLE))
        return edge(
            f"g{index}",
            kind,
            holder,
            draw(st.sampled_from(["doc:1", "doc:*"])),
            issuer=issuer,
            rests_on=rests,
            scope=draw(scopes()),
            **window,
        )
    from_, to = draw(st.sampled_from([OWNER, OWNER, *PEOPLE])), draw(st.sampled_from(PEOPLE))
    return edge(f"d{index}", kind, from_, to, scope=draw(scopes()), **window, **draw(_EXTRAS))


def questions() -> st.SearchStrategy[Question]:
    """Draw a question about anything."""
    context = st.fixed_dictionaries(
        {},
        optional={
            "risk": st.sampled_from(["LOW", "HIGH", "ODD"]),
            "environment": st.sampled_from(["production", "staging"]),
        },
    )
    return st.builds(
        Question, st.sampled_from([OWNER, *PEOPLE]), st.sampled_from(ACTIONS), st.sampled_from(KEYS), context
    )


asks = partial(ask)
