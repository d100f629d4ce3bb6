"""What is wrong with a store: its schema, the hash chain, and what stands beside the log: answers, images, the graph.

The chain comes first, and what stands beside it is compared only with an unbroken one: with a broken one the
comparison would say the same thing again in other words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import ChainBroken, HistoryRemoved
from remit_graph.model.change import GENESIS, verify_rows
from remit_graph.neo4j import base, checkpoints
from remit_graph.neo4j.judge import row_of
from remit_graph.neo4j.lock import change_head
from remit_graph.neo4j.looking import findings
from remit_graph.neo4j.place import first_place, last_place
from remit_graph.neo4j.read import ROWS_PER_PAGE, page_of_rows, read_base, read_head
from remit_graph.neo4j.schema import missing
from remit_graph.stored import request_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from remit_graph.model.change import Row
    from remit_graph.neo4j.database import Database


Found = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The place up to which the chain was found unbroken."""

    revision: int
    hash: str


NOTHING_VERIFIED: Final = Verified(revision=0, hash=GENESIS)


async def settled(database: Database, realm: str) -> Found:
    """Return where the ledger stands when no append is under way, so that all rows up to there can be seen."""
    return await change_head(database, realm, "lock_head")


async def check_chain(database: Database, realm: str, start: Verified) -> tuple[list[str], Verified]:
    """Verify the chain after `start` up to the head, and the answers to request ids along with it.

    Where history was cut after `start`, the chain is verified from the base on.

    Returns:
        What is wrong, one sentence each, and the place up to which nothing is.
    """
    last = int((await settled(database, realm))["revision"])
    begins = await read_base(database, realm)
    if start.revision < begins.revision:
        start = Verified(revision=begins.revision, hash=begins.hash)
    reached = start
    unanswered: list[str] = []
    try:
        async for rows in _whole_revisions(database, realm, start.revision, last):
            digest = verify_rows(rows, previous=reached.hash, after=reached.revision)
            reached = Verified(revision=rows[-1].revision, hash=digest)
            unanswered += await _unanswered(database, rows)
    except HistoryRemoved:
        # It was cut while it was verified.
        return await check_chain(database, realm, start)
    except ChainBroken as error:
        sides = "".join(f"; {name} `{error.facts[name]}`" for name in ("expected", "stored") if name in error.facts)
        return [f"{error.message}{sides}"], start
    head = await read_head(database, realm)
    # Whatever was appended since is verified the next time.
    if head.revision == last and (reached.revision, reached.hash) != (head.revision, head.hash):
        end = f"the log ends at revision {reached.revision} with hash `{reached.hash}`"
        return [f"{end}, the head says {head.revision} and `{head.hash}`"], start
    return unanswered, reached


async def _whole_revisions(database: Database, realm: str, after: int, last: int) -> AsyncIterator[list[Row]]:
    """Yield the rows after a revision in lists that end with one."""
    place = first_place(after + 1)
    pending: list[Row] = []
    while place <= last_place(last):
        page = await page_of_rows(database, realm, place, last)
        rows = [*pending, *map(row_of, page)]
        if len(page) < ROWS_PER_PAGE:
            if rows:
                yield rows
            return
        whole = next((index for index in range(len(rows) - 1, 0, -1) if rows[index].seq == 0), 0)
        if whole:
            yield rows[:whole]
        pending, place = rows[whole:], page[-1]["place"] + 1


async def _unanswered(database: Database, rows: Sequence[Row]) -> list[str]:
    """Return the commands among `rows` whose request id has no answer, or another one."""
    requests = [(row.revision, request) for row in rows if row.seq == 0 and (request := request_in(row)) is not None]
    asked = {(request_id, revision, fingerprint) for revision, (request_id, fingerprint) in requests}
    if not asked:
        return []
    found = await database.read("results_of", request_ids=[each[0] for each in asked])
    answered = {(each["request_id"], each["revision"], each["fingerprint"]) for each in found}
    return [
        f"request `{request_id}` of revision {revision} has no such answer: a repeat would act again"
        for request_id, revision, _ in sorted(asked - answered, key=lambda each: each[1])
    ]


async def check_rest(database: Database, realm: str, *, graph: bool = True) -> list[str]:
    """Return what is wrong beside an unbroken chain, one sentence each; in the graph too, if that is asked for."""
    lacking = [f"the database lacks {each}: run `remit store migrate`" for each in await missing(database)]
    unasked = [
        f"the answer to request `{row['request_id']}` names revision {row['revision']}, "
        "where the log has no such command"
        for row in await database.read("results_without_command")
    ]
    behind = await database.read("behind", realm=realm)
    late = [f"the graph is at revision {row['materialised']}, the ledger at {row['revision']}" for row in behind]
    # A graph that is on its way has differences, and none of them means anything.
    drift = [each.sentence for each in await findings(database, everything=True)] if graph and not late else []
    begins = await read_base(database, realm)
    images = [*await base.problems(database, realm, begins), *await checkpoints.problems(database, begins)]
    return [*lacking, *unasked, *images, *late, *drift]
