"""One game on the pure machine: chance plays, the machine answers, the reference judges.

    play(seed=7, count=400)

Between deciding and appending a process may die, so that nothing of its command is kept; an acknowledgement may be
lost, so that a client sends the same command again. A law that breaks is raised with the seed of its game.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

from remit_service.coordination import command as commands
from remit_service.coordination.values import Changed, Refusal
from tests.model.chance import Chance
from tests.model.reference import Reference
from tests.model.rules import op_of
from tests.model.state import Broken
from tests.model.town import Town

if TYPE_CHECKING:
    from collections.abc import Callable

CRASHES: Final = 0.03
LOST: Final = 0.03


class Found(AssertionError):
    """A law is broken, with the one command that shows it again."""

    def __init__(self, store: str, seed: int, number: int, play: Any, error: Broken) -> None:
        """Name the game."""
        super().__init__(
            f"{error}\n  at command {number} of seed {seed}: {play}\n"
            f"  again: .venv/bin/python -m tests.model.again {store} {seed} {number}"
            if store != "neo4j"
            else f"{error}\n  at {play} of seed {seed}; its threads play each time in another order\n"
            f"  again: ./run {'test' if seed == 0 else 'soak'} tests/model/test_model_neo4j.py -k {name_on_neo4j(seed)}"
        )
        self.law, self.seed = error.law, seed


def name_on_neo4j(seed: int) -> str:
    """Return what the test on Neo4j that plays this seed is found by."""
    return "on_neo4j" if seed == 0 else f"long_play[{seed}]"


def play(seed: int, count: int, told: Callable[[int, Any, Any], None] | None = None) -> int:
    """Play a game on the pure machine; returns how many commands were decided.

    Raises:
        Found: a law is broken.
    """
    game = Game(seed)
    for number in range(count):
        what = game.chance.next(game.town)
        try:
            outcome = game.do(what)
        except Broken as error:
            raise Found("pure", seed, number, what, error) from error
        if told is not None:
            told(number, what, outcome)
    try:
        game.end()
    except Broken as error:
        raise Found("pure", seed, count, "the end", error) from error
    return game.decided


class Game:
    """A town, its chance and its reference."""

    def __init__(self, seed: int) -> None:
        """Begin."""
        self.random = Random(seed)  # noqa: S311 - a seed plays the same game again
        self.chance = Chance(self.random)
        self.town = Town()
        self.reference = Reference()
        self.decided = 0
        self._follow()

    def _follow(self) -> None:
        for entry in self.town.log[self.reference.revision :]:
            self.reference.take(entry.revision, entry.at, entry.changes)

    def do(self, what: Any) -> Changed | Refusal | None:
        """Carry one play out, with the faults that chance has for it."""
        if isinstance(what, tuple) and what[0] == "tick":
            self.town.tick(what[1])
            return None
        if self.random.random() < CRASHES:
            # The process dies between decide and append: the next one knows nothing of it.
            self._decide(what)
        outcome = self._run(what)
        if self.random.random() < LOST and isinstance(what, commands.Release | commands.Abort | commands.LeaveQueue):
            self._idempotent(what, outcome, self._run(what))
        while self.reference.backlog:
            self._run(commands.Sweep())
        return outcome

    def _decide(self, what: Any) -> tuple[int, Changed | Refusal]:
        self.decided += 1
        at = max(self.town.at, self.town.view.at)
        return at, self.town.decide(what, at)

    def _run(self, what: Any) -> Changed | Refusal:
        at, outcome = self._decide(what)
        before_at, self.reference.at = self.reference.at, at
        judge_answer(self.reference, what, outcome)
        note_asked(self.reference, what)
        self.reference.at = before_at
        if isinstance(outcome, Changed) and outcome.changes:
            self.town.append(outcome.changes)
            self._follow()
        if isinstance(what, commands.Sweep) and not (isinstance(outcome, Changed) and outcome.result["unfinished"]):
            before_at, self.reference.at = self.reference.at, at
            self.reference.swept()
            self.reference.at = before_at
        return outcome

    def _idempotent(self, what: Any, first: Changed | Refusal, second: Changed | Refusal) -> None:
        if isinstance(first, Changed) and (isinstance(second, Refusal) or second.changes):
            raise Broken("release_is_idempotent", f"{what} came to {second} the second time")

    def end(self) -> None:
        """Let all time run out: every wait and every operation ends, and is told."""
        for _ in range(3):
            self.town.tick(2_000)
            self._run(commands.Sweep())
            while self.reference.backlog:
                self._run(commands.Sweep())
        if self.reference.waits:
            raise Broken("every_waiter_is_served_or_told_within_its_bound", f"{list(self.reference.waits)} wait on")
        if self.reference.operations:
            raise Broken("every_operation_ends_with_a_receipt", f"{list(self.reference.operations)} never ended")


def note_asked(reference: Reference, what: Any) -> None:
    """Tell the reference who asks for what, where the next revision may grant it."""
    if isinstance(what, commands.Acquire):
        reference.asks(what.requests[0]["subject"], tuple(op_of(each) for each in what.requests), what.wait_us)
    else:
        reference.asks("", (), 0)


def judge_answer(reference: Reference, what: Any, outcome: Changed | Refusal) -> None:
    """Judge an answer by the state before it: what must be granted is, and what is refused had to be."""
    if isinstance(what, commands.Acquire):
        _judge_acquire(reference, what, outcome)
    elif isinstance(what, commands.Release):
        _judge_release(reference, what, outcome)
    elif isinstance(what, commands.Renew):
        _judge_renew(reference, what, outcome)


def _judge_acquire(reference: Reference, what: commands.Acquire, outcome: Changed | Refusal) -> None:
    holder = what.requests[0]["subject"]
    ops = tuple(op_of(each) for each in what.requests)
    number = (what.requests[0].get("sequence") or {}).get("number")
    until = reference.at + what.wait_us
    if isinstance(outcome, Changed) and outcome.result["decision"]:
        return
    if isinstance(outcome, Changed) and any(each.kind == "backlog.put" for each in outcome.changes):
        # Its holder was granted another request in this very step, so that it has to wait for the next.
        return
    code = outcome.code if isinstance(outcome, Refusal) else "wait"
    if code in ("already_exists", "malformed_request", "limit_exceeded"):
        return
    if code == "no_authority":
        if holder not in reference.disabled:
            raise Broken("disjoint_operations_never_wait", f"{holder} has authority and was refused")
        return
    if code == "deadlock_avoided":
        if not reference.is_late(ops) and not reference.closes_cycle(holder, ops, until):
            raise Broken("no_cycle_of_waits", f"{what} was refused, and closes no cycle")
    elif reference.may_begin(holder, ops, until, number):
        raise Broken("disjoint_operations_never_wait", f"{what} was told {code} and nothing is in its way")


def _judge_release(reference: Reference, what: commands.Release, outcome: Changed | Refusal) -> None:
    held = reference.leases.get(what.lease_id)
    may = (
        held is not None
        and held.holder == what.holder
        and what.token in held.tokens.values()
        and held.operation not in reference.operations
    )
    released = isinstance(outcome, Changed) and outcome.result["released"]
    if released != (may and held is not None and held.expires > reference.at):
        raise Broken("release_is_idempotent", f"{what} came to {outcome}")


def _judge_renew(reference: Reference, what: commands.Renew, outcome: Changed | Refusal) -> None:
    held = reference.leases.get(what.lease_id or "")
    may = held is not None and held.holder == what.holder and held.expires > reference.at
    if isinstance(outcome, Changed) and not may:
        raise Broken("no_grant_to_the_dead", f"{what} was renewed")
    if (
        isinstance(outcome, Refusal)
        and may
        and outcome.code not in ("stale_fencing_token", "owner_frozen", "no_progress")
    ):
        raise Broken("no_grant_to_the_dead", f"{what} was refused with {outcome.code}")
