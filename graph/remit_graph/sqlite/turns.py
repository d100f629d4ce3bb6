"""Whose turn it is to append, in the row of the head; each function runs inside a transaction that alone writes.

The rules are those of the port; `neo4j/queries/turn.cypher` says the same in Cypher, and one contract suite holds both.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from remit_graph.refusals import turn_taken
from remit_graph.sharing import Turn
from remit_graph.sqlite.statements import STATEMENTS

if TYPE_CHECKING:
    import sqlite3

    from remit_graph.model.instant import Instant
    from remit_graph.sqlite.options import SqliteOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Who has the turn, until when, and who waits for it, first come first.

    A turn that is given from here on lasts `lasts` microseconds.
    """

    of: str | None
    until: Instant
    asked: tuple[str, ...]
    revision: int
    lasts: int = field(compare=False)

    def is_taken_from(self, writer: str, now: Instant) -> bool:
        """Whether another writer has the turn."""
        return self.of not in (None, writer) and now < self.until

    def seen_by(self, writer: str, now: Instant) -> Turn:
        """Return it as `writer` is told."""
        runs = self.of is not None and now < self.until
        others = sum(1 for each in self.asked if each != writer)
        until = self.until if runs else 0
        return Turn(mine=runs and self.of == writer, until=until, now=now, waiting=others, revision=self.revision)

    def asked_by(self, writer: str, now: Instant) -> Line:
        """Return the line after `writer` asked for the turn."""
        if self.of == writer and now < self.until:
            # A sign of life: whoever is slow to catch up is not dead.
            return self.given_to(writer, now)
        joined = self if writer in self.asked else replace(self, asked=(*self.asked, writer))
        if self.is_taken_from(writer, now):
            return joined
        # Whoever let its own turn lapse is behind those that wait, and whoever asks first is not before them either:
        # where turns lapse, the quickest would have them all.
        return joined.handed_on(writer, now) if self.of == writer else joined.given_to(joined.asked[0], now)

    def given_to(self, writer: str, now: Instant) -> Line:
        """Return the line with the turn at `writer`."""
        others = tuple(each for each in self.asked if each != writer)
        return replace(self, of=writer, until=now + self.lasts, asked=others)

    def handed_on(self, writer: str, now: Instant) -> Line:
        """Return the line with the turn at the first of those behind `writer`, or at itself if it alone waits."""
        behind = [each for each in self.asked if each != writer]
        if behind:
            return self.given_to(behind[0], now)
        return self.given_to(writer, now) if writer in self.asked else replace(self, of=None, until=0, asked=())

    def left_by(self, writer: str, now: Instant) -> Line:
        """Return the line without `writer`: it has appended, or has nothing to append."""
        rest = replace(self, asked=tuple(each for each in self.asked if each != writer))
        return rest if rest.is_taken_from(writer, now) else rest.handed_on(writer, now)


def read_line(connection: sqlite3.Connection, options: SqliteOptions) -> Line:
    """Return the line as it stands."""
    of, until, asked, revision = connection.execute(STATEMENTS["turn"]).fetchone()
    lasts = options.turn // timedelta(microseconds=1)
    return Line(of=of, until=until, asked=tuple(json.loads(asked)), revision=revision, lasts=lasts)


def see(connection: sqlite3.Connection, writer: str, options: SqliteOptions) -> Turn:
    """Return whose turn it is."""
    return read_line(connection, options).seen_by(writer, options.clock())


def take(connection: sqlite3.Connection, writer: str, options: SqliteOptions) -> Turn:
    """Take the turn, or line up for it."""
    line, now = read_line(connection, options), options.clock()
    after = line.asked_by(writer, now)
    _keep(connection, line, after)
    return after.seen_by(writer, now)


def leave(connection: sqlite3.Connection, writer: str, options: SqliteOptions) -> None:
    """Give up the turn, or the place in line."""
    line = read_line(connection, options)
    _keep(connection, line, line.left_by(writer, options.clock()))


def spend(connection: sqlite3.Connection, writer: str, now: Instant, options: SqliteOptions) -> None:
    """Let `writer` append once, and hand the turn on to the next in line.

    Raises:
        TurnTaken: another writer has it.
    """
    line = read_line(connection, options)
    if line.is_taken_from(writer, now):
        raise turn_taken(line.until, now)
    _keep(connection, line, line.left_by(writer, now))


def _keep(connection: sqlite3.Connection, before: Line, after: Line) -> None:
    # Without anybody in line, which is usual, an append writes nothing here.
    if after != before:
        values = {"turn_of": after.of, "turn_until": after.until, "turn_asked": json.dumps(after.asked)}
        connection.execute(STATEMENTS["set_turn"], values)
