"""Pages of rows in Neo4j: where a page is full, what it holds whole is read, wherever in a revision it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from remit_graph.model.change import Change
from remit_graph.neo4j.read import ROWS_PER_READ, ROWS_PER_TAIL
from remit_graph.watching import AT_ONCE
from tests.contract.ledger_commands import a_command, now
from tests.contract.ledgers import Neo4jStore, neo4j_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from remit_graph.model.change import Command
    from remit_graph.model.instant import Instant
    from remit_graph.ports import Ledger

pytestmark = pytest.mark.neo4j

ROWS = 20
"""Rows of each revision, with the row of its command: a full page of either kind ends exactly with a revision."""


@pytest.fixture
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Neo4jStore]:
    """The database of this run with an empty ledger."""
    made = await neo4j_store(request)
    yield made
    await made.aclose()


@pytest.mark.slow
async def test_a_page_that_ends_with_a_revision_is_no_broken_chain(store: Neo4jStore) -> None:
    """More revisions than a page holds are read one page after the other, from the start and from later places."""
    ledger = await store.open()
    revisions = ROWS_PER_READ // ROWS + 50
    await _filled(ledger, revisions)

    for begin, limit in ((0, AT_ONCE), (1, 2 * AT_ONCE)):
        assert await _read_on(ledger, begin, limit) == list(range(begin + 1, revisions + 1)), (begin, limit)
    assert ROWS_PER_READ % ROWS == ROWS_PER_TAIL % ROWS == 0


@pytest.mark.slow
async def test_a_revision_larger_than_a_page_is_read_whole(store: Neo4jStore) -> None:
    """It comes alone, also where it has exactly the rows of a page; what follows it comes next."""
    ledger = await store.open()
    for rows in (ROWS_PER_TAIL, ROWS_PER_READ):
        head = await ledger.head()
        await ledger.append(head, [_of(rows, now(head))])
    await _filled(ledger, 1)

    assert await _read_on(ledger, 0, AT_ONCE) == [1, 2, 3]


async def _read_on(ledger: Ledger, after: int, limit: int) -> list[int]:
    """Return the revisions after one, each page read from where the last one ended."""
    seen: list[int] = []
    while page := await ledger.read(seen[-1] if seen else after, limit):
        seen += [entry.revision for entry in page]
    return seen


async def _filled(ledger: Ledger, revisions: int) -> None:
    """Append revisions of `ROWS` rows, a hundred at a time."""
    for begin in range(0, revisions, 100):
        head = await ledger.head()
        await ledger.append(head, [_of(ROWS, now(head))] * min(100, revisions - begin))


def _of(rows: int, at: Instant) -> Command:
    """Return a command whose revision has so many rows, of a kind that no graph holds."""
    return a_command(*(Change("thing.renew", {"id": str(number)}) for number in range(1, rows)), at=at)
