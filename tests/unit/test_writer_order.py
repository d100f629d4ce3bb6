"""The order in which the writer decides: what has to be the first of its batch, renewals, and all else."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from remit_graph.model.change import Change
from remit_service.writer.command import Accepted, Submission
from remit_service.writer.deciding import MUCH_ENDED
from tests.support.writers import a_writer, count

if TYPE_CHECKING:
    from pathlib import Path

    from remit_graph.model.instant import Instant
    from remit_graph.view.state import View
    from remit_service.writer.command import Verdict


def first() -> Submission:
    """Return a command that has to be the first of its batch."""
    return replace(count(), is_first=True)


def renewal() -> Submission:
    """Return a command that goes before others."""
    return replace(count(), action="RENEW")


def a_large_end(*, is_first: bool = True) -> Submission:
    """Return a command that ends too much to be tried, of edges that nobody has."""
    ended = [[f"e-{number}", 1] for number in range(MUCH_ENDED + 1)]
    changes = (Change("edges.end", {"edges": ended, "cause": "revoked"}),)

    def decide(_view: View, _at: Instant) -> Verdict:
        return Accepted(changes=changes, result={})

    return Submission(action="TEST", actor="system", decide=decide, is_first=is_first)


async def test_what_has_to_be_first_does_not_wait_for_an_end_of_renewals(tmp_path: Path) -> None:
    """One renewal comes with every append, and goes before all but the one that would never be the first otherwise."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        others: list[asyncio.Task[Any]] = []
        append = replica.ledger.append

        async def with_a_renewal(*arguments: Any) -> Any:
            if len(others) < 20:
                others.append(asyncio.create_task(writer.submit(renewal())))
            return await append(*arguments)

        replica.ledger.append = with_a_renewal  # type: ignore[method-assign, assignment]
        _, done = await asyncio.gather(writer.submit(renewal()), writer.submit(first()))
        await asyncio.gather(*others)

        assert done.revision == 1


async def test_of_two_that_have_to_be_first_the_second_waits_for_the_renewals(tmp_path: Path) -> None:
    """A batch has one first; all others of it, renewals before them, are not held up by the next."""
    async with a_writer(tmp_path / "l.db") as (writer, _replica):
        submissions = (count(), first(), first(), renewal())
        done = await asyncio.gather(*map(writer.submit, submissions))

        assert [each.revision for each in done] == [3, 1, 4, 2]


async def test_a_renewal_waits_for_one_large_revocation_and_not_for_a_queue_of_them(tmp_path: Path) -> None:
    """What ends much is the last of its batch as well as the first; between two of them go the renewals."""
    async with a_writer(tmp_path / "l.db") as (writer, _replica):
        submissions = (a_large_end(), a_large_end(), a_large_end(), renewal(), renewal())
        done = await asyncio.gather(*map(writer.submit, submissions))

        assert [each.revision for each in done] == [1, 4, 5, 2, 3]


async def test_what_ends_much_is_not_tried_for_those_that_came_with_it(tmp_path: Path) -> None:
    """Trying it would hold up reads, so that whatever comes after it is decided in the next batch."""
    async with a_writer(tmp_path / "l.db") as (writer, replica):
        batches: list[int] = []
        append = replica.ledger.append

        async def watched(expected: Any, batch: Any) -> Any:
            batches.append(len(batch))
            return await append(expected, batch)

        replica.ledger.append = watched  # type: ignore[method-assign]
        submissions = (count(), a_large_end(is_first=False), count(), count())
        done = await asyncio.gather(*map(writer.submit, submissions))

        assert [each.revision for each in done] == [1, 2, 3, 4]
        assert batches == [2, 2]
