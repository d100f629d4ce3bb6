"""What SQLite's file makes of a cut: it becomes smaller, and its edges are held against the image of the base."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.history import Retention, base_anchor_of
from remit_graph.model.change import Change
from remit_graph.sqlite import SqliteLedger
from remit_graph.sqlite.shrink import LEAST
from tests.contract.ledger_commands import a_command, append, edge_begin, edges_end, image_of, now, state_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from remit_graph.history import Swept

FOR_GOOD = Retention(kept_for=timedelta(0))
BULK = "x" * 20_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is."""
    return tmp_path / "remit.db"


@pytest.fixture
async def ledger(path: Path) -> AsyncIterator[SqliteLedger]:
    """An empty ledger."""
    made = await SqliteLedger.init(path, "acme")
    yield made
    await made.aclose()


async def cut(ledger: SqliteLedger) -> list[Swept]:
    """Cut at the head, with the image of the state there, and sweep until nothing is left."""
    [*_, last] = await ledger.read(0, 1_000)
    checkpoint = image_of(last, await state_of(ledger))
    anchored_at = (await append(ledger, Change("anchor", base_anchor_of(checkpoint)))).revision
    await ledger.cut(checkpoint, anchored_at)
    done = [await ledger.sweep(FOR_GOOD)]
    while not done[-1].is_done:
        done.append(await ledger.sweep(FOR_GOOD))
    return done


def pages(path: Path, *statements: str) -> dict[str, Any]:
    """Run statements on the file, and return how many pages it has and how many of them are free."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
        return {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count")}


async def grown(ledger: SqliteLedger) -> None:
    """Append 12 MB."""
    for number in range(600):
        head = await ledger.head()
        put = Change("principal.put", {"id": "service:bulk", "attributes": {"note": BULK, "number": number}})
        await ledger.append(head, [a_command(put, at=now(head))])


@pytest.mark.feature("S103")
async def test_the_file_gives_back_what_a_cut_frees(ledger: SqliteLedger, path: Path) -> None:
    """Some pages at a time, all but what the next appends take; a sweep after that finds nothing to do."""
    await grown(ledger)
    before = pages(path)

    done = await cut(ledger)

    after = pages(path)
    assert before["page_count"] > 10 * LEAST
    assert after["page_count"] < before["page_count"] / 5
    assert after["freelist_count"] <= LEAST
    assert len([each for each in done if not each.is_done]) > 5
    assert await ledger.check() == []
    await ledger.aclose()
    assert (await asyncio.to_thread(path.stat)).st_size == after["page_count"] * 4_096


@pytest.mark.feature("S103")
async def test_a_file_that_was_made_before_uses_its_pages_again(ledger: SqliteLedger, path: Path) -> None:
    """It cannot give pages back, is swept like any other, and takes what comes into what is free."""
    await ledger.aclose()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("VACUUM")
    older = await SqliteLedger.open(path)
    await grown(older)
    before = pages(path)

    await cut(older)

    after = pages(path)
    assert after["page_count"] >= before["page_count"]
    assert after["freelist_count"] > before["page_count"] / 2
    await grown(older)
    assert pages(path)["page_count"] <= after["page_count"] + LEAST
    await older.aclose()


@pytest.mark.feature("S103")
@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("SELECT 1", None),
        ("DELETE FROM edge WHERE edge_id = 'g-1'", "g-1@1"),
        ("UPDATE edge SET revision_to = 3 WHERE edge_id = 'g-1'", "g-1@1"),
        ("UPDATE edge SET revision_to = NULL WHERE edge_id = 'g-2'", "g-2@1"),
        ("UPDATE edge SET revision_from = 2 WHERE edge_id = 'g-1'", "g-1@1"),
        ("INSERT INTO edge VALUES ('g-9', 1, 1, NULL)", "g-9@1"),
        ("INSERT INTO edge VALUES ('g-9', 1, 1, 2)", None),
    ],
)
async def test_edges_of_before_a_cut_are_held_against_the_image(
    ledger: SqliteLedger, path: Path, statement: str, named: str | None
) -> None:
    """One that is missing, ended, current or begun otherwise is named; what ended long before is no fault."""
    await append(ledger, edge_begin("g-1"))
    await append(ledger, edge_begin("g-2"))
    await append(ledger, edges_end(("g-2", 1)))
    await cut(ledger)

    pages(path, statement)

    told = f"the table of edges tells `{named}` otherwise than the image of revision 3"
    assert await ledger.check() == ([] if named is None else [told])


async def test_an_image_that_is_none_is_named(ledger: SqliteLedger) -> None:
    """What the chain vouches for and nobody can read is told as such."""
    entry = await append(ledger)
    checkpoint = image_of(entry, b"no image")
    anchored_at = (await append(ledger, Change("anchor", base_anchor_of(checkpoint)))).revision
    await ledger.cut(checkpoint, anchored_at)

    [problem] = await ledger.check()

    assert problem.startswith("the image cannot be decompressed")
