"""A ledger in a file and back, and from one store into another: the same bytes, the same answers, the same state."""

from __future__ import annotations

import asyncio
import signal
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from remit_graph.backup.carry import revisions_of
from remit_graph.errors import ChainBroken, ForeignStore, HeadMoved, SchemaTooNew
from remit_graph.head import Beginning, State
from remit_graph.model.change import SCHEMA
from remit_service.backup.make import make_backup
from remit_service.backup.restore import reopen_store
from remit_service.backup.state import READABLE, loaded
from remit_service.cli.app import app
from remit_service.stores import make_store, open_store
from tests.contract.backups import CLOCK, COMMANDS, contents, filled, moved, opened, place_of, restored, tables
from tests.contract.ledger_commands import a_command, append, now
from tests.contract.ledgers import REALM

if TYPE_CHECKING:
    from remit_graph.ports import Ledger
    from remit_graph.stored import Stored
    from remit_service.settings import Settings
    from tests.support.neo4j_server import Neo4jServer

ROOT = Path(__file__).parents[2]
NEO4J = pytest.mark.neo4j
KINDS = [pytest.param("sqlite", id="sqlite"), pytest.param("neo4j", id="neo4j", marks=NEO4J)]
ACROSS = [
    pytest.param("sqlite", "neo4j", id="sqlite to neo4j", marks=NEO4J),
    pytest.param("neo4j", "sqlite", id="neo4j to sqlite", marks=NEO4J),
    pytest.param("sqlite", "sqlite", id="sqlite to sqlite"),
]


@pytest.mark.feature("S85")
@pytest.mark.parametrize(("source", "target"), [*ACROSS, pytest.param("neo4j", "neo4j", id="neo4j back", marks=NEO4J)])
async def test_a_backup_is_put_back(source: str, target: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Every row and every answer comes back byte for byte, in a store of a new incarnation that begins by saying so."""
    ledger = await filled(await place_of(source, "before", request))
    rows, answers = await contents(ledger, COMMANDS)
    before = await ledger.head()
    reached: list[int] = []

    made = await make_backup(ledger, tmp_path / "backup", reached.append)
    await ledger.aclose()
    place = await place_of(target, "after", request)
    back = await restored(tmp_path / "backup", place)

    ledger = await opened(place)
    head = await ledger.head()
    assert await contents(ledger, COMMANDS) == (rows, answers)
    assert (made.header.revision, made.header.hash) == (before.revision, before.hash)
    assert (made.end.rows, made.end.answers, reached[-1]) == (len(rows), len(answers), COMMANDS)
    assert (head.incarnation, head.revision, back.head.hash) == (2, COMMANDS + 1, head.hash)
    assert head.store_id != before.store_id
    assert [entry.action for entry in await ledger.read(COMMANDS, 10)] == ["RESTORE"]
    assert await ledger.check() == []
    with pytest.raises(ForeignStore, match="incarnation 1"):
        await ledger.append(before, [a_command(at=now(before))])
    await ledger.aclose()


@pytest.mark.parametrize(("source", "target"), ACROSS)
async def test_a_ledger_moves(source: str, target: str, request: pytest.FixtureRequest) -> None:
    """It goes on under the same identity, so that nothing issued ends; the store that it left is closed to everyone."""
    left, place = await place_of(source, "left", request), await place_of(target, "new", request)
    ledger = await filled(left)
    rows, answers = await contents(ledger, COMMANDS)
    before = await ledger.head()
    _, _, state = await loaded(ledger)

    await moved(left, place)

    gone_on = await opened(place)
    head = await gone_on.head()
    assert (head.store_id, head.incarnation, head.revision, head.hash) == (
        before.store_id, before.incarnation, before.revision, before.hash,
    )  # fmt: skip
    assert await contents(gone_on, COMMANDS) == (rows, answers)
    assert (await loaded(gone_on))[2] == state
    assert await gone_on.check() == []
    assert (await append(gone_on)).revision == COMMANDS + 1
    # Whoever had the old store open writes nothing into it any more, and nobody opens it by mistake.
    with pytest.raises(ForeignStore, match="moved"):
        await ledger.append(before, [a_command(at=now(before))])
    with pytest.raises(ForeignStore, match="went on at"):
        await ledger.head()
    with pytest.raises(ForeignStore, match="went on at") as caught:
        await opened(left)
    assert "remit store reopen" in caught.value.advice
    for each in (ledger, gone_on):
        await each.aclose()


@NEO4J
@pytest.mark.timeout(400)
async def test_each_store_of_a_move_has_a_password_of_its_own(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """In the environment or in a file, never on the command line: two servers seldom share one."""
    left, place = await place_of("sqlite", "left", request), await place_of("neo4j", "new", request)
    server: Neo4jServer = request.getfixturevalue("neo4j_of_this_run")
    await (await filled(left)).aclose()
    system = server.system
    await asyncio.to_thread(system, "CREATE USER mover SET PASSWORD 'moves-1t' CHANGE NOT REQUIRED")
    right, wrong = tmp_path / "right.txt", tmp_path / "wrong.txt"
    right.write_text("moves-1t\n")
    wrong.write_text("wr0ng-one\n")
    to = place.store.replace(f"{server.user}@", "mover@")

    async def migrated(*words: str, **environment: str) -> tuple[int, str]:
        call = ("--json", "--store", left.store, "store", "migrate", *words, "--to", to)
        result = await asyncio.to_thread(CliRunner().invoke, app, call, env=environment)
        return result.exit_code, result.stdout

    try:
        # What the store in force has for a password is not that of another one.
        refused = await migrated("--to-password-file", str(wrong), REMIT_STORE_PASSWORD="moves-1t")
        assert (refused[0], "refused user and password" in refused[1]) == (3, True)
        assert (await migrated(REMIT_STORE_PASSWORD=server.password, REMIT_TARGET_PASSWORD="moves-1t"))[0] == 0
        # Both are read now: the ledger is found with one, and with the other that the place is taken.
        for words in (("--to-password-file", str(right)), ()):
            source = ("--from", place.store, "--from-password-file", str(tmp_path / "first.txt"))
            (tmp_path / "first.txt").write_text(server.password)
            code, said = await migrated(*source, *words, REMIT_TARGET_PASSWORD_FILE=str(right))
            assert (code, "holds something already" in said, "moves-1t" in said) == (3, True, False)
        ledger = await opened(place)
        assert (await ledger.head()).revision == COMMANDS
        await ledger.aclose()
    finally:
        await asyncio.to_thread(system, "DROP USER mover")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_store_that_holds_something_is_not_restored_over(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A backup is put into a new store only; what is there stays as it is, and the source of a move stays open."""
    ledger = await filled(await place_of("sqlite", "before", request))
    await make_backup(ledger, tmp_path / "backup", lambda _: None)
    place = await place_of(kind, "taken", request)
    taken = await filled(place, seed=8)
    head = await taken.head()

    with pytest.raises(ForeignStore) as over:
        await restored(tmp_path / "backup", place)
    with pytest.raises(ForeignStore) as onto:
        await moved(await _settings_of_before(request), place)

    assert (over.value.code, onto.value.code) == ("already_exists", "already_exists")
    assert ((await taken.head()).hash, await taken.check()) == (head.hash, [])
    assert (await append(ledger)).revision == COMMANDS + 1
    for each in (ledger, taken):
        await each.aclose()


async def _settings_of_before(request: pytest.FixtureRequest) -> Settings:
    return await place_of("sqlite", "before", request)


@pytest.mark.chaos
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["restore", "move"])
async def test_what_was_killed_half_way_is_begun_again(
    kind: str, how: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Kill -9 in the middle leaves a store that says it is unfinished and is used by nobody; again, and it is whole."""
    source, place = await place_of("sqlite", "before", request), await place_of(kind, "after", request)
    ledger = await filled(source)
    rows, answers = await contents(ledger, COMMANDS)
    await make_backup(ledger, tmp_path / "backup", lambda _: None)
    await ledger.aclose()

    done = await _killed(how, source, place, tmp_path / "backup")

    assert done == -signal.SIGKILL
    with pytest.raises(ForeignStore, match=r"unfinished: a (restore of backup|move from)") as caught:
        await opened(place)
    assert "begin it again" in caught.value.advice
    half = await open_store(place, CLOCK, accepts=frozenset({State.UNFINISHED}))
    assert 0 < (await half.head()).revision < COMMANDS
    await half.aclose()
    await (restored(tmp_path / "backup", place) if how == "restore" else moved(source, place))
    ledger = await opened(place)
    assert await contents(ledger, COMMANDS) == (rows, answers)
    assert await ledger.check() == []
    await ledger.aclose()


async def _killed(how: str, source: Settings, place: Settings, backup: Path) -> int:
    password = place.store_password.reveal() if place.store_password is not None else ""
    command = [sys.executable, "-m", "tests.contract.backup_process", how, source.store, place.store, password, backup]
    process = await asyncio.create_subprocess_exec(*map(str, command), cwd=ROOT)
    return await process.wait()


@pytest.mark.parametrize("kind", KINDS)
async def test_an_unfinished_store_takes_only_what_follows(kind: str, request: pytest.FixtureRequest) -> None:
    """Rows that do not follow by their hashes are refused, and so are those for a place where others stand already."""
    ledger = await filled(await place_of("sqlite", "before", request))
    first, second = [list(await _stored(ledger, revision)) for revision in (1, 2)]
    place = await place_of(kind, "after", request)
    filling = await make_store(place, CLOCK, realm=REALM, beginning=await _beginning(ledger))
    start = await filling.head()

    with pytest.raises(ChainBroken):
        await filling.put_back(start, second)
    reached = await filling.put_back(start, first)
    with pytest.raises(HeadMoved):
        await filling.put_back(start, first)
    with pytest.raises(ForeignStore, match="unfinished"):
        await opened(place)
    with pytest.raises(ForeignStore, match="in use already"):
        await ledger.put_back(await ledger.head(), first)
    done = await filling.finish(await filling.put_back(reached, second))

    assert (done.state, done.revision, done.note) == (State.READY, 2, "")
    with pytest.raises(ForeignStore):
        await filling.finish(done)
    for each in (ledger, filling):
        await each.aclose()


async def _stored(ledger: Ledger, revision: int) -> list[Stored]:
    some = [each async for each in revisions_of(ledger, revision)]
    return [each for each in some[0] if each.rows[0].revision == revision]


async def _beginning(ledger: Ledger) -> Beginning:
    head = await ledger.head()
    return Beginning(
        store_id=head.store_id, incarnation=head.incarnation, schema=head.schema, needs=head.needs, note="a trial"
    )


@pytest.mark.parametrize("kind", KINDS)
async def test_a_store_that_was_moved_away_is_opened_as_another(kind: str, request: pytest.FixtureRequest) -> None:
    """Reopened, it is a new incarnation, as the two stores never share one. Until then its log can still be read."""
    place = await place_of(kind, "left", request)
    ledger = await filled(place)
    before = await ledger.head()
    await ledger.move_away("sqlite:///elsewhere.db")
    with pytest.raises(ForeignStore, match="elsewhere"):
        await ledger.move_away("sqlite:///another.db")
    assert (await ledger.move_away("sqlite:///elsewhere.db")).state is State.MOVED
    await ledger.aclose()

    readable = await open_store(place, CLOCK, accepts=READABLE)
    assert (await readable.head()).hash == before.hash
    await readable.aclose()
    head = await reopen_store(place, clock=CLOCK, tables=tables())

    assert (head.state, head.incarnation, head.revision) == (State.READY, 2, COMMANDS + 1)
    assert head.store_id != before.store_id
    with pytest.raises(ForeignStore, match="was not moved"):
        await reopen_store(place, clock=CLOCK, tables=tables())


@pytest.mark.parametrize("kind", KINDS)
async def test_decision_points_say_that_they_are_there(kind: str, request: pytest.FixtureRequest) -> None:
    """Each is seen once, under what it last said, until it departs; a later schema is switched to and never back."""
    ledger = await make_store(await place_of(kind, "store", request), CLOCK, realm=REALM)
    minute = timedelta(minutes=1)

    await ledger.announce("b", "1.0.0", 1)
    await ledger.announce("a", "1.0.0", 1)
    await ledger.announce("a", "1.1.0", 2)
    seen = await ledger.seen(minute)
    await ledger.depart("b")
    head = await ledger.enable_schema(SCHEMA, "1.1.0")
    later = await ledger.enable_schema(SCHEMA + 1, "1.1.0")
    back = await ledger.enable_schema(SCHEMA, "1.0.0")

    assert [(each.name, each.version, each.schema) for each in seen] == [("a", "1.1.0", 2), ("b", "1.0.0", 1)]
    assert [each.name for each in await ledger.seen(minute)] == ["a"]
    assert await ledger.seen(timedelta(0)) == []
    assert (head.schema, head.needs) == (SCHEMA, "")
    assert (later.schema, later.needs) == (back.schema, back.needs) == (SCHEMA + 1, "1.1.0")
    with pytest.raises(SchemaTooNew) as caught:
        await append(ledger)
    assert caught.value.advice == "install Remit 1.1.0 or later"
    assert await ledger.check() == []
    await ledger.aclose()
