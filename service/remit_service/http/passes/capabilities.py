"""`/v1/capabilities`: give one out, look at it, ask whether it counts; and the keys that verify it offline.

Whoever speaks for the subject may ask for one; for somebody else's request the principal named in `actor` needs
MINT_CAPABILITY. Ending one is a revocation like any other: `POST /v1/revocations` with `capability_id`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Path, Request, Response

from remit_graph.model.instant import parse_instant
from remit_service.capability.mint import DEFAULT_TTL, MAX_TTL, Minting
from remit_service.decision.request import RequestError
from remit_service.decision.verdict import new_id
from remit_service.http.documented import answers, body
from remit_service.http.governance.described import COMMAND, READ, keyed
from remit_service.http.idempotency import REPLAYED, key_of
from remit_service.http.passes.desk import TAGS, Desk, only
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.replies import ASKED, exchange_of, json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_graph.model.instant import Instant
    from remit_service.capability.capabilities import State
    from remit_service.decision.caller import Caller
    from remit_service.decision.request import Evaluation
    from remit_service.http.coordination.read import Body

CREATED: Final = 201
JWKS_PATH: Final = "/.well-known/jwks.json"
CapabilityPath = Annotated[str, Path(pattern="^cap_[0-9a-z]{1,64}$", description="Id of a capability.")]
_SHOWN: Final = (
    "capability_id", "subject", "action", "resource_key", "fields", "bound_to", "decision_id", "minted_by", "purpose",
    "issued_at", "expires_at",
)  # fmt: skip
_INSIDE: Final = ("proof", "epochs", "point", "state", "code", "ended_at")


def add_routes(router: APIRouter, desk: Desk) -> None:
    """Add the routes of capabilities."""

    @router.post(
        "/v1/capabilities", tags=TAGS, status_code=CREATED,
        responses=answers("Capability", CREATED, problems=COMMAND), openapi_extra=keyed(body("CapabilityRequest")),
    )  # fmt: skip
    async def mint(request: Request) -> Response:
        """Give out a capability for one request, short-lived, bound to who asks; the token is shown this once."""
        return await _mint(desk, request)

    @router.get("/v1/capabilities/{capability_id}", tags=TAGS, responses=answers("CapabilityState", problems=READ))
    async def show(request: Request, capability_id: CapabilityPath) -> Response:
        """A capability, and whether it counts now."""
        caller = await desk.service.caller(exchange_of(request))
        state = desk.capabilities.state({"capability_id": capability_id})
        return json(_state(state, caller, capability_id))

    @router.post(
        "/v1/capabilities/introspect", tags=TAGS, responses=answers("CapabilityState", problems=ASKED),
        openapi_extra=body("IntrospectionRequest"),
    )  # fmt: skip
    async def introspect(request: Request) -> Response:
        """Whether a token or a capability counts now; of what the caller may not know nothing but `active: false`."""
        _, caller, asked = await desk.read(request)
        token, capability_id = asked.members.get("token"), asked.text("capability_id")
        if (token is None) == (capability_id is None) or not isinstance(token, str | None):
            raise RequestError("show a `token`, or name a `capability_id`, at `/token`", pointer="/token")
        state = desk.capabilities.state({"token": token} if token is not None else {"capability_id": capability_id})
        return json(_state(state, caller, None))

    @router.get(JWKS_PATH, tags=["authzen"], responses=answers("KeySet", problems=(403,)))
    async def keys() -> Response:
        """The public keys that verify capabilities offline."""
        return json(desk.capabilities.key_set(), headers={"Cache-Control": "max-age=300"})


async def _mint(desk: Desk, request: Request) -> Response:
    exchange, caller, asked = await desk.read(request)
    evaluation = _evaluation(asked)
    decision_id = asked.text("decision_id")
    not_after = None if decision_id is None else await _decided(desk, caller, evaluation, decision_id)
    minting = Minting(
        evaluation=evaluation,
        caller=caller,
        minter=_minter(caller, asked, evaluation),
        capability_id=new_id("cap"),
        ttl_us=_ttl(asked),
        bind_to=asked.text("bind_to"),
        issuer=desk.capabilities.issuer,
        decision_id=decision_id,
        not_after=not_after,
        purpose=asked.text("purpose"),
    )
    key = key_of(exchange, caller, asked.members)
    labels = {"request_id": exchange.request_id_text}
    given = await desk.capabilities.mint(minting, key=key, labels=labels)
    if given.refused is not None:
        raise desk.refuse(caller, given.refused, given.revision)
    if given.record is None:
        raise ProblemError(Problem(code="capability_expired", detail="the capability of this key is over", status=410))
    shown = _record(given.record, caller) | ({"token": given.token} if given.token is not None else {})
    more = {REPLAYED: "true"} if given.replayed else {}
    return json({**shown, "revision": desk.point.revision_token(given.revision)}, CREATED, more)


def _evaluation(asked: Body) -> Evaluation:
    """Return the request that is to be granted; `fields` stand beside it, as in the command's own form."""
    evaluation, fields = asked.evaluation(), asked.texts("fields")
    if fields:
        evaluation = replace(evaluation, context={**evaluation.context, "fields": list(fields)})
    return evaluation


def _ttl(asked: Body) -> int:
    ttl = asked.microseconds("ttl_seconds")
    if ttl is None:
        return DEFAULT_TTL
    if not 0 < ttl <= MAX_TTL:
        seconds = MAX_TTL // 1_000_000
        raise RequestError(f"a capability lives up to {seconds} s, at `/ttl_seconds`", pointer="/ttl_seconds")
    return ttl


def _minter(caller: Caller, asked: Body, evaluation: Evaluation) -> str | None:
    """Return the principal that asks for somebody else's capability, or None where the subject asks for its own."""
    actor = asked.text("actor")
    if actor is None or actor == f"{evaluation.subject.type}:{evaluation.subject.id}":
        return None
    if not caller.may_speak_for(actor):
        detail = f"`{caller.name}` may not ask in the name of `{actor}`"
        raise ProblemError(Problem(code="identity_mismatch", detail=detail))
    return actor


async def _decided(desk: Desk, caller: Caller, evaluation: Evaluation, decision_id: str) -> Instant | None:
    """Return the end of an earlier decision that permits this very request.

    Raises:
        ProblemError: there is no record of it, or it is another's, or it permits nothing, or something else.
    """
    record = await desk.service.log.find(decision_id)
    if record is None or record["caller"]["point"] != caller.name:
        raise ProblemError(Problem(code="not_found", detail=f"there is no record of decision `{decision_id}` here"))
    asked = evaluation.record()
    same = all(_named(record[part]) == _named(asked[part]) for part in ("subject", "action", "resource"))
    if not same or record["result"]["effect"] != "permit":
        detail = f"decision `{decision_id}` does not permit this request"
        raise ProblemError(Problem(code="capability_mismatch", detail=detail))
    ends = record["result"]["not_after"]
    return None if ends is None else parse_instant(ends)


def _named(entity: Mapping[str, Any]) -> list[Any]:
    return [entity.get(name) for name in ("type", "id", "name")]


def _state(state: State, caller: Caller, capability_id: str | None) -> dict[str, Any]:
    known = state.record is not None and _may_see(state.record, caller)
    if not known:
        if capability_id is not None:
            raise ProblemError(Problem(code="not_found", detail=f"there is no capability `{capability_id}` here"))
        return {"active": False}
    assert state.record is not None  # noqa: S101 - for the type checker; it was just looked at
    code = {} if state.code is None else {"code": state.code}
    return {"active": state.active, **_record(state.record, caller), **code}


def _may_see(record: Mapping[str, Any], caller: Caller) -> bool:
    return caller.sees_graph or caller.may_speak_for(str(record["subject"])) or record["point"] == caller.name


def _record(record: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    return only(record, _SHOWN + (_INSIDE if caller.sees_graph else ()))
