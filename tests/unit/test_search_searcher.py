"""The searcher over a decision point: many resources, a short deadline, others who wait, and views that move."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.history import WHOLE, Base
from remit_graph.model.change import GENESIS, Change, Entry, Row
from remit_graph.model.instant import SECOND
from remit_service.decision.verdict import refuse
from remit_service.replica.replica import Replica
from remit_service.search import searcher as in_slices
from remit_service.search.query import parse_query
from remit_service.search.searcher import NotFresh, PageTokenStale, Searcher
from tests.support.graphs import CALLER, NOW, edge, graph
from tests.support.scenario.stage import policy_with
from tests.support.searching import JUDGE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from remit_service.decision.decision import Decision

READER = edge("g", "MAY_READ", "instance:a", "doc:*", scope={"actions": ["READ"]})
READ: dict[str, Any] = {
    "subject": {"type": "instance", "id": "a"}, "action": {"name": "READ"}, "resource": {"type": "doc"},
}  # fmt: skip


class OnePoint:
    """A decision point over a graph that is in memory alone."""

    def __init__(self, resources: int) -> None:
        """Declare so many documents, and let one instance read them."""
        self.at = NOW
        self.denied: Decision | None = None
        ledger: Any = SimpleNamespace(rows=self._rows, base=self._base)
        self.ledger = ledger
        self.replica = Replica(ledger, SimpleNamespace(monotonic=lambda: 0.0))
        keys = [Change("resource.put", {"key": f"doc:{number:05}"}) for number in range(resources)]
        self.replica.view = graph([READER], keys)
        self.policy = JUDGE.policy
        self.prepare_now, self.judge = JUDGE.prepare_now, JUDGE.judge

    @property
    def view(self) -> Any:
        """The graph."""
        return self.replica.view

    def now(self) -> int:
        """The instant."""
        return self.at

    async def deny_if_stale(self, *_: Any, **__: Any) -> Decision | None:
        """Deny where the test says so."""
        return self.denied

    async def _base(self) -> Base:
        return WHOLE

    async def _rows(self, _after: int) -> AsyncIterator[Row]:
        yield Row(revision=1, seq=0, body="{}", hash=GENESIS)

    async def move(self, *changes: Change) -> None:
        """Append an entry."""
        revision = self.view.revision + 1
        entry = Entry(revision=revision, at=self.at, action="T", actor="t", changes=changes, hash=GENESIS)
        await self.replica.receive([entry])


async def follow(searcher: Searcher, **page: Any) -> list[Any]:
    """Follow the tokens of a search to its end and return the pages."""
    pages = [await searcher.search(parse_query("resource", {**READ, "page": page}), CALLER)]
    while pages[-1].next_token:
        assert not pages[-1].complete
        query = parse_query("resource", {**READ, "page": {"token": pages[-1].next_token}})
        pages.append(await searcher.search(query, CALLER))
    return pages


@pytest.mark.slow
@pytest.mark.feature("S20")
async def test_no_list_of_fifty_thousand_is_cut_in_silence() -> None:
    """Under a deadline of 100 ms and a limit of 1,000 every page says that it was cut, and no key is lost (F043)."""
    point: Any = OnePoint(50_000)

    pages = await follow(Searcher(point, deadline_seconds=0.1), limit=1_000)

    ids = [each["id"] for page in pages for each in page.results]
    assert ids == [f"{number:05}" for number in range(50_000)]
    assert {page.cause for page in pages[:-1]} <= {"deadline", "limit"}
    assert (pages[-1].complete, pages[-1].cause) == (True, None)
    assert len(pages) >= 50


async def test_a_search_lets_others_in_between_its_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """While two searches run in slices of one key, a task that wants a turn of the loop after each gets them all."""
    monkeypatch.setattr(in_slices, "SLICE_SECONDS", 0.0)
    point: Any = OnePoint(400)
    searcher = Searcher(point, deadline_seconds=60)
    turns = 0
    searches = [asyncio.create_task(follow(searcher)) for _ in range(2)]
    while not all(each.done() for each in searches):
        await asyncio.sleep(0)
        turns += 1

    assert [[len(page.results) for page in each.result()] for each in searches] == [[400], [400]]
    assert turns >= 400


async def test_a_search_stays_at_its_revision_while_the_view_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is revoked in the middle of a page is in it all the same, and in no search that begins later."""
    monkeypatch.setattr(in_slices, "SLICE_SECONDS", 0.0)
    point: Any = OnePoint(400)
    searcher, begun = Searcher(point, deadline_seconds=60), asyncio.Event()

    def prepare_now(*args: Any, **options: Any) -> Any:
        begun.set()
        return JUDGE.prepare_now(*args, **options)

    point.prepare_now = prepare_now
    search = asyncio.create_task(follow(searcher))
    await begun.wait()
    assert not search.done()
    await point.move(Change("edges.end", {"edges": [["g", 1]], "cause": "revoked"}))
    pages, anew = await search, await follow(searcher)

    assert [(len(page.results), page.revision) for page in pages] == [(400, 2)]
    assert [(len(page.results), page.revision) for page in anew] == [(0, 3)]


async def test_a_token_is_good_for_a_minute() -> None:
    """Then the revision is no longer kept, and the caller begins again."""
    point: Any = OnePoint(3)
    searcher = Searcher(point, deadline_seconds=60)
    first = await searcher.search(parse_query("resource", {**READ, "page": {"limit": 1}}), CALLER)
    query = parse_query("resource", {**READ, "page": {"token": first.next_token}})

    await point.move(Change("resource.put", {"key": "doc:00000a"}))
    point.at += 60 * SECOND
    second = await searcher.search(query, CALLER)
    point.at += 1

    assert [each["id"] for each in second.results] == ["00001"]
    with pytest.raises(PageTokenStale) as stale:
        await searcher.search(query, CALLER)
    assert (stale.value.code, stale.value.facts["revision"]) == ("page_token_stale", 2)


async def test_a_view_that_is_too_old_finds_nothing() -> None:
    """Where a single question would be denied as stale, a search is refused with the same code."""
    point: Any = OnePoint(1)
    facts = {"age_ms": 9_000, "demand": "5000 ms are allowed"}
    point.denied = refuse(
        "authority_stale", facts, question=None, view=point.view, at=NOW, table=policy_with(()).reasons
    )

    with pytest.raises(NotFresh) as refused:
        await Searcher(point).search(parse_query("resource", READ), CALLER)

    assert (refused.value.code, refused.value.message) == (
        "authority_stale",
        "the view was last known to be current 9000 ms ago, and 5000 ms are allowed",
    )
