"""Backups and moves of a ledger whose history was cut: it begins where it began, and forgets nothing more."""

from __future__ import annotations

import gzip
import json
from dataclasses import astuple
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.backup.errors import BackupRefused
from remit_graph.errors import HistoryRemoved
from remit_graph.history import Retention
from remit_graph.model.change import Change
from remit_service.backup.make import make_backup
from remit_service.backup.restore import read_through
from remit_service.backup.state import loaded
from tests.contract.backups import COMMANDS, contents, filled, moved, opened, place_of, restored
from tests.contract.compactions import compacted
from tests.contract.ledger_commands import append, edge_begin, edges_end, rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from remit_graph.ports import Ledger
    from remit_service.settings import Settings

NEO4J = pytest.mark.neo4j
ACROSS = [
    pytest.param("sqlite", "neo4j", id="sqlite to neo4j", marks=NEO4J),
    pytest.param("neo4j", "sqlite", id="neo4j to sqlite", marks=NEO4J),
    pytest.param("sqlite", "sqlite", id="sqlite to sqlite"),
]
CUT = 30
WAITING = Retention(actions=frozenset({"GRAPH_APPLY"}), kept_for=timedelta(days=1))


async def cut_ledger(settings: Settings) -> Ledger:
    """Make a store with a random history, answers, receipts and an edge that ended, and cut it."""
    ledger = await filled(settings)
    await append(ledger, Change("receipt.put", {"id": "gone", "status": "COMPLETED"}), edge_begin("e-gone"))
    await append(ledger, edges_end(("e-gone", 1)), edge_begin("e-stays"))
    await append(ledger, Change("receipt.put", {"id": "there", "status": "COMPLETED"}))
    await compacted(ledger, CUT, WAITING)
    await compacted(ledger, COMMANDS + 2, WAITING)
    return ledger


async def left_of(ledger: Ledger) -> set[tuple[Any, ...]]:
    """Return what outlived removed rows."""
    return {astuple(each) async for each in ledger.remains()}


@pytest.mark.feature("S103")
@pytest.mark.parametrize(("source", "target"), ACROSS)
async def test_a_cut_ledger_is_put_back(
    source: str, target: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """It begins at the same base, knows the same answers and what was removed, and can be cut and backed up again."""
    ledger = await cut_ledger(await place_of(source, "before", request))
    rows, state = await rows_of(ledger), (await loaded(ledger))[2]
    remains, base = await left_of(ledger), await ledger.base()
    answers = (await contents(ledger, COMMANDS))[1]
    made = await make_backup(ledger, tmp_path / "backup", lambda _: None)
    await ledger.aclose()

    place = await place_of(target, "after", request)
    await restored(tmp_path / "backup", place)

    back = await opened(place)
    assert (made.end.state, made.end.revisions, made.header.base) == (state, len({row.revision for row in rows}), base)
    assert (await rows_of(back))[: len(rows)] == rows
    assert (await contents(back, COMMANDS))[1] == answers
    assert (await left_of(back), await back.base()) == (remains, base)
    assert await back.check() == []
    with pytest.raises(HistoryRemoved):
        await back.receipt("gone")
    assert (await back.receipt("there")) is not None
    with pytest.raises(Exception, match="was made before"):
        await append(back, edge_begin("e-gone"))
    await append(back, edges_end(("e-stays", 1)), edge_begin("e-stays", 2))
    await compacted(back, (await back.head()).revision, WAITING)
    assert await back.check() == []
    await make_backup(back, tmp_path / "again", lambda _: None)
    assert read_through(tmp_path / "again")[0].base == await back.base()
    await back.aclose()


@pytest.mark.parametrize(("source", "target"), ACROSS[:2])
async def test_a_cut_ledger_moves(source: str, target: str, request: pytest.FixtureRequest) -> None:
    """Under the same identity, with the same base, answers and state."""
    left, place = await place_of(source, "left", request), await place_of(target, "new", request)
    ledger = await cut_ledger(left)
    _, head, state = await loaded(ledger)
    rows, remains, base = await rows_of(ledger), await left_of(ledger), await ledger.base()
    await ledger.aclose()

    await moved(left, place)

    gone_on = await opened(place)
    assert (await loaded(gone_on))[2] == state
    assert (await rows_of(gone_on), await left_of(gone_on), await gone_on.base()) == (rows, remains, base)
    assert (await gone_on.head()).store_id == head.store_id
    assert await gone_on.check() == []
    await append(gone_on, Change("principal.put", {"id": "human:after"}))
    await gone_on.aclose()


async def test_an_altered_beginning_is_found(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """An image, a base or an answer that is not what was written is refused before anything is touched."""
    ledger = await cut_ledger(await place_of("sqlite", "before", request))
    await make_backup(ledger, tmp_path / "backup", lambda _: None)
    await ledger.aclose()
    lines = gzip.decompress((tmp_path / "backup").read_bytes()).splitlines(keepends=True)
    place = await place_of("sqlite", "after", request)
    header = json.loads(lines[0])

    def written(*altered: bytes) -> Path:
        path = tmp_path / "altered"
        path.write_bytes(gzip.compress(b"".join(altered)))
        return path

    for altered in (
        [_line({**header, "base": {**header["base"], "hash": "0" * 64}}), *lines[1:]],
        [_line({**header, "base": {**header["base"], "hash": "none"}}), *lines[1:]],
        [_line({**header, "base": "none"}), *lines[1:]],
        [_line({**header, "remit_backup": 3}), *lines[1:]],
        [lines[0], _line(["i", "AAAA"]), *lines[2:]],
        [lines[0], _line(["i", "?"]), *lines[2:]],
        [lines[0], _line(["i", "AAA\u00c1"]), *lines[2:]],
        [lines[0], *lines[2:]],
        [*lines[:2], _line(["k", "r-0", None, 1, "null", None]), *lines[2:]],
        [*lines[:2], _line(["w", "receipt"]), *lines[2:]],
    ):
        with pytest.raises(BackupRefused):
            await restored(written(*altered), place)
    assert not (tmp_path / "after.db").exists()


def _line(value: Any) -> bytes:
    return (json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n").encode()
