"""The writer: batches, refusals, repeats and lost races, on the real embedded ledger."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.errors import HeadMoved, LedgerUnavailable, OutcomeUnknown
from remit_graph.model.change import Change
from remit_graph.sqlite.ledger import SqliteLedger
from remit_service.clock import SystemClock
from remit_service.replica.replica import Replica
from remit_service.writer.command import Accepted, Refused, Submission, Verdict
from remit_service.writer.writer import Writer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View


@asynccontextmanager
async def a_writer(path: Path) -> AsyncIterator[tuple[Writer, Replica]]:
    """Run a writer on the ledger at `path`, made if it is not there."""
    there = await asyncio.to_thread(path.exists)
    ledger = await (SqliteLedger.open(path) if there else SqliteLedger.init(path, "acme"))
    clock = SystemClock()
    replica = Replica(ledger, clock)
    writer = Writer(ledger, replica, clock)
    await replica.start()
    await writer.start()
    try:
        yield writer, replica
    finally:
        await writer.aclose()
        await replica.aclose()
        await ledger.aclose()


def put(name: str, *, request_id: str | None = None, fingerprint: str | None = None) -> Submission:
    """Return a command that declares a principal, refused where it is there."""

    def decide(view: View, _at: Instant) -> Verdict:
        if name in view.principals:
            return Refused(code="already_exists", message=f"`{name}` exists already")
        return Accepted(changes=(Change("principal.put", {"id": name}),), result={"id": name})

    return Submission(action="TEST", actor="system", decide=decide, request_id=request_id, fingerprint=fingerprint)


def count() -> Submission:
    """Return a command that reads how many principals there are and declares the next one."""

    def decide(view: View, _at: Instant) -> Verdict:
        name = f"role:r{len(view.principals)}"
        return Accepted(changes=(Change("principal.put", {"id": name}),), result={"id": name})

    return Submission(action="TEST", actor="system", decide=decide)


async def test_commands_of_one_batch_see_each_other_and_get_consecutive_revisions(tmp_path: Path) -> None:
    """Fifty commands that each count what is there leave fifty principals, none lost, none twice."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        done = await asyncio.gather(*(writer.submit(count()) for _ in range(50)))

        assert sorted(each.revision for each in done) == list(range(1, 51))
        assert len(replica.view.principals) == 50


async def test_a_refused_command_harms_no_other_in_its_batch(tmp_path: Path) -> None:
    """Of three commands the middle one repeats the first: it is refused, the others are appended."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        first, second, third = await asyncio.gather(
            writer.submit(put("role:a")), writer.submit(put("role:a")), writer.submit(put("role:b"))
        )

        assert isinstance(first.verdict, Accepted)
        assert second.verdict == Refused(code="already_exists", message="`role:a` exists already")
        assert isinstance(third.verdict, Accepted)
        assert sorted(replica.view.principals) == ["role:a", "role:b"]
        assert replica.view.revision == 2


async def test_no_read_sees_a_change_before_it_is_appended(tmp_path: Path) -> None:
    """While the append is on its way, the view is where it was."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        seen: list[int] = []
        append = replica.ledger.append

        async def watched(*arguments: Any) -> Any:
            seen.append(len(replica.view.principals))
            return await append(*arguments)

        replica.ledger.append = watched  # type: ignore[method-assign, assignment]
        await writer.submit(put("role:a"))

        assert seen == [0]
        assert len(replica.view.principals) == 1


@pytest.mark.feature("S85")
async def test_a_repeated_request_id_returns_the_stored_result(tmp_path: Path) -> None:
    """The same id and body gives the first answer, at once and after a restart; another body is refused."""
    path = tmp_path / "l.db"
    async with a_writer(path) as (writer, _replica):
        first = await writer.submit(put("role:a", request_id="r1", fingerprint="f1"))
        again = await writer.submit(put("role:a", request_id="r1", fingerprint="f1"))

        assert (again.revision, again.replayed) == (first.revision, True)
        assert isinstance(again.verdict, Accepted)
        assert again.verdict.result == {"id": "role:a"}
    async with a_writer(path) as (writer, replica):
        later = await writer.submit(put("role:a", request_id="r1", fingerprint="f1"))
        other = await writer.submit(put("role:b", request_id="r1", fingerprint="f2"))

        assert (later.revision, later.replayed) == (1, True)
        assert isinstance(other.verdict, Refused)
        assert other.verdict.code == "idempotency_mismatch"
        assert replica.view.revision == 1


@pytest.mark.feature("S85")
async def test_one_request_id_sent_many_times_at_once_runs_once(tmp_path: Path) -> None:
    """Twenty simultaneous repeats append one revision and get one answer."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        done = await asyncio.gather(
            *(writer.submit(put("role:a", request_id="r1", fingerprint="f1")) for _ in range(20))
        )

        assert {each.revision for each in done} == {1}
        assert [each.replayed for each in done].count(False) == 1
        assert replica.view.revision == 1


@pytest.mark.feature("S83")
async def test_two_writers_on_one_ledger_lose_nothing(tmp_path: Path) -> None:
    """Two processes' writers that both count leave as many principals as commands."""
    path = tmp_path / "l.db"
    async with a_writer(path) as (one, replica), a_writer(path) as (two, _other):
        await asyncio.gather(*(each.submit(count()) for _ in range(30) for each in (one, two)))
        await replica.catch_up()

        assert replica.view.revision == 60
        assert len(replica.view.principals) == 60


def after_the_commit(append: Callable[..., Any]) -> Callable[..., Any]:
    """Return an append that loses its connection once, after the commit."""
    cut = [True]

    async def cut_once(*arguments: Any) -> Any:
        entries = await append(*arguments)
        if cut.pop() if cut else False:
            raise OutcomeUnknown("the connection ended while committing")
        return entries

    return cut_once


@pytest.mark.feature("S85")
async def test_an_unknown_outcome_is_looked_up_and_not_appended_again(tmp_path: Path) -> None:
    """The commit went through and its answer was lost: the caller gets the result, and there is one revision."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        replica.ledger.append = after_the_commit(replica.ledger.append)  # type: ignore[method-assign]
        done = await writer.submit(put("role:a", request_id="r1", fingerprint="f1"))

        assert isinstance(done.verdict, Accepted)
        assert replica.view.revision == 1


async def test_a_command_without_request_id_is_told_that_its_outcome_is_unknown(tmp_path: Path) -> None:
    """Nothing can be looked up, so the caller is told to look before it repeats."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        replica.ledger.append = after_the_commit(replica.ledger.append)  # type: ignore[method-assign]
        with pytest.raises(OutcomeUnknown):
            await writer.submit(put("role:a"))

        assert replica.view.revision == 1


async def test_a_command_waiting_when_the_process_stops_is_told_so(tmp_path: Path) -> None:
    """A stopped writer appends nothing and answers what still waits."""
    async with a_writer(tmp_path / "l.db") as (writer, _replica):
        await writer.aclose()
        task = asyncio.ensure_future(writer.submit(put("role:a")))
        await asyncio.sleep(0)
        await writer.aclose()
        with pytest.raises(LedgerUnavailable):
            await asyncio.wait_for(task, 5)


async def test_a_command_that_cannot_be_decided_harms_no_other(tmp_path: Path) -> None:
    """A fault in one command reaches its caller; the commands beside it, and those after it, are appended."""

    def broken(view: View, _at: Instant) -> Verdict:
        view.principals.pop("role:nobody")
        raise AssertionError("pop raises first")

    async with a_writer(tmp_path / "l.db") as (writer, replica):
        fault = Submission(action="TEST", actor="system", decide=broken)
        results = await asyncio.gather(
            writer.submit(put("role:a")), writer.submit(fault), writer.submit(put("role:b")), return_exceptions=True
        )

        assert isinstance(results[1], KeyError)
        assert sorted(replica.view.principals) == ["role:a", "role:b"]
        assert (await writer.submit(put("role:c"))).revision == 3


@pytest.mark.parametrize("fault", [LedgerUnavailable("gone", advice="wait"), RuntimeError("nobody thought of it")])
async def test_a_fault_after_a_lost_race_does_not_end_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    """The head moved and the ledger cannot be read: that command is told so, and the next one is appended."""

    async def moved(*_: Any) -> Any:
        raise HeadMoved("another process was first")

    async def unreadable() -> None:
        raise fault

    async with a_writer(tmp_path / "l.db") as (writer, replica):
        with monkeypatch.context() as broken:
            broken.setattr(replica.ledger, "append", moved)
            broken.setattr(replica, "catch_up", unreadable)
            with pytest.raises(type(fault)):
                await writer.submit(put("role:a"))

        assert (await asyncio.wait_for(writer.submit(put("role:b")), 5)).revision == 1


@pytest.mark.feature("S85")
async def test_a_command_sent_to_two_processes_at_once_is_one_command(tmp_path: Path) -> None:
    """Whichever loses the race finds the other's result; deciding again would refuse what is there by its own doing."""
    path = tmp_path / "l.db"
    async with a_writer(path) as (one, replica), a_writer(path) as (two, _other):
        for number in range(20):
            name = f"role:r{number}"
            done = await asyncio.gather(
                *(each.submit(put(name, request_id=f"r{number}", fingerprint="f")) for each in (one, two))
            )

            assert [each.verdict.result for each in done if isinstance(each.verdict, Accepted)] == [{"id": name}] * 2
            assert len({each.revision for each in done}) == 1
        await replica.catch_up()
        assert replica.view.revision == 20


async def test_what_another_process_stored_is_in_the_view_of_whoever_is_told(tmp_path: Path) -> None:
    """A repeat answered from the store comes with its revision, also where the tail has not brought it yet."""
    path = tmp_path / "l.db"
    async with a_writer(path) as (one, _), a_writer(path) as (two, behind):
        # Its tail hears nothing.
        await behind.aclose()
        done = await one.submit(put("role:a", request_id="r", fingerprint="f"))

        repeated = await two.submit(put("role:a", request_id="r", fingerprint="f"))

        assert (repeated.replayed, repeated.revision) == (True, done.revision)
        assert "role:a" in behind.view.principals
