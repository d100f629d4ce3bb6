"""Carries revisions out of a ledger and into another one, some at a time: nothing is held but what is on its way."""

from __future__ import annotations

import asyncio
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from remit_graph.errors import ChainBroken
from remit_graph.history import require_kept
from remit_graph.stored import Stored, request_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from remit_graph.head import Head
    from remit_graph.history import Base
    from remit_graph.model.change import Row
    from remit_graph.ports import Ledger
    from remit_graph.stored import Checkpoint, Remains

    Tell = Callable[[int], None]

ROWS: Final = 1_000
"""Rows that go together, and at least one revision: one transaction, and what Neo4j materialises with it."""


async def revisions_of(ledger: Ledger, last: int, *, after: int = 0) -> AsyncIterator[Sequence[Stored]]:
    """Yield the revisions of a ledger after `after` up to `last`, in order and in lists of some.

    Raises:
        HistoryRemoved: some of them were removed, maybe meanwhile.
        LedgerError: it cannot be read.
    """
    rows: list[Row] = []
    async for row in ledger.rows(after):
        if row.revision > last:
            break
        if len(rows) >= ROWS and row.seq == 0:
            yield await _stored(ledger, rows)
            rows = []
        rows.append(row)
    if rows:
        yield await _stored(ledger, rows)


async def _stored(ledger: Ledger, rows: Sequence[Row]) -> Sequence[Stored]:
    asked = [found[0] for row in rows if row.seq == 0 and (found := request_in(row)) is not None]
    answers = {each.revision: each for each in await ledger.results(asked)} if asked else {}
    stored = [
        Stored(rows=tuple(some), answer=answers.get(revision))
        for revision, some in groupby(rows, key=attrgetter("revision"))
    ]
    if len(answers) != len(asked):
        # Whoever cut history meanwhile may have let answers go whose rows were read before.
        require_kept(rows[0].revision - 1, (await ledger.base()).revision)
        raise ChainBroken(
            f"a request of the revisions from {rows[0].revision} to {rows[-1].revision} has no answer, or another's",
            advice="run `remit store check`: a repeat of it would act again",
            revision=rows[0].revision,
        )
    return stored


async def remains_of(ledger: Ledger) -> AsyncIterator[Sequence[Remains]]:
    """Yield what is left of removed revisions, in lists of some."""
    some: list[Remains] = []
    async for each in ledger.remains():
        some.append(each)
        if len(some) >= ROWS:
            yield some
            some = []
    if some:
        yield some


async def begin_all(ledger: Ledger, base: Base, image: Checkpoint | None, remains: Iterator[Remains]) -> None:
    """Let an unfinished ledger begin where another one does; `remains` is read by blocking.

    Raises:
        LedgerError: as `begin_at` and `put_remains`.
    """
    if image is None:
        return
    head = await ledger.begin_at(await ledger.head(), base, image)
    while some := await asyncio.to_thread(lambda: list(islice(remains, ROWS))):
        await ledger.put_remains(head, some)


async def put_all(ledger: Ledger, revisions: Iterator[Stored], tell: Tell) -> Head:
    """Put revisions that are read by blocking into an unfinished ledger; returns its head.

    Raises:
        LedgerError: as `put_back`; what was put before stays, in a ledger that is unfinished.
    """
    head = await ledger.head()
    while some := await asyncio.to_thread(_some, revisions):
        head = await ledger.put_back(head, some)
        tell(head.revision)
    return head


def _some(revisions: Iterator[Stored]) -> list[Stored]:
    some: list[Stored] = []
    rows = 0
    for each in revisions:
        some.append(each)
        rows += len(each.rows)
        if rows >= ROWS:
            break
    return some
