"""How several decision points share one ledger: the turn to append, and who was seen using it.

All of it runs by the store's own clock, the one clock that they have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant


FORGOTTEN_AFTER: Final = timedelta(hours=1)
"""A decision point that was not seen for so long is not kept: it was killed, and comes back under another name."""

TURN: Final = timedelta(milliseconds=100)
"""How long a turn lasts at least that is not used, by the store's clock: what a writer that died costs the others.

In Neo4j, turns last longer where appends take long (`neo4j.turns`): whoever has one could not use it otherwise.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Whose turn it is to append; each ledger object is one writer.

    Attributes:
        mine: Whether it is the turn of the ledger that was asked.
        until: When it lapses, microseconds UTC by the store's clock; 0 where nobody has it.
        now: The store's clock.
        waiting: How many others have asked for one.
        revision: Where the ledger stands; while a turn runs its holder alone moves that.
    """

    mine: bool
    until: Instant
    now: Instant
    waiting: int
    revision: int

    @property
    def is_free(self) -> bool:
        """Whether nobody has it, so that whoever is first may append."""
        return self.until <= self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A decision point that uses the ledger.

    Attributes:
        name: Of the process.
        version: Of its Remit.
        schema: The newest row schema that it knows.
        seen_at: When it last said so, by the store's clock.
    """

    name: str
    version: str
    schema: int
    seen_at: Instant

    def __str__(self) -> str:
        """Return it for a person."""
        return f"{self.name}, Remit {self.version}, rows up to schema {self.schema}"
