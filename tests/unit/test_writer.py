"""The writer: batches, refusals, repeats and lost races, on the real embedded ledger."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import pytest

from remit_graph.errors import ConstraintBroken, HeadMoved, LedgerUnavailable, OutcomeUnknown
from remit_graph.model.change import Change, Command
from remit_graph.model.instant import SECOND
from remit_graph.sqlite.ledger import SqliteLedger
from remit_graph.sqlite.options import SqliteOptions
from remit_graph.view.apply import apply_changes
from remit_graph.view.journal import Journal
from remit_service.clock import ManualClock, SystemClock
from remit_service.replica.replica import Replica
from remit_service.writer.command import Accepted, Refused, Submission, Verdict
from remit_service.writer.writer import Writer
from tests.support.writers import a_writer, count, put

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View


async def test_commands_of_one_batch_see_each_other_and_get_consecutive_revisions(tmp_path: Path) -> None:
    """Fifty commands that each count what is there leave fifty principals, none lost, none twice."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        done = await asyncio.gather(*(writer.submit(count()) for _ in range(50)))

        assert sorted(each.revision for each in done) == list(range(1, 51))
        assert len(replica.view.principals) == 50


def left_applied(result: dict[str, Any]) -> Submission:
    """Return what `count` is, with its change left in the view, as commands of coordination leave theirs."""

    def decide(view: View, at: Instant) -> Verdict:
        name = f"role:r{len(view.principals)}"
        journal, changes = Journal(), (Change("principal.put", {"id": name}),)
        apply_changes(view, changes, journal, revision=view.revision + 1, at=at)
        return Accepted(changes=changes, result=result, applied=journal)

    return Submission(action="TEST", actor="system", decide=decide, request_id=str(id(decide)))


async def test_what_a_decision_left_in_the_view_is_applied_once(tmp_path: Path) -> None:
    """Between commands that leave nothing, and after one that is a fault on its way to the ledger, each counts once."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        commands = [count(), left_applied({}), count(), left_applied({"no": 0.5}), left_applied({}), count()]
        done = await asyncio.gather(*map(writer.submit, commands), return_exceptions=True)

        assert [type(each).__name__ for each in done] == ["Done", "Done", "Done", "ModelError", "Done", "Done"]
        assert sorted(replica.view.principals) == [f"role:r{number}" for number in range(5)]
        assert replica.view.revision == 5


async def test_what_two_callers_that_one_append_woke_ask_next_is_one_append(tmp_path: Path) -> None:
    """One hears of it at once and the other a turn of the event loop later, as whoever waits in a queue does."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        batches: list[int] = []
        append = replica.ledger.append

        async def watched(expected: Any, batch: Any) -> Any:
            batches.append(len(batch))
            return await append(expected, batch)

        async def later() -> None:
            await asyncio.sleep(0)
            await writer.submit(count())

        replica.ledger.append = watched  # type: ignore[method-assign]
        await asyncio.gather(writer.submit(count()), later())

        assert batches == [2]


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
            await asyncio.wait_for(task, 60)


async def test_a_caller_that_has_gone_leaves_no_error_behind(tmp_path: Path) -> None:
    """Whoever hung up while its command waited is not told that the process stops, and nothing is logged for it."""
    unseen: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: unseen.append(context))
    async with a_writer(tmp_path / "l.db") as (writer, _replica):
        await writer.aclose()
        gone = asyncio.create_task(writer.submit(put("role:a")))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        await writer.aclose()
    # The task holds its frames, and they what it waited for.
    del gone
    gc.collect()

    assert unseen == []


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

        assert (await asyncio.wait_for(writer.submit(put("role:b")), 60)).revision == 1


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


async def test_renewals_are_decided_before_all_else(tmp_path: Path) -> None:
    """Rules.md 11: what would run out does not wait behind what came earlier."""
    async with a_writer(tmp_path / "l.db") as (writer, _replica):
        others = [asyncio.create_task(writer.submit(count())) for _ in range(5)]
        renewal = asyncio.create_task(writer.submit(replace(count(), action="RENEW")))

        done = await asyncio.gather(renewal, *others)

        assert [each.revision for each in done] == [1, 2, 3, 4, 5, 6]


async def test_a_renewal_that_comes_while_others_wait_for_their_turn_is_in_the_next_batch(tmp_path: Path) -> None:
    """It joins the batch that is about to be decided, and is answered also if that batch is lost once more."""
    path = tmp_path / "l.db"
    async with a_writer(path) as (writer, replica):
        other = await SqliteLedger.open(path, options=SqliteOptions(turn=timedelta(minutes=10)))
        await other.take_turn()
        first = asyncio.create_task(writer.submit(count()))
        while not (await other.see_turn()).waiting:
            await replica.catch_up()
        renewal = asyncio.create_task(writer.submit(replace(count(), action="RENEW")))
        await asyncio.sleep(0)

        await other.pass_turn()

        assert ((await renewal).revision, (await first).revision) == (1, 2)
        await other.aclose()


async def test_whoever_lost_an_append_takes_the_turn_and_uses_it(tmp_path: Path) -> None:
    """After one lost append the next one has the turn, and where nobody else waits none is left over."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        had: list[bool] = []
        append = replica.ledger.append

        async def lost_once(*arguments: Any) -> Any:
            had.append((await replica.ledger.see_turn()).mine)
            if len(had) == 1:
                raise HeadMoved("another process was first")
            return await append(*arguments)

        replica.ledger.append = lost_once  # type: ignore[method-assign, assignment]
        await writer.submit(count())
        await writer.submit(count())

        assert had == [False, True, False]
        assert (await replica.ledger.see_turn()).is_free


async def test_whoever_is_slow_to_catch_up_keeps_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one to append need not catch up; without signs of life the turns of all others would lapse before it."""
    path = tmp_path / "l.db"
    async with a_writer(path) as (writer, replica):
        other = await SqliteLedger.open(path, options=SqliteOptions(turn=timedelta(minutes=10)))
        await other.take_turn()
        first = asyncio.create_task(writer.submit(count()))
        while not (await other.see_turn()).waiting:
            await replica.catch_up()
        asked: list[bool] = []
        is_alive = asyncio.Event()
        take_turn, catch_up = replica.ledger.take_turn, replica.catch_up

        async def counted() -> Any:
            turn = await take_turn()
            asked.append(turn.mine)
            if len(asked) == 3:
                is_alive.set()
            # The turn that was handed on lasts ten minutes, and the writer is to hear of a short one.
            return replace(turn, until=turn.now + 1_000)

        async def slow() -> Any:
            await is_alive.wait()
            return await catch_up()

        monkeypatch.setattr(replica.ledger, "take_turn", counted)
        monkeypatch.setattr(replica.ledger, "see_turn", counted)
        monkeypatch.setattr(replica, "catch_up", slow)
        monkeypatch.setattr(replica, "reached", lambda *_: asyncio.sleep(0, result=False))
        head = await other.head()
        command = Command(
            action="TEST",
            actor="system",
            at=max(head.now, head.at),
            changes=(Change("principal.put", {"id": "role:other"}),),
        )
        await other.append(head, [command])
        # Nothing but catching up brings it the revision.
        await replica.aclose()

        assert (await asyncio.wait_for(first, 60)).revision == 2
        assert asked[-2:] == [True, True]
        await other.aclose()


async def test_a_turn_that_finds_nothing_to_append_is_passed_on(tmp_path: Path) -> None:
    """A command that is refused once it is decided again gives the turn to the next writer at once."""
    path = tmp_path / "l.db"
    async with a_writer(path) as (writer, replica):
        other = await SqliteLedger.open(path, options=SqliteOptions(turn=timedelta(minutes=10)))
        await other.take_turn()
        refused = asyncio.create_task(writer.submit(put("role:a")))
        while not (await other.see_turn()).waiting:
            await replica.catch_up()
        head = await other.head()
        changes = (Change("principal.put", {"id": "role:a"}),)
        command = Command(action="TEST", actor="system", at=max(head.now, head.at), changes=changes)
        await other.append(head, [command])

        assert isinstance((await refused).verdict, Refused)
        # The turn is passed on after the answer, and would last ten minutes if it were not.
        async with asyncio.timeout(60):
            while not (await other.take_turn()).mine:
                await replica.catch_up()
        await other.aclose()


async def test_a_constraint_that_one_command_breaks_alone_is_suspicious(tmp_path: Path) -> None:
    """Rules.md 11: its decision found nothing in the way, so the store holds what the log does not."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        called: list[int] = []
        writer.suspect(lambda: called.append(1))
        append = replica.ledger.append

        async def broken(head: Any, batch: Any) -> Any:
            if any(change.body["id"] == "role:b" for command in batch for change in command.changes):
                raise ConstraintBroken("`role:b` was put into the database past the ledger")
            return await append(head, batch)

        replica.ledger.append = broken  # type: ignore[method-assign, assignment]
        done = await asyncio.gather(*(writer.submit(put(f"role:{name}")) for name in "abc"))

        assert [type(each.verdict) for each in done] == [Accepted, Refused, Accepted]
        assert called == [1]


async def test_closing_waits_for_what_was_taken(tmp_path: Path) -> None:
    """A batch on its way is appended and answered before `aclose` returns; nobody is left to guess."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        begun, go_on = asyncio.Event(), asyncio.Event()
        append = replica.ledger.append

        async def held(*arguments: Any) -> Any:
            begun.set()
            await go_on.wait()
            return await append(*arguments)

        replica.ledger.append = held  # type: ignore[method-assign, assignment]
        submitted = asyncio.create_task(writer.submit(count()))
        await begun.wait()
        closing = asyncio.create_task(writer.aclose())
        await asyncio.sleep(0)
        go_on.set()
        await closing

        assert submitted.done()
        assert (await submitted).revision == 1


class Held:
    """An append that waits until it is told to go on, once; `batches` are the sizes of all that were begun."""

    def __init__(self, replica: Replica) -> None:
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.batches: list[int] = []
        self.fault: Exception | None = None
        self._append = replica.ledger.append
        replica.ledger.append = self._held  # type: ignore[method-assign, assignment]

    async def _held(self, head: Any, batch: Any) -> Any:
        self.batches.append(len(batch))
        if not self.begun.is_set():
            self.begun.set()
            await self.go_on.wait()
            if self.fault is not None:
                raise self.fault
        return await self._append(head, batch)


async def _one_on_its_way_and_five_decided(writer: Writer, held: Held) -> tuple[list[asyncio.Task[Any]], list[int]]:
    """Submit a command, and five more while it is on its way; return when they are decided, with what each saw."""
    saw: list[int] = []
    all_decided = asyncio.Event()

    def watched() -> Submission:
        counted = count()

        def decide(view: View, at: Instant) -> Verdict:
            saw.append(len(view.principals))
            if len(saw) == 5:
                all_decided.set()
            return counted.decide(view, at)

        return replace(counted, decide=decide)

    tasks = [asyncio.create_task(writer.submit(count()))]
    await held.begun.wait()
    tasks += [asyncio.create_task(writer.submit(watched())) for _ in range(5)]
    async with asyncio.timeout(60):
        await all_decided.wait()
    return tasks, saw


async def test_while_an_append_is_on_its_way_the_next_batch_is_decided(tmp_path: Path) -> None:
    """Five commands that come meanwhile see the first one, which no read does, and share the next append."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        held = Held(replica)
        tasks, saw = await _one_on_its_way_and_five_decided(writer, held)
        read = (len(replica.view.principals), replica.view.revision)
        held.go_on.set()
        done = await asyncio.gather(*tasks)

        assert read == (0, 0)
        assert saw == [1, 2, 3, 4, 5]
        assert [each.revision for each in done] == [1, 2, 3, 4, 5, 6]
        assert held.batches == [1, 5]
        assert sorted(replica.view.principals) == [f"role:r{number}" for number in range(6)]


async def test_what_was_decided_on_a_lost_append_is_decided_again(tmp_path: Path) -> None:
    """Another process was first: nothing that was decided on what never came to be is appended."""
    path = tmp_path / "l.db"
    async with a_writer(path) as (writer, replica):
        held = Held(replica)
        tasks, saw = await _one_on_its_way_and_five_decided(writer, held)
        other = await SqliteLedger.open(path)
        head = await other.head()
        changes = (Change("principal.put", {"id": "role:other"}),)
        await other.append(head, [Command(action="TEST", actor="system", at=max(head.now, head.at), changes=changes)])
        held.go_on.set()
        done = await asyncio.gather(*tasks)

        assert saw == [1, 2, 3, 4, 5, 2, 3, 4, 5, 6]
        assert [each.revision for each in done] == [2, 3, 4, 5, 6, 7]
        assert len(replica.view.principals) == 7
        await other.aclose()


@pytest.mark.parametrize("fault", [LedgerUnavailable("gone", advice="wait"), RuntimeError("nobody thought of it")])
async def test_a_failed_append_fails_nobody_who_came_meanwhile(tmp_path: Path, fault: Exception) -> None:
    """The one that was on its way is told; those decided on it are decided again without it, and appended."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        held = Held(replica)
        held.fault = fault
        tasks, saw = await _one_on_its_way_and_five_decided(writer, held)
        held.go_on.set()
        first, *others = await asyncio.gather(*tasks, return_exceptions=True)

        assert first is fault
        assert [each.revision for each in others if not isinstance(each, BaseException)] == [1, 2, 3, 4, 5]
        assert saw[5:] == [0, 1, 2, 3, 4]
        assert len(replica.view.principals) == 5


ACTIVATION: Final = {"policy_epoch": 1, "policy_revision": "r", "archive": ""}


@pytest.mark.parametrize(
    ("change", "is_first"),
    [(Change("policy.activate", ACTIVATION), False), (Change("principal.put", {"id": "role:b"}), True)],
    ids=["on another policy", "what was found on the view itself"],
)
async def test_what_has_to_wait_is_not_decided_ahead(tmp_path: Path, change: Change, *, is_first: bool) -> None:
    """A policy is in force with the view, and what was found on the view holds there alone."""
    verdict = Accepted(changes=(change,), result={})
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        held = Held(replica)
        first = asyncio.create_task(
            writer.submit(Submission(action="TEST", actor="system", decide=lambda _view, _at: verdict))
        )
        await held.begun.wait()
        epochs: list[int] = []

        def decide(view: View, _at: Instant) -> Verdict:
            epochs.append(replica.view.revision)
            return Accepted(changes=(Change("principal.put", {"id": "role:a"}),), result={"at": view.policy_epoch})

        later = Submission(action="TEST", actor="system", decide=decide, is_first=is_first)
        second = asyncio.create_task(writer.submit(later))
        for _ in range(20):
            # Twice the turns of the loop that deciding it ahead would take.
            await asyncio.sleep(0)
        held.go_on.set()

        assert [(await each).revision for each in (first, second)] == [1, 2]
        assert epochs == [1]


async def test_a_clock_ahead_of_the_ledgers_is_no_fault_of_the_caller(tmp_path: Path) -> None:
    """The command is well formed: it is told that this decision point cannot take it, and nothing is appended."""
    ledger = await SqliteLedger.init(tmp_path / "l.db", "acme")
    clock = ManualClock(SystemClock().now() + 60 * SECOND)
    replica = Replica(ledger, clock)
    writer = Writer(ledger, replica, clock)
    await replica.start()
    await writer.start()

    with pytest.raises(LedgerUnavailable, match="the clock of this decision point is ahead") as told:
        await writer.submit(put("role:a"))

    assert "set the clock" in told.value.advice
    assert (await ledger.head()).revision == 0
    await writer.aclose()
    await replica.aclose()
    await ledger.aclose()
