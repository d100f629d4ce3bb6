"""`GET /v1/changes`: the change feed, as JSON lines or as server-sent events, both resumable.

One line or event is one revision, whole: no answer ends inside one (rules.md 2). `after` is a revision or the token of
one; `Last-Event-ID` counts as `after`. What a `kinds` filter passes over is told all the same: the header
`Remit-Revision`, or an event without data, says how far was read. What a compaction removed is not passed over: whoever
asks for it is told where history begins (410 `history_removed`), and goes on from a state of then or later.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from fastapi import Query, Request, Response

from remit_graph.model.instant import format_instant
from remit_service.decision.consistency import read_token
from remit_service.decision.request import RequestError
from remit_service.http.coordination.described import Wait  # noqa: TC001 - FastAPI reads annotations when it runs
from remit_service.http.documented import answers
from remit_service.http.events import BEAT_SECONDS, EVENTS, STREAM_SECONDS, EventStream, event, wants_events
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.replies import CALLED, exchange_of, json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from fastapi import APIRouter

    from remit_graph.model.change import Entry
    from remit_service.http.coordination.desk import Desk
    from remit_service.http.polls import Poll

LINES: Final = "application/x-ndjson"
JSON_ALONE: Final = "application/json"
"""Who takes nothing else gets one document; lines are what a program that follows can read as they come."""

AT_ONCE: Final = 500
"""Revisions in one answer; the rest comes with the next call."""

FOUND: Final[dict[int | str, dict[str, Any]]] = answers(None, problems=(400, 409, 410, *CALLED)) | {
    200: {
        "description": "Revisions, oldest first",
        "content": {
            LINES: {"schema": {"type": "string"}},
            EVENTS: {"schema": {"type": "string"}},
            JSON_ALONE: {"schema": {"$ref": "#/components/schemas/Entries"}},
        },
    }
}
After = Annotated[
    str | None,
    Query(
        pattern="^[A-Za-z0-9_-]{1,256}$",
        description="A revision, or its token; none is the very beginning, also where that was removed.",
    ),
]
Kinds = Annotated[
    str | None,
    Query(
        pattern="^[a-z_]+([.][a-z_]+)?(,[a-z_]+([.][a-z_]+)?){0,31}$",
        description="Kinds of changes, `lease.put`, or nouns, `lease`; separated by commas.",
    ),
]


def add_routes(router: APIRouter, desk: Desk) -> None:
    """Add the change feed."""

    @router.get("/v1/changes", tags=["changes"], responses=FOUND, response_class=Response)
    async def changes(request: Request, after: After = None, wait: Wait = 0, kinds: Kinds = None) -> Response:
        """What was changed, revision by revision; bodies are as the ledger holds them, instants in microseconds."""
        exchange = exchange_of(request)
        await desk.service.insider(exchange)
        seen = request.headers.get("last-event-id") or after
        start = 0 if seen is None else _revision(desk, seen)
        wanted = frozenset(kinds.split(",")) if kinds is not None else None
        # Before the answer begins: what was removed has a status of its own.
        entries = await _read(desk, start)
        if wants_events(request.headers.get("accept")):
            begun = partial(_events, desk, start, entries, wanted)
            return EventStream(desk.service, desk.polls, exchange, begun)
        if wait and not _any_kept(entries, wanted):
            async with desk.polls.open(exchange) as poll:
                entries = await _wait(desk, start, entries, wanted, wait, poll)
        last = entries[-1].revision if entries else start
        if request.headers.get("accept") == JSON_ALONE:
            kept = [_told(desk, each, wanted) for each in entries if _kept(each, wanted)]
            return json({"entries": kept, "revision": desk.service.point.revision_token(last)})
        lines = [_line(desk, each, wanted) for each in entries if _kept(each, wanted)]
        headers = {"Remit-Revision": desk.service.point.revision_token(last)}
        return Response(b"".join(line + b"\n" for line in lines), 200, headers, LINES)


def _revision(desk: Desk, seen: str) -> int:
    if seen.isdecimal() and len(seen) < len(str(1 << 63)):
        return int(seen)
    head = desk.coordinator.point.replica.head
    found = read_token(seen, head) if head is not None else None
    if found is None:
        if seen.isdecimal():
            raise RequestError("`after` is no revision", pointer="", parameter="after")
        raise ProblemError(Problem(code="revision_foreign", detail="`after` is no token of this store"))
    return found


async def _wait(
    desk: Desk, after: int, entries: Sequence[Entry], wanted: frozenset[str] | None, seconds: float, poll: Poll
) -> Sequence[Entry]:
    """Return the entries read after a revision; where none of them is wanted, wait for the first that is."""
    point = desk.coordinator.point
    deadline = point.clock.monotonic() + seconds
    while not (_any_kept(entries, wanted) or poll.is_over):
        left = deadline - point.clock.monotonic()
        if left <= 0:
            break
        after = entries[-1].revision if entries else after
        await poll.news(point.replica.reached(after + 1, timedelta(seconds=left)))
        entries = await _read(desk, after) or entries
    return entries


async def _read(desk: Desk, after: int) -> Sequence[Entry]:
    """Read whole revisions that the view has; a reader of the feed must not be ahead of the decisions it explains."""
    point = desk.coordinator.point
    if after >= point.view.revision:
        return ()
    found = await point.ledger.read(after, AT_ONCE)
    return [each for each in found if each.revision <= point.view.revision]


def _any_kept(entries: Sequence[Entry], wanted: frozenset[str] | None) -> bool:
    return any(_kept(each, wanted) for each in entries)


def _kept(entry: Entry, wanted: frozenset[str] | None) -> bool:
    return wanted is None or any(_is_wanted(each.kind, wanted) for each in entry.changes)


def _is_wanted(kind: str, wanted: frozenset[str]) -> bool:
    return kind in wanted or kind.partition(".")[0] in wanted


def _line(desk: Desk, entry: Entry, wanted: frozenset[str] | None) -> bytes:
    return msgspec.json.encode(_told(desk, entry, wanted))


def _told(desk: Desk, entry: Entry, wanted: frozenset[str] | None) -> dict[str, Any]:
    changes = [
        {"kind": each.kind, "body": each.body}
        for each in entry.changes
        if wanted is None or _is_wanted(each.kind, wanted)
    ]
    line: dict[str, Any] = {
        "revision": entry.revision,
        "token": desk.service.point.revision_token(entry.revision),
        "at": format_instant(entry.at),
        "action": entry.action,
        "actor": entry.actor,
        "changes": changes,
    }
    return line if entry.reason is None else {**line, "reason": entry.reason}


async def _events(
    desk: Desk, after: int, entries: Sequence[Entry], wanted: frozenset[str] | None, poll: Poll
) -> AsyncIterator[bytes]:
    """Yield the events of revisions after one; `entries` are the first of them, as far as there are some."""
    clock = desk.coordinator.point.clock
    end = clock.monotonic() + STREAM_SECONDS
    while clock.monotonic() < end and not poll.is_over:
        entries = await _wait(desk, after, entries, wanted, BEAT_SECONDS, poll)
        for each in entries:
            after = each.revision
            if _kept(each, wanted):
                yield event("change", _line(desk, each, wanted), number=each.revision)
        if not _any_kept(entries, wanted):
            # An event without data moves the client's `Last-Event-ID` and is not dispatched.
            yield b"id: %d\n\n" % after
        entries = await _read(desk, after)
