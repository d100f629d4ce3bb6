# ruff: noqa: ASYNC240 - the files of these tests are small and on this disk
"""The embedded ledger and its file: what cannot be used is told by name, with what to do next, and left as it is."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from remit_graph.errors import ForeignStore, LedgerError, LedgerUnavailable, ModelError, OutcomeUnknown, SchemaTooNew
from remit_graph.sqlite import SqliteLedger, SqliteOptions
from remit_graph.sqlite.faults import translate
from remit_graph.sqlite.lock import WriterLock
from remit_graph.sqlite.store_file import require_sqlite
from tests.contract.ledger_commands import a_command, a_principal, append, edge_begin, now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ROOT = Path(__file__).parents[2]
HASTY = SqliteOptions(busy_timeout=timedelta(milliseconds=50))
NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the ledger is, in a folder whose name a URI has to escape."""
    folder = tmp_path / "a?b%20c#d e"
    folder.mkdir()
    return folder / "remit.db"


@pytest.fixture
async def ledger(path: Path) -> AsyncIterator[SqliteLedger]:
    """An empty ledger that does not wait long for a lock."""
    made = await SqliteLedger.init(path, "acme", options=HASTY)
    yield made
    await made.aclose()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["missing.db", "nowhere/remit.db"])
async def test_a_missing_file_is_told_and_not_made(tmp_path: Path, name: str) -> None:
    """A wrong path is an error that names what is missing, and leaves no empty ledger there."""
    with pytest.raises(LedgerUnavailable, match="there is no") as caught:
        await SqliteLedger.open(tmp_path / name)

    assert caught.value.advice
    assert list(tmp_path.iterdir()) == []


async def test_a_ledger_is_not_made_in_a_missing_folder(tmp_path: Path) -> None:
    """`init` makes a file and no folders."""
    with pytest.raises(LedgerUnavailable, match="no folder"):
        await SqliteLedger.init(tmp_path / "nowhere" / "remit.db", "acme")


async def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    """A folder in the place of the file is told as such."""
    for attempt in (SqliteLedger.open(tmp_path), SqliteLedger.init(tmp_path, "acme")):
        with pytest.raises(LedgerUnavailable, match="is a folder"):
            await attempt


async def test_a_file_that_is_no_database_is_foreign(tmp_path: Path) -> None:
    """Any other file is refused and stays as it was."""
    file = tmp_path / "notes.txt"
    file.write_text("nothing of Remit's\n" * 100)
    before = _digest(file)

    for attempt in (SqliteLedger.open(file), SqliteLedger.init(file, "acme")):
        with pytest.raises(ForeignStore, match="is not a SQLite file"):
            await attempt

    assert _digest(file) == before


async def test_a_database_of_another_program_is_foreign(tmp_path: Path) -> None:
    """Another program's tables are recognised as such and stay as they were, also its journal."""
    file = tmp_path / "browser.sqlite"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE head (revision INTEGER)")
    before = _digest(file)

    with pytest.raises(ForeignStore, match="another program"):
        await SqliteLedger.open(file)
    with pytest.raises(ForeignStore) as caught:
        await SqliteLedger.init(file, "acme")

    assert caught.value.code == "already_exists"
    assert _digest(file) == before


async def test_an_empty_file_is_no_ledger_but_may_become_one(path: Path) -> None:
    """What an `init` that was cut short leaves is told, and the next `init` makes a ledger of it."""
    path.touch()

    with pytest.raises(ForeignStore, match="is empty"):
        await SqliteLedger.open(path)
    await (await SqliteLedger.init(path, "acme")).aclose()

    await (await SqliteLedger.open(path, "acme")).aclose()


async def test_a_ledger_is_not_made_twice(ledger: SqliteLedger, path: Path) -> None:
    """`init` on a ledger changes nothing in it."""
    await append(ledger)

    with pytest.raises(ForeignStore) as caught:
        await SqliteLedger.init(path, "acme")

    assert caught.value.code == "already_exists"
    assert (await ledger.head()).revision == 1


async def test_of_many_inits_at_once_one_makes_the_ledger(path: Path) -> None:
    """Decision points that start together on a new path end with one ledger between them."""
    outcomes = await asyncio.gather(*(SqliteLedger.init(path, "acme") for _ in range(8)), return_exceptions=True)

    made = [each for each in outcomes if isinstance(each, SqliteLedger)]
    refused = [each.code for each in outcomes if isinstance(each, LedgerError)]
    assert (len(made), refused) == (1, ["already_exists"] * 7)
    await made[0].aclose()


async def test_a_realm_needs_a_name(path: Path) -> None:
    """A ledger without a realm is refused before a file is made."""
    with pytest.raises(ModelError):
        await SqliteLedger.init(path, "")

    assert not path.exists()


async def test_a_ledger_of_another_realm_is_foreign(ledger: SqliteLedger, path: Path) -> None:
    """Who names the realm is given no other's; who does not is given what is there."""
    with pytest.raises(ForeignStore, match="realm `acme`, not of `other`"):
        await SqliteLedger.open(path, "other")

    opened = await SqliteLedger.open(path)
    assert (await opened.head()).store_id == (await ledger.head()).store_id
    await opened.aclose()


async def test_a_ledger_is_readable_by_its_owner_only(ledger: SqliteLedger, path: Path) -> None:
    """Who may do what is not for everybody: the file and what SQLite puts beside it are closed to others."""
    await append(ledger)

    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}

    assert {name for name, mode in modes.items() if mode & 0o007} == set()
    assert modes["remit.db"] == 0o600


async def test_a_later_layout_is_refused(ledger: SqliteLedger, path: Path) -> None:
    """A program does not touch tables that a later one has changed."""
    await ledger.aclose()
    _execute(path, "PRAGMA user_version = 99")

    with pytest.raises(SchemaTooNew) as caught:
        await SqliteLedger.open(path)

    assert caught.value.facts["schema"] == 99


async def test_an_earlier_layout_is_refused_with_the_way_out(ledger: SqliteLedger, path: Path) -> None:
    """Tables of an earlier program are not used as they are: `migrate` is named."""
    await ledger.aclose()
    _execute(path, "PRAGMA user_version = 0")

    with pytest.raises(ForeignStore) as caught:
        await SqliteLedger.open(path)

    assert "remit store migrate" in caught.value.advice


async def test_a_damaged_file_is_told(ledger: SqliteLedger, path: Path) -> None:
    """Pages that SQLite cannot read are an error of the port that names the backup."""
    await append(ledger, *(a_principal(f"human:{number}") for number in range(500)))
    await ledger.aclose()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 40_000)

    with pytest.raises(LedgerUnavailable, match="is damaged") as caught:
        await SqliteLedger.open(path)

    assert "backup" in caught.value.advice


async def test_a_file_that_another_program_locks_is_told(ledger: SqliteLedger, path: Path) -> None:
    """A shell that keeps a transaction open stops writes and no reads, until it ends."""
    await append(ledger)
    with closing(sqlite3.connect(path, isolation_level=None)) as shell:
        shell.execute("BEGIN IMMEDIATE")

        with pytest.raises(LedgerUnavailable, match="locked by another process"):
            await append(ledger)
        assert len(await ledger.read(0, 10)) == 1

    assert (await append(ledger)).revision == 2


async def test_a_writer_that_hangs_is_told(ledger: SqliteLedger, path: Path) -> None:
    """A decision point that is stopped while it writes stops the writes of the others and not their reads."""
    other = WriterLock(path, timedelta())
    with other.held():
        with pytest.raises(LedgerUnavailable, match="another process has been writing"):
            await append(ledger)
        assert (await ledger.head()).revision == 0
    other.close()

    assert (await append(ledger)).revision == 1


async def test_a_lock_that_cannot_be_made_is_told(ledger: SqliteLedger, path: Path) -> None:
    """What stands in the place of the lock is named."""
    path.with_name("remit.db-lock").unlink()
    path.with_name("remit.db-lock").symlink_to(path.parent / "nowhere" / "lock")
    lock = WriterLock(path, timedelta())

    with pytest.raises(LedgerUnavailable, match=r"remit\.db-lock"), lock.held():
        pass

    assert (await ledger.head()).revision == 0


def test_an_old_sqlite_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python whose SQLite lacks what the schema needs is named with both versions."""
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))

    with pytest.raises(LedgerUnavailable, match=r"needs 3\.37\.0"):
        require_sqlite()


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        (sqlite3.SQLITE_BUSY_SNAPSHOT, LedgerUnavailable, "is locked"),
        (sqlite3.SQLITE_READONLY_DBMOVED, LedgerUnavailable, "cannot be written"),
        (sqlite3.SQLITE_IOERR_READ, LedgerUnavailable, "could not be read or written"),
        (sqlite3.SQLITE_CORRUPT_INDEX, LedgerUnavailable, "is damaged"),
        (sqlite3.SQLITE_NOTADB, ForeignStore, "is not a SQLite file"),
        (sqlite3.SQLITE_CANTOPEN_ISDIR, LedgerUnavailable, "cannot be opened: SQLite cannot open it"),
        (sqlite3.SQLITE_TOOBIG, LedgerUnavailable, "failed"),
        (None, LedgerUnavailable, "failed"),
    ],
)
def test_every_fault_of_sqlite_is_one_of_the_port(
    tmp_path: Path, code: int | None, error: type[LedgerError], words: str
) -> None:
    """Extended codes too are told in the port's words, with the file and with advice."""
    (tmp_path / "remit.db").touch()
    fault = sqlite3.OperationalError("as SQLite has it")
    if code is not None:
        fault.sqlite_errorcode = code

    told = translate(fault, tmp_path / "remit.db")

    assert type(told) is error
    assert f"`{tmp_path / 'remit.db'}` {words}" in told.message
    assert told.advice


async def test_a_full_store_refuses_and_goes_on(ledger: SqliteLedger) -> None:
    """What no longer fits is not appended, reads go on, and so do writes once there is room."""
    await append(ledger)
    pages = ledger._writer._idle[0].execute("PRAGMA page_count").fetchone()[0]
    ledger._writer._idle[0].execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(LedgerUnavailable, match="full"):
        await append(ledger, *(a_principal(f"human:{number}") for number in range(1_000)))

    assert (await ledger.head()).revision == 1
    assert (await append(ledger)).revision == 2
    assert await ledger.check() == []


async def test_a_replaced_file_is_not_written(ledger: SqliteLedger, path: Path, tmp_path: Path) -> None:
    """A file put in the place of the open one stops everything: what went to the old one nobody would find."""
    await append(ledger)
    shutil.copy(path, tmp_path / "copy.db")
    (tmp_path / "copy.db").replace(path)

    for attempt in (ledger.head(), append(ledger), ledger.watch(1, timedelta(seconds=30))):
        with pytest.raises(LedgerUnavailable, match="was replaced"):
            await attempt


async def test_a_removed_file_is_told(ledger: SqliteLedger, path: Path) -> None:
    """A file that is gone is not written on to where nobody would find it."""
    path.unlink()

    with pytest.raises(LedgerUnavailable, match="there is no ledger"):
        await append(ledger)


async def test_the_disk_failing_in_a_commit_leaves_the_outcome_open(path: Path) -> None:
    """Only there it is unknown; the request id settles it, and the next append goes on."""
    await (await SqliteLedger.init(path, "acme")).aclose()

    said = await _in_another_process("limited", path)

    assert said == [OutcomeUnknown.__name__, "result None", "revision 1", "appended 2", "check []"]


@pytest.mark.parametrize("target", ["file", "folder"])
async def test_a_read_only_store_is_told(target: str) -> None:
    """Without permission to write the ledger is not opened, and the error says what to change."""
    # Not the folder of the test: another user cannot go through its parents.
    with TemporaryDirectory() as folder:
        path = Path(folder) / "remit.db"
        await (await SqliteLedger.init(path, "acme")).aclose()
        path.chmod(0o444 if target == "file" else 0o666)
        path.parent.chmod(0o777 if target == "file" else 0o555)

        said = await _in_another_process("opened", path, user=NOBODY if os.getuid() == 0 else None)

        path.parent.chmod(0o755)
    assert said == [LedgerUnavailable.__name__, "permission"]


async def _in_another_process(part: str, path: Path, user: int | None = None) -> list[str]:
    command = [sys.executable, "-m", "tests.contract.ledger_sqlite_process", part, str(path)]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdout=subprocess.PIPE, env={**os.environ, "REMIT_TEST_USER": str(user or "")}
    )
    out, _ = await process.communicate()
    return out.decode().splitlines()


def _execute(path: Path, statement: str, *values: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


async def test_a_clash_with_the_log_is_told(ledger: SqliteLedger, path: Path) -> None:
    """A row that stands where the next one belongs is refused by the schema, and `check` finds it."""
    await append(ledger, edge_begin("g-1"))
    head = await ledger.head()
    _execute(path, "INSERT INTO rows VALUES (2, 0, '{}', ?)", head.hash)

    with pytest.raises(LedgerError, match="there already"):
        await ledger.append(head, [a_command(at=now(head))])

    assert (await ledger.head()).revision == 1


@pytest.mark.parametrize("statement", ["UPDATE rows SET body = '{}'", "DELETE FROM rows"])
async def test_the_log_is_append_only_in_the_schema(ledger: SqliteLedger, path: Path, statement: str) -> None:
    """A shell that edits the log by mistake is refused by the file itself."""
    await append(ledger)

    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        _execute(path, statement)

    assert await ledger.check() == []
