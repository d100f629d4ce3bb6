"""Commands for the tests of ledgers, and the loop that every writer runs."""

from __future__ import annotations

import hashlib
from itertools import count
from typing import TYPE_CHECKING

from remit_graph.errors import HeadMoved
from remit_graph.model.change import Change, Command
from remit_graph.stored import Checkpoint
from remit_graph.view.apply import apply
from remit_graph.view.image import pack
from remit_graph.view.state import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit_graph.head import Head
    from remit_graph.model.change import Entry, Row
    from remit_graph.model.instant import Instant
    from remit_graph.ports import Ledger

_NUMBERS = count(1)


def a_command(
    *changes: Change,
    at: Instant,
    request_id: str | None = None,
    fingerprint: str | None = None,
    result: str | None = None,
    reason: str | None = None,
    action: str = "GRAPH_APPLY",
) -> Command:
    """Return a command; without changes it puts a principal of a new name."""
    return Command(
        action=action,
        actor="human:ada",
        at=at,
        changes=changes or (a_principal(f"human:{next(_NUMBERS)}"),),
        request_id=request_id,
        fingerprint=fingerprint,
        result=result,
        reason=reason,
    )


def a_principal(name: str) -> Change:
    """Return the change that puts a principal."""
    return Change("principal.put", {"id": name, "attributes": {"desk": [1, True, None]}})


def edge_begin(edge_id: str, version: int = 1, to: str = "wp:post:1024") -> Change:
    """Return the change that begins a version of an edge."""
    record = {"edge_id": edge_id, "version": version, "edge": "MAY_WRITE", "from": "instance:seo-7", "to": to}
    return Change("edge.begin", {**record, "epoch": 1, "issuer": "organization:acme"})


def edges_end(*edges: tuple[str, int]) -> Change:
    """Return the change that ends versions of edges."""
    return Change("edges.end", {"edges": [list(each) for each in edges], "cause": "revoked"})


def now(head: Head) -> Instant:
    """Return the instant that a writer with the store's clock decides at."""
    return max(head.now, head.at)


async def append(ledger: Ledger, *changes: Change, request_id: str | None = None) -> Entry:
    """Append one command where the ledger stands."""
    head = await ledger.head()
    entries = await ledger.append(head, [a_command(*changes, at=now(head), request_id=request_id)])
    return entries[0]


async def append_racing(ledger: Ledger, request_id: str) -> Entry:
    """Append one command against other writers: whoever is late decides again."""
    while True:
        head = await ledger.head()
        try:
            entries = await ledger.append(head, [a_command(at=now(head), request_id=request_id)])
        except HeadMoved:
            continue
        return entries[0]


async def count_racing(ledger: Ledger, request_id: str) -> Entry:
    """Append one more than the last command counted, against other writers: whoever is late counts again."""
    while True:
        head = await ledger.head()
        last = await ledger.read(head.revision - 1, 1) if head.revision else ()
        counted = last[0].changes[0].body["count"] if last else 0
        change = Change("counter.put", {"id": "all", "count": counted + 1})
        try:
            entries = await ledger.append(head, [a_command(change, at=now(head), request_id=request_id)])
        except HeadMoved:
            continue
        return entries[0]


async def rows_of(ledger: Ledger) -> list[Row]:
    """Return all rows of a ledger."""
    return [row async for row in ledger.rows()]


async def everything(ledger: Ledger) -> Sequence[Entry]:
    """Return all revisions of a ledger."""
    entries: list[Entry] = []
    while more := await ledger.read(len(entries), 1_000):
        entries.extend(more)
    return entries


def image_of(entry: Entry, blob: bytes = pack(View())) -> Checkpoint:
    """Return a checkpoint of the revision of `entry`."""
    return Checkpoint(revision=entry.revision, hash=entry.hash, digest=hashlib.sha256(blob).hexdigest(), blob=blob)


async def state_of(ledger: Ledger) -> bytes:
    """Return the image of the state at the head of a ledger with its whole history."""
    view = View()
    for entry in await ledger.read(0, 1_000):
        apply(view, entry)
    return pack(view)
