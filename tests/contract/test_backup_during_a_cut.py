"""A backup that is made while history is cut: there is a whole one, or none and a sentence that says so."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.backup import carry
from remit_graph.errors import HistoryRemoved
from remit_graph.history import Retention
from remit_graph.model.change import Change
from remit_graph.neo4j import read as in_neo4j
from remit_graph.sqlite import read as in_sqlite
from remit_service.backup import make
from remit_service.backup.make import make_backup
from remit_service.backup.restore import read_through
from tests.contract.backups import COMMANDS, filled, opened, place_of, restored
from tests.contract.compactions import compacted
from tests.contract.ledger_commands import append

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from remit_graph.ports import Ledger

AT_ONCE = Retention(actions=frozenset({"GRAPH_APPLY"}), kept_for=timedelta(0))
"""Answers go with their rows."""

FIRST = 10
"""Where history was cut before."""


@pytest.fixture(params=["sqlite", pytest.param("neo4j", marks=pytest.mark.neo4j)])
async def ledgers(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Ledger, Ledger]]:
    """Two ledgers on one store whose history was cut once, of which few rows are read at once."""
    place = await place_of(request.param, "cut", request)
    ledger = await filled(place)
    other = await opened(place)
    await compacted(ledger, FIRST)
    monkeypatch.setattr(carry, "ROWS", 10)
    monkeypatch.setattr(in_sqlite, "ROWS_PER_PAGE", 10)
    monkeypatch.setattr(in_neo4j, "ROWS_PER_PAGE", 10)
    yield ledger, other
    await ledger.aclose()
    await other.aclose()


def once(cut: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[None]]:
    """Return what cuts the first time."""
    left = [cut]

    async def first() -> None:
        if left:
            await left.pop()()

    return first


def after_call(name: str, cut: Callable[[], Awaitable[None]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a function of `make` be followed by a cut."""
    inner = getattr(make, name)

    async def followed(*given: Any) -> Any:
        found = await inner(*given)
        await cut()
        return found

    monkeypatch.setattr(make, name, followed)


def after_some(name: str, cut: Callable[[], Awaitable[None]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first that a stream of `make` yields be followed by a cut."""
    inner = getattr(make, name)

    async def followed(*given: Any, **more: Any) -> AsyncIterator[Any]:
        async for some in inner(*given, **more):
            yield some
            await cut()

    monkeypatch.setattr(make, name, followed)


@pytest.mark.parametrize(
    ("let", "name"), [(after_call, "beginning_of"), (after_some, "remains_of"), (after_some, "revisions_of")]
)
async def test_a_cut_on_the_way_leaves_no_backup(
    ledgers: tuple[Ledger, Ledger], let: Any, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever was read by then, what was removed is missed, told, and not in half a file."""
    ledger, other = ledgers
    let(name, once(lambda: compacted(other, COMMANDS, AT_ONCE)), monkeypatch)

    await _refused(ledger, tmp_path)


async def test_answers_that_went_meanwhile_are_no_broken_chain(
    ledgers: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Rows were read, and what they were answered with is gone: the ledger is sound, and the backup is not made."""
    ledger, other = ledgers
    cut, results = once(lambda: compacted(other, COMMANDS, AT_ONCE)), ledger.results

    async def after_the_cut(request_ids: Any) -> Any:
        await cut()
        return await results(request_ids)

    monkeypatch.setattr(ledger, "results", after_the_cut)

    await _refused(ledger, tmp_path)


@pytest.mark.parametrize("further", [-5, 0, 1])
async def test_a_cut_before_the_beginning_is_read_leaves_a_whole_backup(
    ledgers: tuple[Ledger, Ledger],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    further: int,
) -> None:
    """It begins where history begins by then, and holds the row that anchors the state there: it can be put back."""
    ledger, other = ledgers
    at = (await ledger.head()).revision + further

    async def cut() -> None:
        await append(other, Change("principal.put", {"id": "human:after"}))
        await compacted(other, at, AT_ONCE)

    after_call("loaded", once(cut), monkeypatch)

    made = await make_backup(ledger, tmp_path / "backup", lambda _: None)

    assert read_through(tmp_path / "backup") == (made.header, made.end)
    assert made.header.base.revision == at
    done = await restored(tmp_path / "backup", await place_of("sqlite", "back", request))
    assert done.head.revision == made.header.revision + 1


async def test_the_image_is_found_where_history_is_cut_again_meanwhile(
    ledgers: tuple[Ledger, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for it gets that of the one base or of the other, and is told of no damage."""
    ledger, other = ledgers
    cut, base = once(lambda: compacted(other, COMMANDS)), ledger.base

    async def before_the_cut() -> Any:
        found = await base()
        await cut()
        return found

    monkeypatch.setattr(ledger, "base", before_the_cut)

    image = await ledger.base_checkpoint()

    assert image is not None
    assert image.revision in (FIRST, COMMANDS)


async def _refused(ledger: Ledger, folder: Path) -> None:
    """Try to make a backup: there is none afterwards, a sentence says why, and the next one is whole."""
    with pytest.raises(HistoryRemoved, match="history was cut while the backup was made") as caught:
        await make_backup(ledger, folder / "backup", lambda _: None)

    assert caught.value.advice == "make it again"
    assert not _backups_in(folder)
    made = await make_backup(ledger, folder / "backup", lambda _: None)
    assert read_through(folder / "backup") == (made.header, made.end)
    assert await ledger.check() == []


def _backups_in(folder: Path) -> list[Path]:
    return [each for each in folder.iterdir() if "backup" in each.name]
