"""`/v1/approvals`: ask for an approval of one exact operation, agree to it, take it back, look at what is open.

An approval names resources, operation, target, expected effect and the conflicts at that moment, and keeps what was
shown (S117): a request without one of the five is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request, Response

from remit_graph.errors import ModelError
from remit_graph.model.builtin import Governance
from remit_service.approval.record import MODES, PER_CALL, PER_RUN, Terms
from remit_service.approval.vote import Agreeing
from remit_service.decision.request import RequestError, parse_entity
from remit_service.http.coordination.read import MAX_ITEMS, refused
from remit_service.http.documented import answers, body
from remit_service.http.governance.described import COMMAND, READ, keyed
from remit_service.http.idempotency import REPLAYED, key_of
from remit_service.http.passes.desk import TAGS, Desk, only
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.replies import CALLED, exchange_of, json
from remit_service.writer.command import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.decision.caller import Caller
    from remit_service.http.coordination.read import Body
    from remit_service.writer.command import Done

CREATED: Final = 201
SHOWN: Final = ("resources", "operation", "target", "expected_effect", "conflicts")
"""What an approver must have seen (S117)."""

MAX_QUORUM: Final = 100
ApprovalPath = Annotated[str, Path(pattern="^apr_[0-9a-z]{1,64}$", description="Id of an approval.")]
Who = Annotated[str | None, Query(max_length=1024, description="Only those for this principal.")]
Where = Annotated[str | None, Query(max_length=4096, description="Only those on this resource.")]
_MEMBERS: Final = (
    "approval_id", "action", "resource_keys", "fields", "requester", "expected_version", "content_hash", "mode",
    "run_id", "quorum", "votes", "shown", "created_at", "expires_at", "state", "ended_at", "by",
)  # fmt: skip
_OWN: Final = tuple(each for each in _MEMBERS if each != "votes")


def add_routes(router: APIRouter, desk: Desk) -> None:
    """Add the routes of approvals."""

    @router.post(
        "/v1/approvals", tags=TAGS, status_code=CREATED, responses=answers("ApprovalAnswer", CREATED, problems=COMMAND),
        openapi_extra=keyed(body("ApprovalRequest")),
    )  # fmt: skip
    async def approve(request: Request) -> Response:
        """Approve an operation, as somebody else than who will act; or only ask for it, with `request_only`."""
        return await _approve(desk, request)

    @router.get("/v1/approvals", tags=TAGS, responses=answers("Approvals", problems=(400, *CALLED)))
    async def open_ones(request: Request, requester: Who = None, resource: Where = None) -> Response:
        """The open approvals; of its own principals alone for who may not see the graph."""
        caller = await desk.service.caller(exchange_of(request), principals=True)
        found = desk.approvals.open(requester=requester, resource=resource)
        return json({"approvals": [_record(each, caller) for each in found if _may_see(desk, each, caller)]})

    @router.get("/v1/approvals/{approval_id}", tags=TAGS, responses=answers("Approval", problems=READ))
    async def show(request: Request, approval_id: ApprovalPath) -> Response:
        """One approval with what was shown and who agreed."""
        caller = await desk.service.caller(exchange_of(request), principals=True)
        found = desk.approvals.find(approval_id)
        if found is None or not _may_see(desk, found, caller):
            raise ProblemError(Problem(code="not_found", detail=f"there is no approval `{approval_id}` here"))
        return json(_record(found, caller))

    @router.post(
        "/v1/approvals/{approval_id}/votes", tags=TAGS, responses=answers("ApprovalAnswer", problems=COMMAND),
        openapi_extra=keyed(body("VoteRequest")),
    )  # fmt: skip
    async def agree(request: Request, approval_id: ApprovalPath) -> Response:
        """Agree to an approval that was asked for."""
        exchange, caller, asked = await desk.read(request, principals=True)
        agreeing = _agreeing(desk, caller, asked)
        key = key_of(exchange, caller, asked.members)
        return _answer(desk, caller, await desk.approvals.agree(approval_id, agreeing, key=key), 200)

    @router.post(
        "/v1/approvals/{approval_id}/withdrawals", tags=TAGS, responses=answers("ApprovalEnd", problems=COMMAND),
        openapi_extra=keyed(body("WithdrawalRequest")),
    )  # fmt: skip
    async def withdraw(request: Request, approval_id: ApprovalPath) -> Response:
        """Take an approval back: a right of who will act, and of everybody who agreed."""
        exchange, caller, asked = await desk.read(request, principals=True)
        principal = desk.governance.actor(caller, asked.text("actor"))
        key = key_of(exchange, caller, asked.members)
        return _answer(desk, caller, await desk.approvals.withdraw(approval_id, principal, key=key), 200)


async def _approve(desk: Desk, request: Request) -> Response:
    exchange, caller, asked = await desk.read(request, principals=True)
    terms = _terms(desk, asked)
    if asked.flag("request_only", default=False):
        actor, agreeing = desk.governance.actor(caller, terms.requester), None
    else:
        agreeing = _agreeing(desk, caller, asked)
        actor = agreeing.approver
    done = await desk.approvals.ask(
        terms,
        agreeing,
        asked_through=caller.name,
        actor=actor,
        key=key_of(exchange, caller, asked.members),
        reason=asked.text("reason"),
    )
    return _answer(desk, caller, done, CREATED)


def _agreeing(desk: Desk, caller: Caller, asked: Body) -> Agreeing:
    under = asked.text("under") or Governance.APPROVE.value
    action = desk.point.view.actions.get(under)
    if action is None or action.class_ != "approve":
        raise refused("under", f"`{under}` is no action of class approve at `/under`")
    return Agreeing(approver=desk.governance.actor(caller, asked.text("approver")), under=under)


def _terms(desk: Desk, asked: Body) -> Terms:
    """Read what exactly is to be approved."""
    mode, run_id = asked.choice("mode", MODES, PER_CALL), asked.text("run_id")
    if (mode == PER_RUN) != (run_id is not None):
        raise refused("run_id", "`run_id` belongs to an approval `per_run`, and is needed there, at `/run_id`")
    version, content = asked.text("expected_version"), asked.text("content_hash")
    if version is None and content is None:
        raise refused("expected_version", "bind it to an `expected_version` or a `content_hash`")
    quorum = 1 if asked.members.get("quorum") is None else asked.whole("quorum")
    if quorum is None or not 1 <= quorum <= MAX_QUORUM:
        raise refused("quorum", f"`quorum` is a whole number from 1 to {MAX_QUORUM}")
    return Terms(
        action=_action(desk, asked),
        keys=_keys(desk, asked, mode),
        fields=tuple(sorted(asked.texts("fields"))),
        requester=asked.needed("for", asked.text("for")),
        expected_version=version,
        content_hash=content,
        mode=mode,
        run_id=run_id,
        quorum=quorum,
        expires_at=asked.needed("expires_at", asked.instant("expires_at")),
        shown=_shown(asked),
    )


def _action(desk: Desk, asked: Body) -> str:
    action = asked.needed("action", asked.mapping("action")).get("name")
    if not isinstance(action, str) or action not in desk.point.view.actions:
        raise RequestError("`name` is a declared action, at `/action/name`", pointer="/action/name")
    return action


def _keys(desk: Desk, asked: Body, mode: str) -> tuple[str, ...]:
    """Return the canonical keys of `resource`, or for a run of `resources`."""
    if asked.members.get("resources") is None:
        return (_key(desk, asked.members.get("resource"), "/resource"),)
    listed = asked.mappings("resources")
    if mode != PER_RUN or not 0 < len(listed) <= MAX_ITEMS:
        raise refused("resources", f"1 to {MAX_ITEMS} `resources` are named for a run, and one `resource` for a call")
    return tuple(_key(desk, each, f"/resources/{index}") for index, each in enumerate(listed))


def _key(desk: Desk, value: Any, pointer: str) -> str:
    if value is None:
        raise RequestError(f"`resource` is required at `{pointer}`", pointer=pointer)
    entity = parse_entity(value, pointer)
    try:
        found = desk.point.view.registry.resolve(entity.type, entity.id)
    except ModelError as error:
        raise RequestError(f"{error.message}, at `{pointer}/id`", pointer=f"{pointer}/id") from error
    if found is None:
        raise RequestError(f"`{entity.type}` is no declared type, at `{pointer}/type`", pointer=f"{pointer}/type")
    return found.key


def _shown(asked: Body) -> dict[str, Any]:
    shown = asked.needed("shown", asked.mapping("shown"))
    for name in SHOWN:
        if shown.get(name) is None:
            place = f"/shown/{name}"
            raise RequestError(f"an approver sees `{name}` of what it approves, at `{place}`", pointer=place)
    return {name: shown[name] for name in SHOWN}


def _answer(desk: Desk, caller: Caller, done: Done, status: int) -> Response:
    if isinstance(done.verdict, Refused):
        raise desk.refuse(caller, done.verdict, done.revision)
    more = {REPLAYED: "true"} if done.replayed else {}
    return json({**done.verdict.result, "revision": desk.point.revision_token(done.revision)}, status, more)


def _may_see(desk: Desk, record: Mapping[str, Any], caller: Caller) -> bool:
    if caller.sees_graph or caller.may_speak_for(str(record["requester"])) or record["point"] == caller.name:
        return True
    bound = desk.point.view.identities.get(caller.identity or "")
    return bound is not None and bound in {record["requester"], *(each["approver"] for each in record["votes"])}


def _record(record: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """Who agreed under which edges is for those who may see the graph; how many did is for everybody concerned."""
    found = only(record, _MEMBERS if caller.sees_graph else _OWN)
    return found if caller.sees_graph else {**found, "agreed": len(record["votes"])}
