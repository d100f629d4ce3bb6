"""The parts of a search: the catalogue, the last minute of a view, slices, deadlines, faults and tokens."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from remit_graph.model.change import GENESIS, Change, Entry
from remit_graph.model.instant import SECOND
from remit_graph.view.apply import apply
from remit_graph.view.journal import Journal
from remit_graph.view.state import View
from remit_service.decision.decide import Fault
from remit_service.decision.request import RequestError
from remit_service.replica.past import KEPT, MAX_ENTRIES, NotKept, Past
from remit_service.search.catalogue import RUN, STEP, Catalogue
from remit_service.search.query import parse_query
from remit_service.search.token import PageToken, seal, unseal
from remit_service.search.walk import Walk
from tests.support.graphs import CALLER, NOW, edge, graph
from tests.support.searching import JUDGE

TYPE = {"name": "doc", "key": "doc:{path}", "concurrency": "APPEND_ONLY"}
READER = edge("g", "MAY_READ", "instance:a", "doc:*", scope={"actions": ["READ"]})
READ: dict[str, Any] = {
    "subject": {"type": "instance", "id": "a"}, "action": {"name": "READ"}, "resource": {"type": "doc"},
}  # fmt: skip


def entry(revision: int, *changes: Change, at: int = NOW) -> Entry:
    """Return an entry of changes."""
    return Entry(revision=revision, at=at, action="T", actor="system", changes=changes, hash=GENESIS)


def put(*keys: str) -> list[Change]:
    """Return the changes that declare resources."""
    return [Change("resource.put", {"key": each}) for each in keys]


def listed(catalogue: Catalogue, view: View, after: str = "") -> list[str]:
    """Build a catalogue and return the documents it lists."""
    for _ in catalogue.build(view):
        pass
    return list(catalogue.ids("doc", after))


def test_a_catalogue_lists_ids_of_each_type_in_order() -> None:
    """Ids are sorted over all runs and begin after the one that is named; keys have a type of their own."""
    keys = [f"doc:{number:05}" for number in range(2 * RUN + 10)]
    view = graph([], put(*reversed(keys)))
    catalogue = Catalogue()

    assert listed(catalogue, view) == [each.partition(":")[2] for each in keys]
    assert list(catalogue.ids("doc", f"{2 * RUN + 7:05}")) == [f"{2 * RUN + 8:05}", f"{2 * RUN + 9:05}"]
    assert next(catalogue.ids("key", "")) == "doc:00000"
    assert list(catalogue.ids("nothing", "")) == []


def test_a_catalogue_is_built_a_step_at_a_time() -> None:
    """A search that stops in the middle leaves what it built to the next one."""
    view = graph([], put(*(f"doc:{number}" for number in range(3 * STEP))))
    catalogue = Catalogue()

    next(catalogue.build(view))
    assert len(list(catalogue.ids("doc", ""))) == STEP
    assert len(list(catalogue.build(view))) == 2
    assert list(catalogue.build(view)) == []


def test_a_catalogue_follows_the_view() -> None:
    """What is declared later is listed, what is removed stays until it outweighs the rest, other types start anew."""
    view = graph([], put("doc:1", "doc:2"))
    catalogue = Catalogue()
    listed(catalogue, view)
    more = entry(3, *put("doc:3", "doc:3"), Change("resource.end", {"key": "doc:1"}))
    apply(view, more)
    catalogue.receive(more)

    assert listed(catalogue, view) == ["1", "2", "3"]
    other = entry(4, Change("resource_type.put", {**TYPE, "key": "doc:x:{path}"}))
    apply(view, other)
    catalogue.receive(other)
    assert listed(catalogue, view) == []


def test_a_catalogue_forgets_removed_resources_in_the_end() -> None:
    """Where far more was removed than is there, it starts anew."""
    view = graph([], put(*(f"doc:{number}" for number in range(RUN + 3))))
    catalogue = Catalogue()
    listed(catalogue, view)
    apply(view, entry(3, *(Change("resource.end", {"key": key}) for key in list(view.resources)[1:])))

    assert listed(catalogue, view) == ["0"]


def moved(past: Past, view: View, revision: int, *changes: Change, at: int = NOW) -> None:
    """Apply an entry as a replica does."""
    journal = Journal()
    made = entry(revision, *changes, at=at)
    apply(view, made, journal)
    past.note(made, journal)


def test_a_view_goes_back_and_forward() -> None:
    """Within a turn the view is at the earlier revision in every table; afterwards it is where it was."""
    view, past = graph([READER], put("doc:1")), Past()
    moved(past, view, 3, Change("edges.end", {"edges": [["g", 1]], "cause": "revoked"}), *put("doc:2"))
    moved(past, view, 4, Change("edge.begin", {**READER, "version": 2}), Change("resource.end", {"key": "doc:1"}))

    with past.at(view, 2) as earlier:
        assert (earlier.revision, sorted(earlier.resources), earlier.edges["g"].version) == (2, ["doc:1"], 1)
    with past.at(view, 3) as earlier:
        assert (earlier.revision, sorted(earlier.resources), dict(earlier.edges)) == (3, ["doc:1", "doc:2"], {})
    assert (view.revision, sorted(view.resources), view.edges["g"].version) == (4, ["doc:2"], 2)


def test_the_past_is_a_minute_and_bounded() -> None:
    """What is older, or more than can be taken back in a slice, is refused; a view that was replaced has no past."""
    view, past = View(), Past()
    moved(past, view, 1, Change("realm.set", {"name": "r"}))
    moved(past, view, 2, at=NOW + KEPT)
    assert past.keeps(view, 0)
    moved(past, view, 3, at=NOW + KEPT + 1)
    assert [past.keeps(view, each) for each in (0, 1, 3, 4)] == [False, True, True, False]
    with pytest.raises(NotKept), past.at(view, 0):
        pass
    for number in range(MAX_ENTRIES):
        moved(past, view, 4 + number, at=NOW + KEPT + 2)
    assert [past.keeps(view, each) for each in (2, 3)] == [False, True]
    past.forget()
    assert not past.keeps(view, view.revision - 1)


def walk(**options: Any) -> Walk:
    """Return a walk over the documents that an instance may read."""
    return Walk(JUDGE, parse_query("resource", READ), CALLER, **{"limit": 1_000, "after": "", **options})


def test_a_walk_goes_on_where_its_slice_ended() -> None:
    """Slices that are over at once look at one candidate each, and find them all."""
    view, catalogue = graph([READER], put("doc:1", "doc:2", "doc:3")), Catalogue()
    steps, walking = 1, walk()
    while not walking.slice(view, NOW, catalogue, until=0, deadline=inf):
        steps += 1

    assert [each for each, _ in walking.found] == ["1", "2", "3"]
    assert (steps, walking.cause) == (5, None)


def test_a_page_gets_on_even_if_its_time_is_over() -> None:
    """Every page looks at one candidate at least, so that following tokens comes to an end (F043)."""
    view, catalogue = graph([READER], put("doc:1", "doc:2", "doc:3")), Catalogue()
    found: list[str] = []
    cause: str | None = "deadline"
    while cause is not None:
        walking = walk(after=found[-1] if found else "")
        assert walking.slice(view, NOW, catalogue, until=inf, deadline=0)
        found += [each for each, _ in walking.found]
        cause = walking.cause

    assert found == ["1", "2", "3"]


def test_a_page_ends_before_a_candidate_that_cannot_be_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the engine is no deny: the list says that it was cut, by which fault, and where to go on."""
    view = graph([READER], put("doc:1", "doc:2"))
    walking = walk()
    asked: list[bytes] = []

    def fails(_policy: object, encoded: bytes) -> None:
        asked.append(encoded)
        raise Fault("engine_timeout", {"timeout_ms": 1})

    walking.slice(view, NOW, Catalogue(), until=0, deadline=inf)
    walking.slice(view, NOW, Catalogue(), until=0, deadline=inf)
    monkeypatch.setattr("tests.support.searching.ask_now", fails)
    assert walking.slice(view, NOW, Catalogue(), until=inf, deadline=inf)

    assert ([each for each, _ in walking.found], walking.last, walking.cause) == (["1"], "1", "engine_timeout")
    assert len(asked) == 1


def test_a_resource_search_walks_past_what_is_not_there_any_more() -> None:
    """The catalogue may list what was removed; a search does not."""
    view, catalogue = graph([READER], put("doc:1", "doc:2")), Catalogue()
    listed(catalogue, view)
    apply(view, entry(3, Change("resource.end", {"key": "doc:1"})))
    walking = walk()

    assert walking.slice(view, NOW, catalogue, until=inf, deadline=inf)
    assert [each for each, _ in walking.found] == ["2"]


@pytest.mark.parametrize(
    ("kind", "unknown"),
    [
        ("subject", {"resource": {"type": "no", "id": "1"}}),
        ("subject", {"action": {"name": "NONE"}}),
        ("subject", {"subject": {"type": "teapot"}}),
        ("resource", {"subject": {"type": "instance", "id": "nobody"}}),
        ("resource", {"action": {"name": "NONE"}}),
        ("resource", {"resource": {"type": "teapot"}}),
        ("action", {"subject": {"type": "instance", "id": "nobody"}}),
        ("action", {"resource": {"type": "no", "id": "1"}}),
    ],
)
def test_an_unknown_thing_finds_nothing(kind: str, unknown: dict[str, Any]) -> None:
    """A search about a subject, a resource, an action or a type that there is not lists nothing."""
    query = parse_query(kind, {**READ, "resource": {"type": "doc", "id": "1"}, **unknown})
    walking = Walk(JUDGE, query, CALLER, limit=10, after="")

    assert walking.slice(graph([READER], put("doc:1")), NOW, Catalogue(), until=inf, deadline=inf)
    assert (walking.found, walking.looked_at) == ([], 0)


TOKEN = PageToken(store="a.1", revision=60, at=5 * SECOND, after="doc:1", limit=100, fingerprint="f")


def test_a_token_reads_as_it_was_sealed() -> None:
    """The sealed form is opaque text and gives the same token back."""
    assert unseal(seal(TOKEN, b"key"), b"key", "f") == TOKEN


@pytest.mark.parametrize("place", [0, 10, 30, -1])
def test_a_changed_token_is_refused(place: int) -> None:
    """Whichever byte is flipped, and whatever else it may be, it is refused at its place."""
    sealed = seal(TOKEN, b"key")
    index = place % len(sealed)
    flipped = sealed[:index] + ("A" if sealed[index] != "A" else "Q") + sealed[index + 1 :]

    for text, key, fingerprint in (
        (flipped, b"key", "f"),
        (sealed, b"other", "f"),
        (sealed, b"key", "g"),
        ("é", b"", "f"),
    ):
        with pytest.raises(RequestError) as refused:
            unseal(text, key, fingerprint)
        assert refused.value.facts["pointer"] == "/page/token"
