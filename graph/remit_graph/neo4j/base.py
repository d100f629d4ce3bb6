"""Where history begins, and taking out what was cut off: rows first, then what the graph holds of them, then answers.

A row that was cut off goes, unless it is the last of these that says what a thing or an edge of the graph is: that one
stays as `(:Kept)`, so that the drift check still knows what must be there, and can put it back. It goes when a later
row of the same thing is cut off, and on no other sign: the graph may have been edited. No decision reads it.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from remit_graph.errors import LedgerError
from remit_graph.history import Swept, Weight, require_anchored, require_later
from remit_graph.neo4j import checkpoints, past
from remit_graph.neo4j.database import rows_of
from remit_graph.neo4j.lock import lock_head
from remit_graph.neo4j.place import first_place, last_place
from remit_graph.neo4j.read import base_in, read_base, read_entries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neo4j import AsyncManagedTransaction

    from remit_graph.history import Base, Retention
    from remit_graph.neo4j.database import Database
    from remit_graph.stored import Checkpoint

Found = dict[str, Any]

ROWS: Final = 1_000
"""Rows that one sweep takes out: some tenths of a second in which nobody else can append."""

WEIGH_WITHIN: Final = timedelta(minutes=10)
"""How long it may take to look at all rows that would go; it holds no lock."""


async def weigh(database: Database, revision: int) -> Weight:
    """Return what a cut at `revision` would take out."""

    async def work(transaction: AsyncManagedTransaction) -> list[Found]:
        return await rows_of(transaction, "weigh", last_place=last_place(revision))

    rows = await database.reading(work, within=WEIGH_WITHIN)
    return Weight(rows=rows[0]["rows"], size=rows[0]["size"])


async def cut(database: Database, realm: str, checkpoint: Checkpoint, anchored_at: int) -> Base:
    """Let history begin at a checkpoint; the graph must have come past it.

    Raises:
        ModelError, ChainBroken, LedgerUnavailable: as the port says.
    """
    parts = await checkpoints.save_parts(database, checkpoint)
    entries = await read_entries(database, realm, anchored_at - 1, 1) if anchored_at > checkpoint.revision else []
    require_anchored(entries, revision=checkpoint.revision, digest_of_row=checkpoint.hash, digest=checkpoint.digest)

    async def work(transaction: AsyncManagedTransaction) -> None:
        await lock_head(transaction, database, realm)
        before = await base_in(transaction, database, realm)
        require_later(before, checkpoint)
        await checkpoints.put(transaction, checkpoint, parts, base=before)
        await rows_of(transaction, "drop_checkpoints", keep=checkpoints.KEPT, base=checkpoint.revision)
        first = before.first or await _row(transaction, first_place(before.revision + 1), "hash")
        command = json.loads(await _row(transaction, first_place(checkpoint.revision), "body"))
        values = {"revision": checkpoint.revision, "hash": checkpoint.hash, "digest": checkpoint.digest}
        values |= {"at": command["at"], "anchored_at": anchored_at, "first": first}
        await rows_of(transaction, "set_base", realm=realm, **values)

    await database.write(work)
    await checkpoints.drop_parts(database)
    return await read_base(database, realm)


async def _row(transaction: AsyncManagedTransaction, place: int, member: str) -> str:
    found = await rows_of(transaction, "page_of_rows", first_place=place, last_place=place, limit=1)
    return str(found[0][member])


async def sweep(database: Database, realm: str, retention: Retention) -> Swept:
    """Take some rows out that were cut off; where there is none, things of then, and answers whose time is over."""
    swept = await _sweep_rows(database, realm, retention)
    return swept if swept.rows else await _sweep_past(database, realm)


async def _sweep_rows(database: Database, realm: str, retention: Retention) -> Swept:
    async def work(transaction: AsyncManagedTransaction) -> Swept:
        await lock_head(transaction, database, realm)
        base = await base_in(transaction, database, realm)
        now = (await rows_of(transaction, "head", realm=realm))[0]["now"]
        last = 0 if base.is_whole else last_place(base.revision)
        rows = await rows_of(transaction, "rows_to_sweep", last_place=last, limit=ROWS)
        if not rows:
            return Swept(rows=0, answers=0, is_done=False)
        answers = await _let_answers_go(transaction, rows, retention, now)
        await _drop(transaction, realm, rows)
        return Swept(rows=len(rows), answers=answers, is_done=False)

    return await database.write(work)


async def _sweep_past(database: Database, realm: str) -> Swept:
    revision = (await read_base(database, realm)).revision
    handles = await past.handles(database, revision)

    async def work(transaction: AsyncManagedTransaction) -> Swept:
        await lock_head(transaction, database, realm)
        if handles:
            await past.drop(transaction, revision, handles)
            return Swept(rows=0, answers=0, is_done=False)
        now = (await rows_of(transaction, "head", realm=realm))[0]["now"]
        dropped = (await rows_of(transaction, "drop_answers", now=now, limit=ROWS))[0]["dropped"]
        return Swept(rows=0, answers=dropped, is_done=dropped < ROWS)

    return await database.write(work)


async def _let_answers_go(
    transaction: AsyncManagedTransaction, rows: Sequence[Found], retention: Retention, now: int
) -> int:
    """Forget the answers to commands whose rows go, or note until when they stay; returns how many were forgotten."""
    over: list[list[Any]] = []
    waiting: list[list[Any]] = []
    for row in rows:
        command = json.loads(row["body"]) if row["seq"] == 0 else {}
        until = retention.until(command)
        if until is not None:
            (over if until <= now else waiting).append([command["request_id"], row["revision"], until])
    if waiting:
        await rows_of(transaction, "keep_answers_until", answers=waiting)
    return (await rows_of(transaction, "drop_answer", answers=over))[0]["dropped"] if over else 0


async def _drop(transaction: AsyncManagedTransaction, realm: str, rows: Sequence[Found]) -> None:
    """Take rows out, and keep those that say what the graph must hold."""
    last: dict[str, Found] = {}
    kept: list[tuple[int, str]] = []
    for row in rows:
        if row["kind"] == "edge.begin":
            kept.append((row["place"], "edge"))
        elif past.says_what_is(row["kind"]) and (ref := _ref_of(row)) is not None:
            last[ref] = row
    # Not asked of the graph: what was edited or deleted there by hand is what these rows are kept for.
    kept += [(row["place"], ref) for ref, row in last.items() if not row["kind"].endswith(".end")]
    staying = {place for place, _ in kept}
    await rows_of(
        transaction,
        "drop_rows",
        realm=realm,
        superseded=list(last),
        kept=[list(each) for each in kept],
        places=[row["place"] for row in rows if row["place"] not in staying],
        rows=len(rows),
    )


def _ref_of(row: Found) -> str | None:
    return past.ref_of(row["kind"], json.loads(row["body"])["body"])


async def problems(database: Database, realm: str, base: Base) -> list[str]:
    """Return what is wrong with where history begins, one sentence each."""
    if base.is_whole:
        return []
    try:
        await checkpoints.of_base(database, base)
        entries = await read_entries(database, realm, base.anchored_at - 1, 1)
        require_anchored(entries, revision=base.revision, digest_of_row=base.hash, digest=base.digest)
    except LedgerError as error:
        return [error.message]
    return []
