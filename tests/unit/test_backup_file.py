"""The file of a backup: written whole or not at all, and refused for whatever is wrong before anything changes."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.backup import read
from remit_graph.backup.errors import BackupRefused
from remit_graph.backup.form import header_of
from remit_graph.backup.write import BackupWriter
from remit_graph.errors import ChainBroken, SchemaTooNew
from remit_graph.head import Head
from remit_graph.model.change import SCHEMA, Change, canonical, digest, link, rows_of
from remit_graph.stored import Stored, StoredResult
from remit_service.backup.make import make_backup
from remit_service.backup.restore import read_through, restore_backup
from remit_service.clock import SystemClock
from remit_service.settings import Settings
from remit_service.stores import make_store
from tests.contract.backups import tables
from tests.contract.ledger_commands import a_command, append

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Lines = list[Any]

GENESIS = "0" * 64


def a_history(revisions: int) -> list[Stored]:
    """Return revisions of which every second has an answer."""
    made: list[Stored] = []
    previous = GENESIS
    for revision in range(1, revisions + 1):
        request = {"request_id": f"r-{revision}", "fingerprint": "f"} if revision % 2 else {}
        put = Change("principal.put", {"id": f"human:{revision}"})
        rows = rows_of(a_command(put, at=revision, **request), revision=revision, previous=previous)
        result = StoredResult(request_id=f"r-{revision}", fingerprint="f", revision=revision, result="null")
        made.append(Stored(rows=tuple(rows), answer=result if revision % 2 else None))
        previous = rows[-1].hash
    return made


def a_head(history: list[Stored], **members: Any) -> Head:
    """Return the head of a ledger that holds a history."""
    last = history[-1].rows[-1]
    identity = {"store_id": "5" * 32, "realm": "acme", "incarnation": 1}
    place = {"revision": last.revision, "hash": last.hash, "at": last.revision}
    return Head(**{**identity, **place, "schema": SCHEMA, "now": 10, **members})


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A backup of five revisions."""
    history = a_history(5)
    with BackupWriter(tmp_path / "backup", header_of(a_head(history), "1.2.3")) as writer:
        writer.add(history)
        writer.finish("1:state")
    return tmp_path / "backup"


def lines_of(path: Path) -> Lines:
    """Return the lines of a backup as documents."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def rewrite(path: Path, lines: Lines, *, honest: bool = True) -> None:
    """Write the lines of a backup again; `honest` gives the end the digest of what is there now."""
    text = [f"{canonical(each)}\n" for each in lines]
    if honest:
        text[-1] = f"{canonical({**lines[-1], 'digest': digest(''.join(text[:-1]))})}\n"
    path.write_bytes(gzip.compress("".join(text).encode()))


def test_what_was_written_is_read(backup: Path) -> None:
    """Header, revisions and end come back as they were, and the file tells nobody but its owner."""
    history = a_history(5)

    with read.BackupReader(backup) as reader:
        revisions = list(reader.revisions())

    assert revisions == history
    assert (reader.header.realm, reader.header.revision, reader.header.made_by) == ("acme", 5, "1.2.3")
    assert reader.end is not None
    assert (reader.end.revisions, reader.end.rows, reader.end.answers, reader.end.state) == (5, 10, 3, "1:state")
    assert backup.stat().st_mode & 0o777 == 0o600
    assert read_through(backup) == (reader.header, reader.end)


def test_a_backup_that_is_not_finished_is_not_there(tmp_path: Path) -> None:
    """Until the end is written the file has another name, and what failed leaves nothing; a file of its name stays."""
    (tmp_path / "backup").write_text("an older one")
    history = a_history(5)

    with BackupWriter(tmp_path / "backup", header_of(a_head(history), "1.2.3")) as writer:
        writer.add(history)
        assert len(list(tmp_path.iterdir())) == 2

    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("backup", "an older one")]


def _cut(backup: Path, _lines: Lines) -> None:
    backup.write_bytes(backup.read_bytes()[:-40])


def _cut_between_lines(backup: Path, lines: Lines) -> None:
    rewrite(backup, lines[:-1], honest=False)


def _cut_inside_a_line(backup: Path, _lines: Lines) -> None:
    text = gzip.decompress(backup.read_bytes())
    backup.write_bytes(gzip.compress(text[: len(text) // 2]))


def _another_program(backup: Path, _lines: Lines) -> None:
    backup.write_text("CREATE TABLE head (id INTEGER);")


def _another_programs_gzip(backup: Path, _lines: Lines) -> None:
    backup.write_bytes(gzip.compress(b'{"name": "package"}\n'))


def _no_json(backup: Path, _lines: Lines) -> None:
    backup.write_bytes(gzip.compress(b"PGDMP\x01\x0e\n"))


def _empty(backup: Path, _lines: Lines) -> None:
    backup.write_bytes(b"")


def _a_later_form(backup: Path, lines: Lines) -> None:
    rewrite(backup, [{**lines[0], "remit_backup": 3}, *lines[1:]])


def _a_flipped_bit(backup: Path, _lines: Lines) -> None:
    data = bytearray(backup.read_bytes())
    data[len(data) // 2] ^= 1
    backup.write_bytes(data)


def _another_body(backup: Path, lines: Lines) -> None:
    lines[2][2] = lines[2][2].replace("human", "robot")
    rewrite(backup, lines)


def _a_forged_row(backup: Path, lines: Lines) -> None:
    # Whoever alters a row and its hash breaks the link to the next one.
    lines[2][2] = lines[2][2].replace("human", "robot")
    lines[2][3] = link(lines[1][3], lines[2][2])
    rewrite(backup, lines)


def _a_revision_less(backup: Path, lines: Lines) -> None:
    rewrite(backup, [each for each in lines if not isinstance(each, list) or each[1] not in (5, "r-5")])


def _an_answer_less(backup: Path, lines: Lines) -> None:
    rewrite(backup, [each for each in lines if not isinstance(each, list) or each[0] != "a"])


def _an_answer_of_another(backup: Path, lines: Lines) -> None:
    rewrite(backup, [["a", "r-9", *each[2:]] if isinstance(each, list) and each[0] == "a" else each for each in lines])


def _another_result(backup: Path, lines: Lines) -> None:
    changed = [[*each[:3], '"x"'] if isinstance(each, list) and each[0] == "a" else each for each in lines]
    rewrite(backup, changed, honest=False)


def _other_counts(backup: Path, lines: Lines) -> None:
    rewrite(backup, [*lines[:-1], {**lines[-1], "rows": 11}])


def _a_line_of_another_kind(backup: Path, lines: Lines) -> None:
    rewrite(backup, [*lines[:3], ["x", 1], *lines[3:]])


def _a_row_of_other_types(backup: Path, lines: Lines) -> None:
    rewrite(backup, [lines[0], ["r", "1", *lines[1][2:]], *lines[2:]])


def _a_lone_surrogate(backup: Path, _lines: Lines) -> None:
    text = gzip.decompress(backup.read_bytes())
    backup.write_bytes(gzip.compress(text.replace(b"human:1", rb"human:\ud800")))


def _a_thousand_brackets(backup: Path, _lines: Lines) -> None:
    text = gzip.decompress(backup.read_bytes()).splitlines(keepends=True)
    backup.write_bytes(gzip.compress(b"".join([text[0], b"[" * 100_000, b"\n", *text[1:]])))


def _an_end_of_other_members(backup: Path, lines: Lines) -> None:
    rewrite(backup, [*lines[:-1], {"end": True}])


def _more_after_the_end(backup: Path, lines: Lines) -> None:
    text = gzip.decompress(backup.read_bytes()) + f"{canonical(lines[1])}\n".encode()
    backup.write_bytes(gzip.compress(text))


def _gone(backup: Path, _lines: Lines) -> None:
    backup.unlink()


FAULTS: list[tuple[Callable[[Path, Lines], None], str]] = [
    (_cut, "is cut short"),
    (_cut_between_lines, "is cut short after revision 4"),
    (_cut_inside_a_line, "is cut short"),
    (_another_program, "is no backup of Remit"),
    (_another_programs_gzip, "is no backup of Remit"),
    (_no_json, "line that is not well formed"),
    (_empty, "is no backup of Remit"),
    (_a_later_form, "is of form 3, and this program knows forms up to 2"),
    (_a_flipped_bit, "was altered|is no backup|not well formed"),
    (_another_body, "was altered: the hash chain breaks at revision 1, row 1"),
    (_a_forged_row, "was altered: the hash chain breaks at revision 2, row 0"),
    (_a_revision_less, "does not hold as much"),
    (_an_answer_less, "revision 1 has another answer"),
    (_an_answer_of_another, "revision 1 has another answer"),
    (_another_result, "do not have the digest"),
    (_other_counts, "does not hold as much"),
    (_a_line_of_another_kind, "line that is not well formed"),
    (_a_row_of_other_types, "line that is not well formed"),
    (_a_lone_surrogate, "line that is not well formed"),
    (_a_thousand_brackets, "line that is not well formed"),
    (_an_end_of_other_members, "line that is not well formed"),
    (_more_after_the_end, "goes on after its end"),
    (_gone, "cannot be read: No such file"),
]


@pytest.mark.parametrize(("spoil", "told"), FAULTS, ids=[each.__name__.strip("_") for each, _ in FAULTS])
async def test_a_backup_with_a_fault_is_refused(
    backup: Path, spoil: Callable[[Path, Lines], None], told: str, tmp_path: Path
) -> None:
    """Whatever is wrong is named, and no store is begun."""
    spoil(backup, lines_of(backup))
    place = Settings(store=f"sqlite:///{tmp_path / 'remit.db'}")

    with pytest.raises(BackupRefused, match=told) as caught:
        await restore_backup(backup, place, clock=SystemClock(), tables=tables(), after=0, tell=lambda _: None)

    assert str(backup) in caught.value.message
    assert caught.value.advice
    assert not (tmp_path / "remit.db").exists()


def test_a_line_without_end_is_not_read(backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that unpacks to more than it should costs a bounded amount of memory."""
    monkeypatch.setattr(read, "MAX_LINE", 200)

    with pytest.raises(BackupRefused, match="a line of more than"):
        read_through(backup)


async def test_a_backup_of_a_later_schema_is_refused(tmp_path: Path) -> None:
    """It says which version of Remit it needs, and no store is begun."""
    history = a_history(1)
    with BackupWriter(tmp_path / "backup", header_of(a_head(history, schema=SCHEMA + 1, needs="7.0.0"), "7")) as writer:
        writer.add(history)
        writer.finish("1:state")
    place = Settings(store=f"sqlite:///{tmp_path / 'remit.db'}")

    with pytest.raises(SchemaTooNew) as caught:
        await restore_backup(
            tmp_path / "backup", place, clock=SystemClock(), tables=tables(), after=0, tell=lambda _: None
        )

    assert caught.value.advice == "install Remit 7.0.0 or later"
    assert not (tmp_path / "remit.db").exists()


async def test_rows_that_lead_elsewhere_are_told(backup: Path, tmp_path: Path) -> None:
    """Where the same rows lead to another state than in the program that wrote them, the store stays unfinished."""
    lines = lines_of(backup)
    rewrite(backup, [*lines[:-1], {**lines[-1], "state": f"1:{'0' * 64}"}])
    place = Settings(store=f"sqlite:///{tmp_path / 'remit.db'}")

    with pytest.raises(ChainBroken, match="lead to another state"):
        await restore_backup(backup, place, clock=SystemClock(), tables=tables(), after=0, tell=lambda _: None)


async def test_an_older_backup_is_put_above_later_incarnations(tmp_path: Path) -> None:
    """Whoever knows that the store was restored since says so, and no incarnation comes twice."""
    ledger = await make_store(Settings(store=f"sqlite:///{tmp_path / 'a.db'}"), SystemClock(), realm="acme")
    await append(ledger, Change("principal.put", {"id": "human:ada"}))
    await make_backup(ledger, tmp_path / "backup", lambda _: None)
    await ledger.aclose()
    place = Settings(store=f"sqlite:///{tmp_path / 'b.db'}")

    done = await restore_backup(
        tmp_path / "backup", place, clock=SystemClock(), tables=tables(), after=6, tell=lambda _: None
    )

    assert done.head.incarnation == 7
