"""The embedded ledger inside: its clock, its connections, its tables beside the log, and how they are migrated."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest

from remit_graph.errors import ForeignStore, HeadMoved, LedgerUnavailable, ModelError, SchemaTooNew
from remit_graph.head import State
from remit_graph.model.change import GENESIS, Change
from remit_graph.sqlite import SqliteLedger, SqliteOptions, checkpoints
from remit_graph.sqlite.lock import WriterLock
from remit_graph.sqlite.migrate import migrate
from remit_graph.sqlite.statements import LAYOUTS
from remit_graph.sqlite.store_file import LAYOUT, write_ahead
from remit_graph.stored import Checkpoint
from tests.contract.ledger_commands import a_command, append, append_racing, edge_begin, everything
from tests.contract.ledgers import REALM

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from remit_graph.model.change import Entry

NOON = 1_800_000_000_000_000
SECOND = 1_000_000
SOON = timedelta(seconds=1)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        """Return the instant it is set to."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """The store's clock, at noon."""
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the ledger is."""
    return tmp_path / "remit.db"


@pytest.fixture
async def ledger(path: Path, clock: Clock) -> AsyncIterator[SqliteLedger]:
    """An empty ledger on a manual clock."""
    made = await SqliteLedger.init(path, "acme", options=SqliteOptions(clock=clock))
    yield made
    await made.aclose()


async def test_the_head_tells_the_stores_clock(ledger: SqliteLedger, clock: Clock) -> None:
    """`now` is what the clock says when the head is read."""
    clock.now += 7

    assert (await ledger.head()).now == NOON + 7


async def test_the_skew_is_allowed_up_to_its_bound(ledger: SqliteLedger) -> None:
    """Two seconds ahead are accepted, one microsecond more is not."""
    head = await ledger.head()

    with pytest.raises(ModelError) as caught:
        await ledger.append(head, [a_command(at=NOON + 2 * SECOND + 1)])
    entries = await ledger.append(head, [a_command(at=NOON + 2 * SECOND)])

    assert caught.value.facts == {"index": 0, "at": NOON + 2 * SECOND + 1, "bound": NOON + 2 * SECOND}
    assert [entry.at for entry in entries] == [NOON + 2 * SECOND]


async def test_a_clock_that_jumps_back_stops_no_writer(ledger: SqliteLedger, clock: Clock) -> None:
    """After a jump back writers go on at the last `at`, as long as the clock is not behind it by more than the skew."""
    await ledger.append(await ledger.head(), [a_command(at=NOON)])
    clock.now -= 2 * SECOND

    entries = await ledger.append(await ledger.head(), [a_command(at=NOON)])
    clock.now -= 1
    with pytest.raises(ModelError):
        await ledger.append(await ledger.head(), [a_command(at=NOON)])

    assert [entry.revision for entry in entries] == [2]


async def test_the_skew_may_be_set(path: Path, clock: Clock) -> None:
    """A ledger with another bound keeps to it, days included."""
    options = SqliteOptions(clock=clock, max_clock_skew=timedelta(days=1, microseconds=1))
    ledger = await SqliteLedger.init(path, "acme", options=options)
    day = 86_400 * SECOND

    with pytest.raises(ModelError):
        await ledger.append(await ledger.head(), [a_command(at=NOON + day + 2)])
    await ledger.append(await ledger.head(), [a_command(at=NOON + day + 1)])

    await ledger.aclose()


@pytest.mark.parametrize("at", [2**63, -1, NOON + 0.5])
async def test_an_instant_that_is_none_is_refused(ledger: SqliteLedger, at: int) -> None:
    """What no column holds is data that is bad, and no fault of the program."""
    with pytest.raises(ModelError) as caught:
        await ledger.append(await ledger.head(), [a_command(at=NOON), a_command(at=at)])

    assert caught.value.facts["index"] == 1
    assert (await ledger.head()).revision == 0


@pytest.mark.parametrize(
    "change",
    [
        Change("edge.begin", {}),
        Change("edge.begin", {"edge_id": 7, "version": 1}),
        Change("edge.begin", {"edge_id": "g-1", "version": "1"}),
        Change("edge.begin", {"edge_id": "g-1", "version": 2**63}),
        Change("edges.end", {}),
        Change("edges.end", {"edges": "g-1"}),
        Change("edges.end", {"edges": ["g-1"]}),
        Change("edges.end", {"edges": [["g-1"]]}),
        Change("edges.end", {"edges": [["g-1", None]]}),
    ],
    ids=lambda change: f"{change.kind} {json.dumps(change.body)}",
)
async def test_a_change_of_edges_names_them(ledger: SqliteLedger, change: Change) -> None:
    """An edge that is not named could not be kept unique, so its change is refused with its command."""
    with pytest.raises(ModelError) as caught:
        await append(ledger, change)

    assert caught.value.facts["index"] == 0
    assert (await ledger.head()).revision == 0


async def test_an_answer_is_text(ledger: SqliteLedger) -> None:
    """A result that has no bytes is refused before anything is written."""
    with pytest.raises(ModelError, match="surrogate"):
        await ledger.append(await ledger.head(), [a_command(at=NOON, request_id="r-1", result="\ud800")])


async def test_the_row_schema_may_be_switched_under_a_writer(ledger: SqliteLedger, path: Path) -> None:
    """A writer that decided on the head before the switch is told to look again."""
    head = await ledger.head()
    _execute(path, "UPDATE head SET schema = 2")

    with pytest.raises(HeadMoved):
        await ledger.append(head, [a_command(at=NOON)])


async def test_an_at_is_compared_with_the_stores_own(ledger: SqliteLedger) -> None:
    """A head whose `at` was tampered with on its way does not let time go back."""
    await ledger.append(await ledger.head(), [a_command(at=NOON)])
    head = replace(await ledger.head(), at=0)

    with pytest.raises(ModelError) as caught:
        await ledger.append(head, [a_command(at=NOON - 1)])

    assert caught.value.facts == {"index": 0, "at": NOON - 1, "bound": NOON}


async def test_a_commit_is_synced_before_it_is_acknowledged(ledger: SqliteLedger) -> None:
    """Every connection that writes has synchronous FULL on a write-ahead log; the others cannot write at all."""
    await append(ledger)

    assert _pragmas(ledger._writer._idle[0]) == ("wal", 2, 0)
    assert {_pragmas(each) for each in ledger._readers._idle} == {("wal", 2, 1)}


def _pragmas(connection: sqlite3.Connection) -> tuple[str, int, int]:
    names = ("PRAGMA journal_mode", "PRAGMA synchronous", "PRAGMA query_only")
    journal, synchronous, query_only = (connection.execute(name).fetchone()[0] for name in names)
    return journal, synchronous, query_only


async def test_a_file_with_another_journal_is_switched_back(ledger: SqliteLedger, path: Path) -> None:
    """A shell may have taken the write-ahead log away; the next ledger has it again, with everything in it."""
    entry = await append(ledger)
    await ledger.aclose()
    _execute(path, "PRAGMA journal_mode = DELETE")

    again = await SqliteLedger.open(path)

    assert _pragmas(again._writer._idle[0])[0] == "wal"
    assert await again.read(0, 10) == [entry]
    await again.aclose()


def test_a_place_without_write_ahead_log_is_refused(path: Path) -> None:
    """Where SQLite cannot share memory it keeps another journal without an error; here it is one."""
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(LedgerUnavailable, match="write-ahead log"):
        write_ahead(connection, path)


async def test_the_loop_goes_on_while_a_writer_waits(ledger: SqliteLedger, path: Path) -> None:
    """An append that waits for another process keeps neither the event loop nor the readers."""
    other = WriterLock(path, timedelta())
    with other.held():
        waiting = asyncio.create_task(append(ledger))
        heads = [await ledger.head() for _ in range(20)]
        assert not waiting.done()
    other.close()

    assert {head.revision for head in heads} == {0}
    assert (await waiting).revision == 1


async def test_writers_and_tidying_exclude_each_other(ledger: SqliteLedger, path: Path) -> None:
    """The lock beside the file is held until the commit, with the checkpoint of SQLite in it, has ended."""
    held: list[bool] = []
    other = WriterLock(path, timedelta())

    def probe(statement: str) -> None:
        if statement.startswith(("INSERT INTO rows", "COMMIT")):
            try:
                with other.held():
                    held.append(False)
            except LedgerUnavailable:
                held.append(True)

    await append(ledger)
    ledger._writer._idle[0].set_trace_callback(probe)
    await append(ledger)

    ledger._writer._idle[0].set_trace_callback(None)
    other.close()
    assert held == [True, True, True]


async def test_nothing_is_left_running_after_the_end(path: Path) -> None:
    """`aclose` ends every thread, and may be called again."""
    # Services of other tests may run in this process.
    before = set(threading.enumerate())
    ledger = await SqliteLedger.init(path, "acme")
    await append(ledger)
    await ledger.watch(1, timedelta(milliseconds=5))
    running = {each for each in threading.enumerate() if each.name.startswith("remit-ledger")} - before

    await ledger.aclose()
    await ledger.aclose()

    assert {each.name for each in running} >= {"remit-ledger-poller", "remit-ledger-writer_0", "remit-ledger-reader_0"}
    assert [each.name for each in running if each.is_alive()] == []
    assert [each.name for each in path.parent.iterdir() if each.name.endswith(("-wal", "-shm"))] == []


async def test_a_checkpoint_that_is_damaged_gives_way_to_the_one_before(ledger: SqliteLedger, path: Path) -> None:
    """Bytes without their digest are no image, and `check` says so."""
    first, second = _image(await append(ledger), b"first"), _image(await append(ledger), b"second")
    await ledger.save_checkpoint(first)
    await ledger.save_checkpoint(second)

    _execute(path, "UPDATE checkpoint_part SET data = x'00' WHERE rowid = (SELECT max(rowid) FROM checkpoint_part)")

    assert await ledger.checkpoint() == first
    assert await ledger.check() == ["the checkpoint of revision 2 is damaged: its bytes do not have its digest"]


async def test_leftovers_of_a_save_that_was_cut_short_are_removed(ledger: SqliteLedger, path: Path) -> None:
    """Parts that belong to no image count for nothing, and go with the next save; two images are kept."""
    _execute(path, "INSERT INTO checkpoint_part VALUES ('f00', 0, x'00')")
    assert await ledger.checkpoint() is None

    images = [_image(await append(ledger), b"%d" % number) for number in range(3)]
    for image in images:
        await ledger.save_checkpoint(image)

    kept = _query(path, "SELECT digest FROM checkpoint_part")
    assert sorted(kept) == sorted((image.digest,) for image in images[1:])


async def test_parts_that_another_process_took_for_leftovers_are_missed(ledger: SqliteLedger) -> None:
    """An image whose parts are gone does not count, and the caller is told to save it again."""
    image = _image(await append(ledger), b"x")

    with pytest.raises(LedgerUnavailable, match="at the same time"):
        await ledger._write(partial(checkpoints.publish, checkpoint=image, parts=1))

    assert await ledger.checkpoint() is None
    await ledger.save_checkpoint(image)
    assert await ledger.checkpoint() == image


def _image(entry: Entry, blob: bytes) -> Checkpoint:
    digest = hashlib.sha256(blob).hexdigest()
    return Checkpoint(revision=entry.revision, hash=entry.hash, digest=digest, blob=blob)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DELETE FROM result", "request `r-1` of revision 1 has no such answer: a repeat would act again"),
        (
            "UPDATE result SET fingerprint = 'f'",
            "request `r-1` of revision 1 has no such answer: a repeat would act again",
        ),
        (
            "INSERT INTO result VALUES ('r-2', NULL, 1, '', NULL)",
            "the answer to request `r-2` names revision 1, where the log has no such command",
        ),
        ("DELETE FROM edge", "the table of edges tells `g-1@1` otherwise than the log"),
        ("UPDATE edge SET revision_to = 1", "the table of edges tells `g-1@1` otherwise than the log"),
        ("INSERT INTO edge VALUES ('g-2', 1, 1, NULL)", "the table of edges tells `g-2@1` otherwise than the log"),
    ],
)
async def test_what_stands_beside_the_log_is_compared_with_it(
    ledger: SqliteLedger, path: Path, statement: str, problem: str
) -> None:
    """An edit in the answers or the edges is found, though the chain does not cover them."""
    await append(ledger, edge_begin("g-1"), request_id="r-1")

    _execute(path, statement)

    assert await ledger.check() == [problem]


async def test_what_sqlite_finds_wrong_is_found(ledger: SqliteLedger, path: Path) -> None:
    """SQLite's own check of pages, indexes and constraints is part of the check."""
    await append(ledger)

    _execute(path, "PRAGMA ignore_check_constraints = ON", "UPDATE head SET incarnation = 0")

    assert await ledger.check() == ["SQLite: CHECK constraint failed in head"]


NEXT = f"PRAGMA user_version = {LAYOUT + 1}"
ADDED = (("CREATE TABLE added (id INTEGER) STRICT", "INSERT INTO added VALUES (1)", NEXT),)
BROKEN = (("CREATE TABLE added (id INTEGER) STRICT", NEXT, "CREATE TABLE head (id INTEGER)"),)


async def test_a_migration_keeps_the_log(ledger: SqliteLedger, path: Path) -> None:
    """The tables reach the new layout, the rows stay byte by byte, and a program of the old layout stays out."""
    await append(ledger)
    before = await everything(ledger)

    assert migrate(path, SOON, (*LAYOUTS, *ADDED)) == (LAYOUT, LAYOUT + 1)
    assert migrate(path, SOON, (*LAYOUTS, *ADDED)) == (LAYOUT + 1, LAYOUT + 1)

    assert await everything(ledger) == before
    assert _query(path, "SELECT id FROM added") == [(1,)]
    with pytest.raises(SchemaTooNew):
        await SqliteLedger.open(path)
    with pytest.raises(SchemaTooNew):
        migrate(path, SOON)


async def test_a_file_of_the_first_layout_is_migrated(path: Path) -> None:
    """A ledger from before states were kept is refused with the way out, and usable as it was after the migration."""
    values = f"VALUES (1, 'a', '{REALM}', 3, 0, '{GENESIS}', 0, 1)"
    insert = f"INSERT INTO head (singleton, store_id, realm, incarnation, revision, hash, at, schema) {values}"
    _execute(path, *LAYOUTS[0], insert)

    with pytest.raises(ForeignStore) as caught:
        await SqliteLedger.open(path)
    assert migrate(path, SOON) == (1, LAYOUT)

    assert "remit store migrate" in caught.value.advice
    ledger = await SqliteLedger.open(path)
    head = await ledger.head()
    assert (head.incarnation, head.state, head.note, head.needs) == (3, State.READY, "", "")
    assert (await append(ledger)).revision == 1
    await ledger.aclose()


async def test_a_migration_happens_whole_or_not_at_all(ledger: SqliteLedger, path: Path) -> None:
    """A step that fails leaves the layout, the tables and the rows as they were."""
    await append(ledger)

    with pytest.raises(LedgerUnavailable):
        migrate(path, SOON, (*LAYOUTS, *BROKEN))

    assert _query(path, "PRAGMA user_version") == [(LAYOUT,)]
    assert _query(path, "SELECT name FROM sqlite_schema WHERE name = 'added'") == []
    assert (await append(ledger)).revision == 2


WITHOUT_TURNS = tuple(f"ALTER TABLE head DROP COLUMN {name}" for name in ("turn_of", "turn_until", "turn_asked"))
"""What takes back the third layout."""
WITHOUT_STATE = ("DROP TABLE replica", *(f"ALTER TABLE head DROP COLUMN {each}" for each in ("state", "note", "needs")))
"""What takes back the fourth."""
WITHOUT_BASE = (
    "DROP TRIGGER rows_are_removed_below_the_base_alone",
    "CREATE TRIGGER rows_are_never_removed BEFORE DELETE ON rows BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    "DROP INDEX result_goes",
    "ALTER TABLE result DROP COLUMN keep_until",
    *(
        f"ALTER TABLE head DROP COLUMN {each}"
        for each in ("base", "base_hash", "base_at", "base_digest", "base_anchored_at", "base_first")
    ),
)
"""What takes back the fifth."""


async def test_receipts_from_before_their_table_are_found(ledger: SqliteLedger, path: Path) -> None:
    """A store of the first layout is migrated, and says which revision wrote a receipt last; a wrong one is told."""
    await append(ledger, Change("receipt.put", {"id": "coord_1", "status": "EXPIRED"}))
    last = await append(ledger, Change("receipt.put", {"id": "coord_1", "status": "COMPLETED"}))
    _execute(path, *WITHOUT_BASE, "DROP TABLE receipt", *WITHOUT_STATE, *WITHOUT_TURNS, "PRAGMA user_version = 1")

    assert migrate(path, SOON) == (1, LAYOUT)
    assert await ledger.receipt("coord_1") == last
    assert (await ledger.base()).is_whole
    _execute(path, "UPDATE receipt SET revision = 1")
    assert await ledger.check() == ["the table of receipts tells `coord_1` otherwise than the log"]


async def test_what_is_up_to_date_is_not_migrated(ledger: SqliteLedger, path: Path) -> None:
    """Nothing to do is said as such."""
    await append(ledger)

    assert migrate(path, SOON) == (LAYOUT, LAYOUT)


async def test_another_programs_file_is_not_migrated(path: Path) -> None:
    """Only a ledger is given tables."""
    _execute(path, "CREATE TABLE head (id INTEGER)")

    with pytest.raises(ForeignStore):
        migrate(path, SOON)

    assert _query(path, "SELECT name FROM sqlite_schema") == [("head",)]


async def test_a_large_log_is_tidied_up_while_it_is_read(ledger: SqliteLedger, path: Path) -> None:
    """SQLite's write-ahead log stays small under writers and readers, so that opening stays fast."""
    reading = asyncio.create_task(_read_on(ledger, 1_500))
    for number in range(1_500):
        await append_racing(ledger, f"r-{number}")

    await reading
    assert path.with_name("remit.db-wal").stat().st_size < 16_000_000


async def _read_on(ledger: SqliteLedger, last: int) -> None:
    after = 0
    while after < last:
        for entry in await ledger.watch(after, timedelta(seconds=30)):
            after = entry.revision


def _execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def _query(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()
