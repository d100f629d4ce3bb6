"""`/v1/leases`: leases alone, by the rules of HTTP: ETag and If-Match, 428, 412, 409, 410 and Retry-After.

What a lease does not promise is that only one process is acting: only the check of the token at the resource does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Query, Request, Response

from remit_service.http.coordination.acquire import acquired, etag, options_of, subject_of
from remit_service.http.coordination.described import COMMAND, CommandId, Tags, parameters
from remit_service.http.coordination.tell import answer, done, problem_of, shown
from remit_service.http.documented import answers, body
from remit_service.http.idempotency import PARAMETER, key_of
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.question import parse_question
from remit_service.http.replies import CALLED, exchange_of, json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import APIRouter

    from remit_service.decision.request import Evaluation
    from remit_service.http.coordination.desk import Desk
    from remit_service.http.coordination.read import Body
    from remit_service.http.exchange import Exchange

TAGS: Final[Tags] = ["leases"]
PATH: Final = "/v1/leases/{lease_id}"
IF_MATCH: Final[dict[str, Any]] = {
    "name": "If-Match",
    "in": "header",
    "required": True,
    "description": "The entity tag of the lease as it was last seen, or `*`.",
    "schema": {"type": "string", "pattern": r'^("[0-9]{1,18}"|\*)$'},
}
_TAG: Final = re.compile(rb'"([0-9]{1,18})"')
Epoch = Annotated[int, Query(ge=0, lt=1 << 63, description="The token that the lease was given with.")]
Holder = Annotated[str | None, Query(min_length=1, max_length=1024, description="Only those of this principal.")]
Under = Annotated[str | None, Query(min_length=1, max_length=1024, description="Only those at and below this key.")]


def add_routes(router: APIRouter, desk: Desk) -> None:
    """Add the routes of leases."""
    _add_taking(router, desk)
    _add_keeping(router, desk)
    _add_looks(router, desk)


def _add_taking(router: APIRouter, desk: Desk) -> None:
    taken = answers("Leased", 201, problems=COMMAND)

    @router.post(
        "/v1/leases",
        tags=TAGS,
        status_code=201,
        responses=taken | answers("Waiting", 202),
        openapi_extra=body("LeaseRequest") | parameters(PARAMETER),
    )
    async def acquire(request: Request) -> Response:
        """Take a lease, or leases on several resources, all or none; now or in turn."""
        exchange, caller, document = await desk.read(request)
        key = key_of(exchange, caller, document.members)
        reply = await desk.leases.acquire(document.evaluations(), caller, key=key, **options_of(document))
        return acquired(desk, caller, reply)

    @router.post(
        f"{PATH}/preempt",
        tags=TAGS,
        status_code=201,
        responses=taken,
        openapi_extra=body("PreemptRequest") | parameters(PARAMETER),
    )
    async def preempt(request: Request, lease_id: CommandId) -> Response:
        """Take over the resource of somebody's lease, where a live MAY_PREEMPT edge and the priorities allow it."""
        exchange, caller, document = await desk.read(request)
        options = options_of(document)
        for name in ("preempt", "wait_us"):
            del options[name]
        key = key_of(exchange, caller, document.members)
        reply = await desk.leases.preempt(lease_id, _taker(document, lease_id), caller, key=key, **options)
        return acquired(desk, caller, reply)


def _taker(document: Body, lease_id: str) -> Evaluation:
    """The question of who takes over; the resource is the lease's own."""
    return parse_question({**document.members, "resource": {"type": "key", "id": lease_id}})


def _add_keeping(router: APIRouter, desk: Desk) -> None:
    @router.put(
        PATH,
        tags=TAGS,
        responses=answers("Lease", problems=COMMAND),
        openapi_extra=body("RenewRequest") | parameters(IF_MATCH),
    )
    async def renew(request: Request, lease_id: CommandId) -> Response:
        """Keep a lease: the same token, a later end. `If-Match` names the version that the holder saw."""
        exchange, caller, document = await desk.read(request)
        version = _seen(exchange)
        reply = await desk.leases.renew(
            lease_id,
            caller,
            token=document.needed("lease_epoch", document.whole("lease_epoch")),
            ttl_us=document.microseconds("ttl_seconds"),
            progress=document.text("progress"),
            version=version,
            subject=subject_of(desk, document),
        )
        if reply.code == "stale_expected_revision":
            raise ProblemError(_with_current_tag(problem_of(desk, caller, reply), desk.leases.show(lease_id)))
        lease = dict(reply.body.get("lease") or reply.body)
        headers = {"ETag": etag(lease)} if "version" in lease else {}
        return answer(desk, caller, reply, body=lease, headers=headers)

    @router.delete(
        PATH, tags=TAGS, status_code=204, responses=answers(None, 204, problems=COMMAND), response_class=Response
    )
    async def release(request: Request, lease_id: CommandId, lease_epoch: Epoch) -> Response:
        """Give a lease back. A second time is as good as once; one that ended otherwise is 410, with how."""
        caller = await desk.service.caller(exchange_of(request))
        reply = await desk.leases.release(lease_id, caller, token=lease_epoch)
        if not reply.is_refused and reply.body["state"] != "RELEASED":
            code = str(reply.body.get("code") or "lease_expired")
            detail = f"the lease had ended before: {reply.body['state']}"
            raise ProblemError(Problem(code=code, detail=detail, members={"state": reply.body["state"]}))
        return done(desk, caller, reply)


def _seen(exchange: Exchange) -> int | None:
    """Return the version in `If-Match`; strong comparison, so that a weak tag never matches (RFC 9110, 13.1.1).

    Raises:
        ProblemError: 428 without one, 412 with one that cannot be the lease's.
    """
    given = exchange.headers.get(b"if-match")
    if given is None:
        detail = "send If-Match with the entity tag of the lease, or `*`"
        raise ProblemError(Problem(code="version_required", status=428, detail=detail, members={"header": "If-Match"}))
    if given.strip() == b"*":
        return None
    match = _TAG.fullmatch(given.strip())
    return int(match[1]) if match is not None else -1


def _with_current_tag(problem: Problem, lease: Mapping[str, Any] | None) -> Problem:
    if lease is None or "version" not in lease:
        return problem
    headers = (*problem.headers, (b"etag", etag(lease).encode()))
    return Problem(
        code=problem.code, detail=problem.detail, status=problem.status, members=problem.members, headers=headers
    )


def _add_looks(router: APIRouter, desk: Desk) -> None:
    @router.get("/v1/leases", tags=TAGS, responses=answers("Leases", problems=(400, *CALLED)))
    async def held(request: Request, holder: Holder = None, under: Under = None) -> Response:
        """The live leases, of a holder or at and below a key; to who may not see the graph only its own."""
        caller = await desk.service.caller(exchange_of(request))
        found = desk.leases.held(holder=holder, under=under)
        mine = [each for each in found if caller.sees_graph or caller.may_speak_for(each["holder"])]
        return json({"leases": shown(mine, whole=caller.sees_graph), "revision": desk.service.point.revision_token()})

    @router.get(PATH, tags=TAGS, responses=answers("Lease", problems=(400, 404, *CALLED)))
    async def show(request: Request, lease_id: CommandId) -> Response:
        """A lease, also one that has ended lately."""
        caller = await desk.service.caller(exchange_of(request))
        lease = desk.record_seen_by(caller, desk.leases.show(lease_id), "holder", "lease")
        headers = {"ETag": etag(lease)} if "version" in lease else {}
        return json(shown(dict(lease), whole=caller.sees_graph), headers=headers)
