"""Whose turn it is to append, on the head of the ledger; `queries/turn.cypher` keeps the rules of the port.

The append itself hands the turn on (`queries/ledger.cypher`), so a turn that is used costs no transaction of its own.
A head without these properties is one that nobody has asked for: there is nothing to migrate.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from remit_graph.neo4j.lock import no_ledger
from remit_graph.sharing import Turn

if TYPE_CHECKING:
    from remit_graph.neo4j.database import Database

APPENDS: Final = 4
"""What a turn has to be long enough for: hearing of it, catching up, deciding and appending take as long as these."""

LONGEST: Final = timedelta(seconds=1)
"""No turn is longer on account of a store that is slow: a writer that died with one would hold the others up."""

SOONER: Final = 0.8
"""What each quicker append leaves of the time that one of before took."""


class Pace:
    """How long the turns are that one writer takes or hands on.

    They last as long as the options say, or a few of the writer's last appends, where those take longer: a turn that
    lapses before its holder could use it goes to whoever asks first, and that is always the quickest.
    """

    def __init__(self, shortest: timedelta) -> None:
        """Know of no append yet."""
        self._shortest = shortest
        self._took = 0.0

    def note(self, seconds: float) -> None:
        """An append took so long."""
        self._took = max(seconds, self._took * SOONER)

    @property
    def turn(self) -> timedelta:
        """How long a turn lasts."""
        return max(self._shortest, min(timedelta(seconds=self._took * APPENDS), LONGEST))


async def see(database: Database, realm: str, writer: str) -> Turn:
    """Return whose turn it is; read outside of a transaction, since it is looked at all the time."""
    return _turn(database, realm, await database.once("see_turn", realm=realm, writer=writer))


async def take(database: Database, realm: str, writer: str, turn: timedelta) -> Turn:
    """Take the turn, or line up for it; whoever is first in line then has it for so long."""
    return _turn(database, realm, await _locked(database, "take_turn", realm, writer, turn))


async def leave(database: Database, realm: str, writer: str, turn: timedelta) -> None:
    """Give up the turn, or the place in line; the next has it for so long."""
    if not await _locked(database, "pass_turn", realm, writer, turn):
        raise no_ledger(database, realm)


async def _locked(database: Database, name: str, realm: str, writer: str, turn: timedelta) -> list[dict[str, Any]]:
    lasts, lock = turn // timedelta(microseconds=1), secrets.token_hex(8)
    return await database.once(name, realm=realm, writer=writer, turn=lasts, lock=lock)


def _turn(database: Database, realm: str, found: list[dict[str, Any]]) -> Turn:
    if not found:
        raise no_ledger(database, realm)
    return Turn(**found[0])
