"""What is kept of a key goes with a change that touches it, and with no other (F011's kind: no mark for everything)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_graph.model.change import Change
from remit_graph.view.apply import apply_changes
from remit_graph.view.ground import ground_of
from remit_graph.view.journal import Journal
from tests.support.graphs import NOW, OWNER, ROOT, edge, graph

if TYPE_CHECKING:
    from remit_graph.view.state import View

A = "instance:a"
KEYS = ["doc:a", "doc:a:1", "doc:a:2", "doc:b", "doc:b:1", "doc:c:1:x"]


def begun(edge_id: str, kind: str, from_: str, to: str, **more: Any) -> Change:
    """Return the beginning of an edge."""
    return Change("edge.begin", edge(edge_id, kind, from_, to, **more))


def ended(*edge_ids: str) -> Change:
    """Return the end of edges."""
    return Change("edges.end", {"edges": [[each, 1] for each in edge_ids], "cause": "revoked"})


def known() -> View:
    """Return a view that has been asked about every key."""
    view = graph(
        [
            edge("on-a", "MAY_WRITE", A, "doc:a"),
            edge("on-b", "MAY_WRITE", A, "doc:b"),
            edge("right", "MAY_DELEGATE", OWNER, A, max_depth=2),
            edge("part", "PART_OF", "doc:c:1:x", "doc:b"),
        ]
    )
    for key in KEYS:
        ground_of(view, key, NOW)
    return view


BELOW_B = ["doc:b", "doc:b:1", "doc:c:1:x"]
CASES: dict[str, tuple[list[Change], list[str]]] = {
    "a grant below another key": ([begun("g", "MAY_READ", A, "doc:b:1")], ["doc:b:1"]),
    "a grant on a whole branch": ([begun("g", "MAY_READ", A, "doc:c")], ["doc:c:1:x"]),
    "another grant on a branch that has one": ([begun("g", "MAY_READ", "role:r", "doc:b")], []),
    "a grant with a wildcard": ([begun("g", "MAY_READ", A, "doc:*:1")], ["doc:a:1", "doc:b:1", "doc:c:1:x"]),
    "the end of a grant": ([ended("on-b")], BELOW_B),
    "the end of one of two grants": ([begun("g", "MAY_READ", A, "doc:b"), ended("on-b")], []),
    "an amended grant": ([ended("on-b"), begun("on-b", "MAY_WRITE", A, "doc:b", version=2)], []),
    "an amended grant that moves": (
        [ended("on-b"), begun("on-b", "MAY_WRITE", A, "doc:a:1", version=2)], [*BELOW_B, "doc:a:1"],
    ),
    "a membership": ([begun("m", "ACTS_AS", A, "role:r")], []),
    "a delegation": ([begun("d", "DELEGATES", OWNER, A, under="right@1", issuer=OWNER)], []),
    "the end of a right to hand on": ([ended("right")], []),
    "a principal": ([Change("principal.put", {"id": "human:new"})], []),
    "an epoch": ([Change("epoch.set", {"authority": 2})], []),
    "a part of something": ([begun("p", "PART_OF", "doc:a:1", "doc:b")], KEYS),
    "no part of it any more": ([ended("part")], KEYS),
    "a resource": ([Change("resource.put", {"key": "doc:a", "attributes": {"environment": "production"}})], KEYS),
    "the realm": ([Change("realm.set", {"name": "laws", "root": [ROOT], "dimensions": ["site"]})], KEYS),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_f011_a_change_drops_what_it_touches(name: str) -> None:
    """Of six keys only those below what was changed are forgotten; taking the change back brings all of them back."""
    changes, dropped = CASES[name]
    view, journal = known(), Journal()
    before = view.grounds

    apply_changes(view, changes, journal, revision=3, at=NOW)

    # What lies above these keys is kept as well, by the same rule.
    assert set(view.grounds) & set(KEYS) == set(KEYS) - set(dropped)
    journal.undo()
    assert view.grounds is before
    assert set(view.grounds) >= set(KEYS)


@given(st.lists(st.sampled_from(sorted(CASES)), min_size=1, max_size=4, unique=True))
def test_what_is_kept_is_what_would_be_found_anew(names: list[str]) -> None:
    """After any changes in one revision, what is still kept of a key says the same as a fresh look at it."""
    view = known()
    ids: set[str] = set()
    changes: list[Change] = []
    for name in names:
        touched = {each for change in CASES[name][0] for each in _edges_in(change)}
        if touched.isdisjoint(ids):
            changes += CASES[name][0]
            ids |= touched
    apply_changes(view, changes, Journal(keep=False), revision=3, at=NOW)

    kept = {key: ground_of(view, key, NOW) for key in KEYS}
    view.grounds.clear()
    assert kept == {key: ground_of(view, key, NOW) for key in KEYS}


def _edges_in(change: Change) -> set[str]:
    if change.kind == "edge.begin":
        return {change.body["edge_id"]}
    return {edge_id for edge_id, _ in change.body.get("edges", ())}
