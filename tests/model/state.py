"""What the reference knows: leases, waiters, fences and signals, and the rules on them, by `rules.py` alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.model import rules
from tests.model.rules import Op, any_collide, collide, fence_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Body = dict[str, Any]


class Broken(AssertionError):
    """A law does not hold."""

    def __init__(self, law: str, text: str) -> None:
        """Name the law."""
        super().__init__(f"{law}: {text}")
        self.law = law


@dataclass(slots=True)
class Held:
    """A lease."""

    id: str
    holder: str
    op: Op
    expires: int
    until: int
    tokens: dict[str, int]
    operation: str


@dataclass(slots=True)
class Wait:
    """A waiter."""

    id: str
    holder: str
    ops: tuple[Op, ...]
    since: int
    revision: int
    alive: int
    until: int
    priority: int
    floor: int
    leases: tuple[str, ...] = ()
    number: int | None = None

    def asks(self, at: int) -> bool:
        """Whether it still does."""
        return self.alive > at and self.until > at


@dataclass(slots=True)
class Fence:
    """The last token of a fence key, and the unreleased leases under it."""

    last: int = 0
    members: dict[str, tuple[int, Op]] = field(default_factory=dict)


@dataclass(slots=True)
class Step:
    """What the revision that is being told has done so far."""

    left: list[tuple[str, tuple[Op, ...]]] = field(default_factory=list)
    served: dict[str, Wait] = field(default_factory=dict)
    receipts: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    moved: bool = False
    preempts: set[str] = field(default_factory=set)
    raised_by: dict[str, str] = field(default_factory=dict)


class State:
    """The state as the log tells it.

    Attributes:
        at, revision: Of the last revision, or of the answer that is being judged.
        leases, waits: By id.
        fences: By fence key.
        fair: Key to the virtual time of each class in its queue.
        backlog: What is left over for a sweep.
        step: What the present revision has done so far.
        asked: The request that the present revision carries out, if it is one.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.at = self.revision = 0
        self.leases: dict[str, Held] = {}
        self.waits: dict[str, Wait] = {}
        self.fences: dict[str, Fence] = {}
        self.disabled: set[str] = set()
        self.presences: dict[str, Body] = {}
        self.incidents: dict[str, Body] = {}
        self.cooldowns: dict[str, int] = {}
        self.operations: dict[str, Body] = {}
        self.lines: dict[str, int] = {}
        self.transfers: dict[str, Body] = {}
        self.owners: dict[str, Body] = {}
        self.before_transfer: dict[str, dict[str, Body]] = {}
        self.fair: dict[str, dict[str, int]] = {}
        self.backlog: set[str] = set()
        self.ended: dict[str, str] = {}
        self.step = Step()
        self.asked: Wait | None = None

    def priority(self, holder: str, key: str) -> int:
        """Return the governed priority of a holder on a key."""
        known = rules.PRIORITY.get(holder, 10)
        if holder != rules.RESPONDER:
            return known
        over = [each for each in self.incidents.values() if each["status"] == "OPEN"]
        return max(known, *(rules.INCIDENT for each in over if (key + ":").startswith(each["resource_key"] + ":")), 0)

    def class_of(self, holder: str) -> str:
        """Return the class a holder is served in."""
        return "heavy" if holder == rules.HEAVY else "default"

    def newcomer(self, holder: str, ops: tuple[Op, ...], until: int = 0) -> Wait:
        """Return a request as a waiter that has only just come."""
        key = ops[0].key
        floor = min((self.fair.get(key) or {}).values(), default=0)
        return Wait(
            id="~", holder=holder, ops=ops, since=self.at, revision=self.revision, alive=self.at + 1,
            until=max(until, self.at + 1), priority=self.priority(holder, key), floor=floor,
        )  # fmt: skip

    def place(self, wait: Wait) -> tuple[int, int, int, int, str]:
        """Return the place of a request in its queue, lowest first."""
        age, key = self.at - wait.since, wait.ops[0].key
        order = rules.order_of(key)
        if age >= rules.AGEING:
            return (0, 0, wait.since, wait.revision, wait.id)
        by = 0
        if order == "prio":
            incident = self.priority(wait.holder, key) if wait.holder == rules.RESPONDER else 0
            by = -rules.aged(max(wait.priority, incident), age)
        elif order == "dead":
            by = wait.until
        elif order == "fair":
            by = max((self.fair.get(key) or {}).get(self.class_of(wait.holder), 0), wait.floor)
        return (1, by, wait.since, wait.revision, wait.id)

    def in_the_way(self, holder: str, ops: tuple[Op, ...]) -> Iterator[Held]:
        """Iterate the live leases of others that a request collides with."""
        for each in self.leases.values():
            if each.holder != holder and each.expires > self.at and any(collide(op, each.op) for op in ops):
                yield each

    def ahead(self, wait: Wait) -> Iterator[Wait]:
        """Iterate the requests of others that come before one and collide with it."""
        for other in self.waits.values():
            rival = other.holder != wait.holder and other.asks(self.at) and any_collide(wait.ops, other.ops)
            if rival and self.place(other) < self.place(wait):
                yield other

    def editor(self, holder: str, op: Op) -> str | None:
        """Return who edits what an operation of another touches, or None."""
        for each in self.presences.values():
            if each["resource_key"] == op.key and each["actor"] != holder and each["expires_at"] > self.at:
                part = rules.PARTS.get(op.verb)
                if part is None or not each["fields"] or part in each["fields"]:
                    return str(each["actor"])
        return None

    def frozen(self, op: Op) -> bool:
        """Whether a transfer freezes what an operation touches."""
        part = rules.PARTS.get(op.verb)
        return any(
            each["state"] in ("FROZEN", "TRANSFERRED", "REGISTERED")
            and each["resource"] == op.key
            and (part is None or part in each["fields"])
            for each in self.transfers.values()
        )

    def out_of_line(self, ops: tuple[Op, ...], number: int | None) -> bool:
        """Whether it is not a migration's turn."""
        if ops[0].verb != "MIGRATE":
            return False
        return number is None or number != self.lines.get("main", number - 1) + 1

    def token_due(self, fence_key: str, op: Op, holder: str) -> int | None:
        """Return the token a grant must have now, or None where it has to wait for those who share an older one."""
        fence = self.fences.get(fence_key) or Fence()
        live = [each for each in fence.members if each in self.leases and self.leases[each].expires > self.at]
        if not live:
            return self.revision
        together = not any(collide(op, other) for _, other in fence.members.values())
        if together and all(fence.members[each][0] == fence.last for each in live):
            return fence.last
        return None if any(self.leases[each].holder != holder for each in live) else self.revision

    def blockers(self, wait: Wait) -> set[str]:
        """Return the holders a request waits for."""
        return {each.holder for each in self.in_the_way(wait.holder, wait.ops)} | {
            each.holder for each in self.ahead(wait)
        }

    def may_go(self, wait: Wait) -> bool:
        """Whether nothing keeps a request any more."""
        return (
            wait.asks(self.at)
            and wait.holder not in self.disabled
            and not self.blockers(wait)
            and not any(self.editor(wait.holder, op) or self.frozen(op) for op in wait.ops)
            and not self.out_of_line(wait.ops, wait.number)
            and all(self.token_due(fence_of(op), op, wait.holder) is not None for op in wait.ops)
        )

    def waits_for(self) -> dict[str, set[str]]:
        """Return the holders that each waiting holder waits for."""
        waits: dict[str, set[str]] = {}
        for wait in self.waits.values():
            if wait.asks(self.at):
                waits.setdefault(wait.holder, set()).update(self.blockers(wait))
        return waits

    def require_no_cycle(self) -> None:
        """Refuse a state in which somebody waits for itself."""
        waits = self.waits_for()
        for start, first in waits.items():
            if start in _reached(waits, first):
                raise Broken("no_cycle_of_waits", f"{start} waits for itself: {waits}")

    def is_in_cycle(self, wait: Wait) -> bool:
        """Whether a wait leads back to its holder."""
        return wait.holder in _reached(self.waits_for(), self.blockers(wait))

    def has_cycle(self) -> bool:
        """Whether somebody waits for itself."""
        try:
            self.require_no_cycle()
        except Broken:
            return True
        return False


def _reached(waits: dict[str, set[str]], first: set[str]) -> set[str]:
    """Return the holders that are waited for from `first` on, themselves included."""
    seen: set[str] = set()
    frontier = list(first)
    while frontier:
        each = frontier.pop()
        if each not in seen:
            seen.add(each)
            frontier.extend(waits.get(each, ()))
    return seen
