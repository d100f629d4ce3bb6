"""The writer under steady load: whatever was taken comes to an end, although something comes with every append."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from remit_graph.errors import ConstraintBroken, HeadMoved, OutcomeUnknown
from remit_service.writer.command import Accepted, Done, Refused, Submission
from remit_service.writer.writer import MAX_LOST
from tests.support.writers import a_writer, count, put

if TYPE_CHECKING:
    from pathlib import Path

    from remit_graph.model.change import Command
    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.replica.replica import Replica
    from remit_service.writer.command import Verdict
    from remit_service.writer.writer import Writer

Append = Callable[[Any, Sequence["Command"]], Awaitable[Any]]

pytestmark = pytest.mark.feature("S84")


class SteadyLoad:
    """Another command with every append, decided before that append ends; `at_most` so many."""

    def __init__(
        self,
        writer: Writer,
        replica: Replica,
        *,
        first: Sequence[Submission] = (),
        action: str = "TEST",
        at_most: int = 20,
    ) -> None:
        """Come with every append from now on; with the first of them comes `first`, if anything."""
        self._tasks: list[asyncio.Task[Done]] = []
        self._first = first
        self._writer = writer
        self._another = replace(count(), action=action)
        self._at_most = at_most
        self._append: Append = replica.ledger.append
        replica.ledger.append = self._with_another  # type: ignore[method-assign, assignment]

    def through(self, around: Callable[[Append], Append]) -> None:
        """Put something around what appends."""
        self._append = around(self._append)

    async def answered(self) -> list[Done]:
        """Return what they were told, in the order they came, once no more come."""
        told: list[Done] = []
        while len(told) < len(self._tasks):
            # More come with the appends of those that are waited for.
            told = await asyncio.gather(*self._tasks)
        return told

    async def _with_another(self, head: Any, batch: Sequence[Command]) -> Any:
        if len(self._tasks) < self._at_most:
            coming, self._first = self._first or [self._another], ()
            async with asyncio.timeout(60):
                await asyncio.gather(*map(self._decided, coming))
        return await self._append(head, batch)

    async def _decided(self, submission: Submission) -> None:
        """Submit a command, and return when it was decided."""
        is_decided = asyncio.Event()

        def decide(view: View, at: Instant) -> Verdict:
            is_decided.set()
            return submission.decide(view, at)

        self._tasks.append(asyncio.create_task(self._writer.submit(replace(submission, decide=decide))))
        await is_decided.wait()


def refusing(name: str) -> Callable[[Append], Append]:
    """Return an append that refuses every batch with a principal of this name, as a constraint of the store does."""

    def around(append: Append) -> Append:
        async def broken(head: Any, batch: Sequence[Command]) -> Any:
            if any(change.body["id"] == name for command in batch for change in command.changes):
                raise ConstraintBroken(f"`{name}` was put into the database past the ledger")
            return await append(head, batch)

        return broken

    return around


async def test_a_batch_that_broke_a_constraint_ends_before_what_came_later(tmp_path: Path) -> None:
    """Each of its commands is appended alone; what was decided meanwhile waits until the last one is answered."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        load = SteadyLoad(writer, replica)
        load.through(refusing("role:b"))
        first, second, third = await asyncio.gather(*(writer.submit(put(f"role:{name}")) for name in "abc"))

        assert isinstance(second.verdict, Refused)
        assert (first.revision, third.revision) == (1, 2)
        later = await load.answered()
        assert [each.revision for each in later] == list(range(3, 3 + len(later)))


async def test_renewals_go_between_the_commands_of_a_batch_that_broke_a_constraint(tmp_path: Path) -> None:
    """Rules.md 11: what would run out does not wait until many were appended one by one."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        load = SteadyLoad(writer, replica, action="RENEW", at_most=2)
        load.through(refusing("role:b"))
        first, second, third = await asyncio.gather(*(writer.submit(put(f"role:{name}")) for name in "abc"))

        assert isinstance(second.verdict, Refused)
        assert (first.revision, third.revision) == (2, 4)
        assert [each.revision for each in await load.answered()] == [1, 3]


@pytest.mark.feature("S85")
async def test_a_batch_that_is_looked_up_ends_before_what_came_later(tmp_path: Path) -> None:
    """None of it was stored, so each is appended alone: the last does not wait for those that came meanwhile."""
    cut = [OutcomeUnknown("the connection ended while committing")]

    def once(append: Append) -> Append:
        async def cut_once(head: Any, batch: Sequence[Command]) -> Any:
            if len(batch) > 1 and cut:
                raise cut.pop()
            return await append(head, batch)

        return cut_once

    async with a_writer(tmp_path / "l.db") as (writer, replica):
        batch = [put(f"role:{name}", request_id=name, fingerprint="f") for name in "abc"]
        load = SteadyLoad(writer, replica, first=batch)
        load.through(once)
        await writer.submit(count())
        done = await load.answered()

        assert sorted(each.revision for each in done[:3]) == [2, 3, 4]
        assert [each.revision for each in done[3:]] == list(range(5, 2 + len(done)))


async def test_races_lost_before_an_append_succeeded_are_not_held_against_later_ones(tmp_path: Path) -> None:
    """Every other append is lost and the load never pauses: nobody is told that the ledger is too busy."""
    appends: list[int] = []

    def every_other(append: Append) -> Append:
        async def lost(head: Any, batch: Sequence[Command]) -> Any:
            appends.append(len(batch))
            if len(appends) % 2:
                raise HeadMoved("another process was first")
            return await append(head, batch)

        return lost

    async with a_writer(tmp_path / "l.db") as (writer, replica):
        load = SteadyLoad(writer, replica, at_most=3 * MAX_LOST)
        load.through(every_other)
        await writer.submit(count())
        done = await load.answered()

        assert all(isinstance(each.verdict, Accepted) for each in done)
        assert len(done) == 3 * MAX_LOST
