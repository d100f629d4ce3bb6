"""The append: one transaction that moves the head from where the writer decided, or changes nothing.

(1) Plan what the batch, spelled by `spell`, changes in the graph, before anything is locked (`waves_of`).
(2) Lock the head, read the clock, compare, and add rows and results: one statement.
(3) Bring the graph along, unless it is behind already or the batch is too large for one transaction.
(4) Commit. Whatever the database refused has a name at the port.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NoReturn

from remit_graph.errors import ConstraintBroken, ForeignStore
from remit_graph.neo4j.blame import why_refused
from remit_graph.neo4j.database import rows_of
from remit_graph.neo4j.materialise import materialise
from remit_graph.neo4j.plan import plan, steps_of
from remit_graph.neo4j.read import head_of
from remit_graph.refusals import require_near, require_order, turn_taken, why_not_moved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neo4j import AsyncManagedTransaction

    from remit_graph.head import Head
    from remit_graph.model.change import Entry
    from remit_graph.neo4j.database import Database
    from remit_graph.neo4j.plan import Wave
    from remit_graph.neo4j.spell import Spelled

INLINE: Final = 2_000
"""Elements of the graph that one append changes itself; more are brought along after the commit (rules.md 11)."""

PER_ROW: Final = timedelta(milliseconds=2)
"""What a row adds to the time after which the database ends an append."""


def waves_of(spelled: Spelled) -> list[Wave]:
    """Plan what a batch changes in the graph."""
    return plan(steps_of(spelled.entries))


async def append(
    database: Database, expected: Head, spelled: Spelled, waves: Sequence[Wave], *, writer: str, turn: timedelta
) -> bool:
    """Append a batch after `expected`, which it was spelled and planned for; see the port for what it raises.

    The next in line gets a turn that lasts `turn`.

    Returns:
        Whether the graph is where the ledger is.
    """
    parameters = _parameters(expected, spelled, database.options.max_clock_skew)
    parameters |= {"writer": writer, "turn": turn // timedelta(microseconds=1)}
    parameters["inline"] = sum(wave.size for wave in waves) <= INLINE

    async def work(transaction: AsyncManagedTransaction) -> bool:
        # (2) Move the head.
        found = await rows_of(transaction, "append", **parameters)
        if not found or not found[0]["fits"]:
            _refuse(expected, found, spelled.entries, parameters["max_clock_skew"])
        # (3) Bring the graph along.
        if found[0]["caught_up"]:
            await materialise(transaction, waves)
        return bool(found[0]["caught_up"])

    # (4) Commit, and name what was refused.
    hold_at_most = database.options.hold_at_most + PER_ROW * len(spelled.rows)
    try:
        return await database.write(work, hold_at_most=hold_at_most)
    except ConstraintBroken as error:
        raise await why_refused(database, spelled.entries, error) from error


def _parameters(expected: Head, spelled: Spelled, max_clock_skew: timedelta) -> dict[str, Any]:
    last = spelled.entries[-1]
    return {
        "realm": expected.realm,
        "lock": secrets.token_hex(8),
        "store_id": expected.store_id,
        "incarnation": expected.incarnation,
        "revision": expected.revision,
        "hash": expected.hash,
        "schema": expected.schema,
        "state": str(expected.state),
        "first_at": spelled.entries[0].at,
        "last_at": last.at,
        "max_clock_skew": max_clock_skew // timedelta(microseconds=1),
        "last_revision": last.revision,
        "last_hash": last.hash,
        "last_place": spelled.rows[-1][0],
        "rows": spelled.rows,
        "results": spelled.results,
    }


def _refuse(expected: Head, found: Sequence[Mapping[str, Any]], entries: Sequence[Entry], skew: int) -> NoReturn:
    """Say why the head could not be moved."""
    if not found:
        raise ForeignStore(
            f"the database holds no ledger of realm `{expected.realm}` any more",
            advice="stop writing and find out who emptied it; put a backup back with `remit store restore`",
        )
    head = head_of(expected.realm, dict(found[0]))
    if (error := why_not_moved(expected, head)) is not None:
        raise error
    if found[0]["taken"]:
        raise turn_taken(found[0]["turn_until"], head.now)
    instants = [entry.at for entry in entries]
    require_order(instants, head.at)
    require_near(instants, head.now, skew)
    raise AssertionError("the head stands where the writer decided, and yet it did not move")
