"""One game on a ledger: several writers, each with a replica of its own, decide and append side by side.

What can go wrong on the way does: a writer is overtaken between deciding and appending, or dies there; the append is
made and its acknowledgement lost, on the way to the writer or to the client, who sends the same command again to
another writer; a replica falls behind; a process starts anew; history is cut. Afterwards the log is put to the
reference, revision by revision, with what each client was told: the history is linearizable if every answer holds at a
revision between its call and its return, and no law is broken.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any, Final

import msgspec

from remit_graph.errors import LedgerError, LedgerUnavailable, OutcomeUnknown
from remit_graph.history import Retention
from remit_graph.model.change import Command
from remit_service.coordination import command as commands
from remit_service.coordination.values import Changed, Refusal
from remit_service.keeping.compaction import compact, plan_compaction
from remit_service.replica.replica import Replica
from remit_service.writer.command import Accepted, Refused, Submission
from remit_service.writer.writer import Writer
from tests.model.chance import Chance
from tests.model.game import Found, judge_answer, note_asked
from tests.model.machine import T0
from tests.model.reference import Reference
from tests.model.rules import SECOND
from tests.model.state import Broken
from tests.model.town import TOWN, Town
from tests.support.view_state import state_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.head import Head
    from remit_graph.model.change import Entry
    from remit_graph.model.instant import Instant
    from remit_graph.ports import Ledger
    from remit_graph.stored import StoredResult
    from remit_graph.view.state import View

WRITERS: Final = 3
CRASHES: Final = 0.02
LOST: Final = 0.02
AGAIN: Final = 0.05
RESTARTS: Final = 0.01
CAUGHT_UP: Final = 0.5
CUTS: Final = 0.02
FEW: Final = 8
"""How many commands are sent at once in every other round, so that there are operations that get to their end."""

DAY: Final = 86_400 * SECOND
FORGOTTEN: Final = Retention(actions=frozenset({"PLAY"}), kept_for=timedelta(0))
"""Answers go with their rows: no client repeats a command after its round."""


class Time:
    """A clock that is ahead of the game's by a little, as the clocks of processes are."""

    def __init__(self, at: Instant) -> None:
        """Begin at an instant."""
        self.at, self.ahead = at, 0

    def now(self) -> Instant:
        """Microseconds UTC."""
        return self.at + self.ahead

    def monotonic(self) -> float:
        """Seconds; decisions take none, so that a game is the same each time."""
        return self.at / SECOND


class Chancy:
    """A ledger as a writer sees it on a bad day."""

    def __init__(self, ledger: Ledger, random: Random) -> None:
        """Stand before a ledger."""
        self._ledger, self._random = ledger, random
        self._asked: list[str] = []
        self._answers: asyncio.Future[dict[str, StoredResult]] | None = None

    def __getattr__(self, name: str) -> Any:
        """Everything else is the ledger's own."""
        return getattr(self._ledger, name)

    async def result(self, request_id: str) -> StoredResult | None:
        """Look a request up, in one question with all others that are asked for now."""
        self._asked.append(request_id)
        if self._answers is None:
            self._answers = asyncio.ensure_future(self._look_up())
        return (await self._answers).get(request_id)

    async def _look_up(self) -> dict[str, StoredResult]:
        await asyncio.sleep(0)
        asked, self._asked, self._answers = self._asked, [], None
        return {each.request_id: each for each in await self._ledger.results(asked)}

    async def append(self, expected: Head, batch: Sequence[Command]) -> Sequence[Entry]:
        """Append, or not, or without saying so."""
        for _ in range(self._random.choice([0, 0, 1, 2, 5])):
            await asyncio.sleep(0)
        if self._random.random() < CRASHES:
            raise LedgerUnavailable("it died between decide and append")
        entries = await self._ledger.append(expected, batch)
        if self._random.random() < LOST:
            raise OutcomeUnknown("the acknowledgement was lost")
        return entries


@dataclass(slots=True)
class Told:
    """A command with what its client was told, and between which revisions.

    Attributes:
        what: The command.
        known: The revision its writer knew when it came.
        acknowledged: The highest revision that any client had been told of by then.
        outcome: What the machine made of it the last time it was decided, at `at`.
        revision: What the client was told; None where it was told nothing.
    """

    what: Any
    known: int
    acknowledged: int
    outcome: Changed | Refusal | None = None
    at: Instant = 0
    revision: int | None = None
    is_judged: bool = False


class Process:
    """A writer with its replica."""

    def __init__(self, ledger: Ledger, time: Time, random: Random) -> None:
        """Stand still until `start`."""
        self.time, self._ledger, self._random = time, ledger, random

    async def start(self) -> None:
        """Begin, or begin anew and know nothing but the ledger."""
        ledger: Any = Chancy(self._ledger, self._random)
        self.clock = clock = Time(self.time.at)
        clock.ahead = self._random.choice([0, 0, SECOND // 2])
        self.replica = Replica(ledger, clock)
        await self.replica.load()
        # Out of turn: writers that wait for each other would race less, and by the time of the machine.
        self.writer = Writer(ledger, self.replica, clock, in_turn=False)
        await self.writer.start()
        self.town = Town(self.replica.view)

    def submission(self, name: str, told: Told) -> Submission:
        """Return a command as the writer takes it."""

        def decide(_view: View, at: Instant) -> Accepted | Refused:
            told.at, told.outcome = at, self.town.decide(told.what, at)
            if isinstance(told.outcome, Refusal):
                return Refused(code=told.outcome.code, message="")
            return Accepted(changes=told.outcome.changes, result=told.outcome.result)

        return Submission(action="PLAY", actor="system", decide=decide, request_id=name, fingerprint=name)


class StoreGame:
    """A game on one ledger."""

    def __init__(self, ledgers: Sequence[Ledger], seed: int, most: int) -> None:
        """Begin; at most `most` commands are sent at once."""
        self.random = Random(seed)  # noqa: S311 - a seed plays the same game again
        self.chance = Chance(self.random)
        self.time = Time(T0)
        self.ledgers, self.most = ledgers, most
        self.reference = Reference()
        self.calls: dict[str, Told] = {}
        self.acknowledged = 0
        self._waiting: list[Told] = []

    async def play(self, count: int) -> int:
        """Play; returns how many commands were sent."""
        await self._settle_town()
        self.processes = [Process(each, self.time, self.random) for each in self.ledgers]
        for each in self.processes:
            await each.start()
        try:
            while len(self.calls) < count:
                await self._round()
                await self._follow()
            await self._end()
        finally:
            for each in self.processes:
                await each.writer.aclose()
        return len(self.calls)

    async def _settle_town(self) -> None:
        head = await self.ledgers[0].head()
        # A game goes through hours in seconds, and no instant may be ahead of the store's clock.
        self.time.at = min(T0, head.now - DAY)
        await self.ledgers[0].append(
            head, [Command(action="TOWN", actor="system", at=self.time.at, changes=tuple(TOWN))]
        )

    def tick(self, seconds: float) -> None:
        """Move all clocks on; none goes back by more than they are apart."""
        self.time.at += round(max(seconds, 0) * SECOND)
        for each in self.processes:
            each.clock.at = self.time.at

    async def _round(self) -> None:
        sent: list[Any] = []
        size = self.random.randint(1, self.random.choice([FEW, self.most]))
        for _ in range(size):
            process = self.random.choice(self.processes)
            process.town.at = process.clock.now()
            what = self.chance.next(process.town)
            if isinstance(what, tuple) and what[0] == "tick":
                # If each of many who act at once let time pass, every lease would be over by the next round.
                if self.random.random() < FEW / size:
                    self.tick(what[1])
            else:
                sent.append(self._call(process, what))
        await asyncio.gather(*sent)
        if self.random.random() < RESTARTS:
            process = self.random.choice(self.processes)
            await process.writer.aclose()
            await process.start()
        if self.random.random() < CAUGHT_UP:
            await self.random.choice(self.processes).replica.catch_up()
        if self.random.random() < CUTS:
            await self._cut()

    async def _cut(self) -> None:
        """Cut history somewhere in what the reference has seen; whoever is further behind loads anew."""
        process = self.random.choice(self.processes)
        revision = self.random.randint(0, self.reference.revision)
        try:
            plan = await plan_compaction(process.replica.ledger, revision)
            await compact(process.replica, process.writer.submit, plan, FORGOTTEN)
        except LedgerError:
            return

    async def _call(self, process: Process, what: Any) -> None:
        name = f"call-{len(self.calls)}"
        told = self.calls[name] = Told(what, process.replica.view.revision, self.acknowledged)
        try:
            done = await process.writer.submit(process.submission(name, told))
        except (LedgerUnavailable, OutcomeUnknown):
            return
        if self.random.random() < AGAIN and isinstance(told.outcome, Changed) and told.outcome.changes:
            await self._again(name, told, done.verdict)
        told.revision = done.revision
        self.acknowledged = max(self.acknowledged, done.revision)
        if not (isinstance(told.outcome, Changed) and told.outcome.changes):
            self._waiting.append(told)

    async def _again(self, name: str, told: Told, verdict: Accepted | Refused) -> None:
        """The answer did not reach the client, who sends the same command to another writer."""
        process = self.random.choice(self.processes)
        kept = told.outcome
        try:
            done = await process.writer.submit(process.submission(name, told))
        except LedgerError:
            return
        finally:
            told.outcome = kept
        assert isinstance(verdict, Accepted)
        if not isinstance(done.verdict, Accepted) or dict(done.verdict.result) != _as_stored(verdict.result):
            raise Broken("linearizability", f"{told.what} was answered {verdict}, and {done.verdict} the second time")

    async def _follow(self) -> None:
        """Put what the log has to the reference, each answer at the revision it belongs to."""
        # Not beyond what every replica knows: one that is behind answers by a state of before.
        common = min(each.replica.view.revision for each in self.processes)
        while self.reference.revision < common:
            for entry in await self.ledgers[0].read(self.reference.revision, common - self.reference.revision):
                self._judge_waiting()
                self._take(entry)
        self._judge_waiting()
        for told in self._waiting:
            if told.revision is not None and told.revision < self.reference.revision and not told.is_judged:
                raise Broken("linearizability", f"{told.what} came to {told.outcome}, which no revision explains")
        self._waiting = [each for each in self._waiting if not each.is_judged]

    def _take(self, entry: Entry) -> None:
        told = self.calls.pop(entry.request_id or "", None)
        reference = self.reference
        if entry.request_id is not None:
            if told is None:
                raise Broken("linearizability", f"{entry.request_id} stands twice in the log")
            self.calls[entry.request_id + "!"] = told
            if entry.revision <= told.acknowledged:
                raise Broken("linearizability", f"{told.what} took effect before it was called")
            before, reference.at = reference.at, entry.at
            if told.revision == entry.revision and told.outcome is not None:
                judge_answer(reference, told.what, told.outcome)
            note_asked(reference, told.what)
            reference.at = before
        reference.take(entry.revision, entry.at, entry.changes)

    def _judge_waiting(self) -> None:
        """Whoever changed nothing was answered by some state between its call and its return; by this one?"""
        reference = self.reference
        for told in self._waiting:
            if told.is_judged or told.revision is None or not told.known <= reference.revision <= told.revision:
                continue
            before, reference.at = reference.at, told.at
            try:
                assert told.outcome is not None
                judge_answer(reference, told.what, told.outcome)
                told.is_judged = True
            except Broken:
                if reference.revision == told.revision:
                    raise
            finally:
                reference.at = before

    async def _end(self) -> None:
        """Let time run out, and see that all replicas have come to the same state."""
        process = self.processes[0]
        for number in range(12):
            self.tick(700)
            told = Told(commands.Sweep(), 0, 0)
            self.calls[f"end-{number}"] = told
            try:
                await process.writer.submit(process.submission(f"end-{number}", told))
            except LedgerError:
                continue
        for each in self.processes:
            await each.replica.catch_up()
        await self._follow()
        if self.reference.waits or self.reference.operations or self.reference.leases:
            raise Broken("every_waiter_is_served_or_told_within_its_bound", "something is left after all time is over")
        states = [state_of(each.replica.view) for each in self.processes]
        if any(each != states[0] for each in states):
            raise Broken("queue_order_is_deterministic", "two replicas have come to different states")


def _as_stored(result: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(result))


async def play_on(store: str, ledgers: Sequence[Ledger], seed: int, count: int, most: int = 8) -> int:
    """Play one game on a ledger that several writers have opened.

    Raises:
        Found: a law is broken.
    """
    game = StoreGame(ledgers, seed, most)
    try:
        return await game.play(count)
    except Broken as error:
        raise Found(store, seed, count, f"revision {game.reference.revision}", error) from error
