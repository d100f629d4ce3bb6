"""What is wrong with a store: SQLite's own structures, the hash chain, and what is kept beside the log.

The chain comes first, and what stands beside it is compared only with an unbroken one: with a broken one the
comparison would say the same thing again in other words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from remit_graph.errors import ChainBroken, HistoryRemoved
from remit_graph.model.change import GENESIS, verify_rows
from remit_graph.sqlite.base import check_base
from remit_graph.sqlite.checkpoints import check_checkpoints
from remit_graph.sqlite.read import read_base, read_head, read_last_row, stream_rows
from remit_graph.sqlite.statements import STATEMENTS

if TYPE_CHECKING:
    import sqlite3


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The place up to which the chain was found unbroken."""

    revision: int
    hash: str


NOTHING_VERIFIED: Final = Verified(revision=0, hash=GENESIS)


def check_chain(connection: sqlite3.Connection, start: Verified) -> tuple[list[str], Verified]:
    """Verify the chain after `start` up to the head, from the base on where history was cut after `start`.

    Returns:
        What is wrong, one sentence each, and the place up to which nothing is.
    """
    head, base = read_head(connection, 0), read_base(connection)
    if start.revision < base.revision:
        start = Verified(revision=base.revision, hash=base.hash)
    rows = stream_rows(connection, start.revision, head.revision)
    try:
        digest = verify_rows(rows, previous=start.hash, after=start.revision)
    except HistoryRemoved:
        # It was cut while it was verified.
        return check_chain(connection, start)
    except ChainBroken as error:
        sides = "".join(f"; {name} `{error.facts[name]}`" for name in ("expected", "stored") if name in error.facts)
        return [f"{error.message}{sides}"], start
    last = read_last_row(connection, head.revision)
    reached = base.revision if last is None else max(base.revision, last.revision)
    if (reached, digest) != (head.revision, head.hash):
        end = f"the log ends at revision {reached} with hash `{digest}`"
        return [f"{end}, the head says {head.revision} and `{head.hash}`"], start
    return [], Verified(revision=head.revision, hash=head.hash)


def check_rest(connection: sqlite3.Connection) -> list[str]:
    """Return what is wrong beside an unbroken chain, one sentence each."""
    return [
        *(f"SQLite: {found}" for (found,) in connection.execute(STATEMENTS["integrity"]) if found != "ok"),
        *(
            f"request `{request_id}` of revision {revision} has no such answer: a repeat would act again"
            for request_id, revision in connection.execute(STATEMENTS["commands_without_result"])
        ),
        *(
            f"the answer to request `{request_id}` names revision {revision}, where the log has no such command"
            for request_id, revision in connection.execute(STATEMENTS["results_without_command"])
        ),
        *(
            f"the table of edges tells `{edge_id}@{version}` otherwise than the log"
            for edge_id, version in connection.execute(STATEMENTS["edges_unlike_the_log"])
        ),
        *(
            f"the table of receipts tells `{receipt_id}` otherwise than the log"
            for (receipt_id,) in connection.execute(STATEMENTS["receipts_unlike_the_log"])
        ),
        *check_base(connection),
        *check_checkpoints(connection),
    ]
