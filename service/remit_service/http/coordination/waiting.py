"""`/v1/waiters`, `/v1/queues`, `/v1/conflicts`, `/v1/notices`: who waits behind whom, and what holders are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Path, Query, Request, Response

from remit_graph.errors import ModelError
from remit_graph.model.instant import parse_instant
from remit_service.decision.request import RequestError
from remit_service.http.coordination.acquire import acquired
from remit_service.http.coordination.described import COMMAND, CommandId, Tags, Wait
from remit_service.http.coordination.following import follow
from remit_service.http.coordination.tell import answer, done, own_wait, shown, wait_ended
from remit_service.http.documented import answers
from remit_service.http.events import EVENTS, EventStream, wants_events
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.replies import CALLED, exchange_of, json

if TYPE_CHECKING:
    from fastapi import APIRouter

    from remit_service.decision.caller import Caller
    from remit_service.http.coordination.desk import Desk

TAGS: Final[Tags] = ["queues"]
PATH: Final = "/v1/waiters/{waiter_id}"
WAITED: Final[dict[int | str, dict[str, Any]]] = answers("Begun", problems=COMMAND) | answers("Waiting", 202)
WAITED[200]["content"][EVENTS] = {"schema": {"type": "string"}}
GRANTED_BEFORE: Final = answers("Begun")
Key = Annotated[str, Path(pattern=r"^[^/#\s]{1,1024}$", description="A full key, such as `wp:post:1024`.")]
After = Annotated[str | None, Query(min_length=1, max_length=64, description="Only those decided later, RFC 3339.")]
Told = Annotated[str | None, Query(min_length=1, max_length=256, description="Only those after this notice.")]
Subject = Annotated[str, Query(min_length=1, max_length=1024, description="A principal, `<kind>:<name>`.")]


def add_routes(router: APIRouter, desk: Desk) -> None:
    """Add the routes of waiting."""
    _add_waiters(router, desk)
    _add_queues(router, desk)
    _add_notices(router, desk)


def _add_waiters(router: APIRouter, desk: Desk) -> None:
    @router.get(PATH, tags=TAGS, responses=WAITED)
    async def wait(request: Request, waiter_id: CommandId, wait: Wait = 0) -> Response:
        """Wait for what was queued for, by long poll or event stream; asking is what keeps the place.

        409 or 410 tells how a wait ended.
        """
        exchange = exchange_of(request)
        caller = await desk.service.caller(exchange)
        desk.record_seen_by(caller, desk.coordinator.waiting.find(waiter_id), "holder", "waiter")
        if wants_events(request.headers.get("accept")):
            return EventStream(
                desk.service, desk.polls, exchange, lambda poll: follow(desk, caller, exchange, waiter_id, poll)
            )
        reply = await desk.leases.wait(waiter_id, caller)
        if wait and reply.is_waiting:
            async with desk.polls.open(exchange) as poll:
                reply = await poll.news(desk.leases.wait(waiter_id, caller, within_seconds=wait)) or reply
        if reply.is_refused:
            raise ProblemError(wait_ended(desk, caller, reply))
        if reply.is_waiting:
            return acquired(desk, caller, reply)
        return answer(desk, caller, reply)

    @router.delete(
        PATH, tags=TAGS, status_code=204, responses=answers(None, 204, problems=COMMAND) | GRANTED_BEFORE,
        response_class=Response,
    )  # fmt: skip
    async def leave(request: Request, waiter_id: CommandId) -> Response:
        """Stop waiting; a second time is as good as once.

        200 with what was granted before: it is held, and has to be used or given back.
        """
        caller = await desk.service.caller(exchange_of(request))
        desk.record_seen_by(caller, desk.coordinator.waiting.find(waiter_id), "holder", "waiter")
        reply = await desk.leases.leave(waiter_id, caller)
        if not reply.is_refused and reply.body["state"] == "GRANTED":
            return answer(desk, caller, await desk.leases.wait(waiter_id, caller))
        return done(desk, caller, reply)


def _add_queues(router: APIRouter, desk: Desk) -> None:
    @router.get("/v1/queues/{key}", tags=TAGS, responses=answers("Queue", problems=(400, *CALLED)))
    async def queue(request: Request, key: Key) -> Response:
        """Who waits at, above and below a key, in order, each with why and for what; to others only their own waits."""
        caller = await desk.service.caller(exchange_of(request))
        waiters = desk.leases.queue(key)
        if not caller.sees_graph:
            waiters = [own_wait(each) for each in waiters if caller.may_speak_for(each["holder"])]
        return json({"key": key, "waiters": shown(waiters)})

    @router.get("/v1/conflicts", tags=TAGS, responses=answers("Conflicts", problems=(400, *CALLED)))
    async def conflicts(request: Request, after: After = None) -> Response:
        """The conflict records at hand, oldest first."""
        await desk.service.insider(exchange_of(request))
        found = desk.signals.conflicts(0 if after is None else _instant(after))
        return json({"conflicts": shown(found)})

    @router.get("/v1/conflicts/map", tags=TAGS, responses=answers("ConflictMap", problems=CALLED))
    async def conflict_map(request: Request) -> Response:
        """The pairs of declared runs that would meet, before any of them starts."""
        await desk.service.insider(exchange_of(request))
        return json({"pairs": shown(desk.signals.conflict_map()), "coverage": desk.signals.coverage()})


def _instant(text: str) -> int:
    try:
        return parse_instant(text)
    except ModelError as error:
        raise RequestError(error.message, pointer="", parameter="after") from error


def _add_notices(router: APIRouter, desk: Desk) -> None:
    @router.get("/v1/notices", tags=TAGS, responses=answers("Notices", problems=(400, *CALLED)))
    async def notices(request: Request, subject: Subject, wait: Wait = 0, after: Told = None) -> Response:
        """What a principal has to be told: which lease it lost, why, and what it may have left half done."""
        exchange = exchange_of(request)
        caller = await desk.service.caller(exchange)
        if not (caller.sees_graph or caller.may_speak_for(subject)):
            detail = f"enforcement point `{caller.name}` may not speak for `{subject}`"
            raise ProblemError(Problem(code="identity_mismatch", detail=detail))
        found = desk.signals.news(subject, after)
        if wait and not found:
            async with desk.polls.open(exchange) as poll:
                found = await poll.news(desk.signals.wait_for_news(subject, after=after, within_seconds=wait)) or []
        return json({"notices": [_notice(each, caller) for each in found]})


def _notice(notice: Any, caller: Caller) -> dict[str, Any]:
    told = {name: each for name, each in notice.items() if caller.sees_graph or name not in ("by", "current_token")}
    return {"notice_id": notice["id"], **shown(told)}
