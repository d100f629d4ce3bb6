"""`/v1/operations`: the write protocol, and the receipts it leaves (coordination.md 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import Request, Response  # noqa: TC002 - FastAPI reads annotations when it runs

from remit_service.coordination.operation import RESULTS
from remit_service.http.coordination.acquire import acquired, options_of, subject_of
from remit_service.http.coordination.described import COMMAND, CommandId, Tags, parameters
from remit_service.http.coordination.tell import answer, shown
from remit_service.http.documented import answers, body
from remit_service.http.idempotency import PARAMETER, key_of
from remit_service.http.replies import CALLED, exchange_of, json

if TYPE_CHECKING:
    from fastapi import APIRouter

    from remit_service.http.coordination.desk import Desk

TAGS: Final[Tags] = ["operations of the write protocol"]
BEGIN: Final = answers("Begun", 201, problems=COMMAND) | answers("Waiting", 202)
STEP: Final = answers("Step", problems=COMMAND)
PATH: Final = "/v1/operations/{coordination_id}"


def add_routes(router: APIRouter, desk: Desk) -> None:
    """Add the routes of operations."""
    _add_begin(router, desk)
    _add_reading(router, desk)
    _add_checks(router, desk)
    _add_ends(router, desk)
    _add_outcome(router, desk)
    _add_looks(router, desk)


def _add_begin(router: APIRouter, desk: Desk) -> None:
    @router.post("/v1/operations", tags=TAGS, status_code=201, responses=BEGIN, openapi_extra=_keyed("BeginRequest"))
    async def begin(request: Request) -> Response:
        """Begin an operation on one resource or several, now or in turn: steps 1 to 5."""
        exchange, caller, document = await desk.read(request)
        options = options_of(document) | {"leaseless": not document.flag("lease", default=True)}
        key = key_of(exchange, caller, document.members)
        reply = await desk.operations.begin(document.evaluations(), caller, key=key, **options)
        return acquired(desk, caller, reply)


def _add_reading(router: APIRouter, desk: Desk) -> None:
    @router.post(f"{PATH}/precondition", tags=TAGS, responses=STEP, openapi_extra=body("PreconditionRequest"))
    async def precondition(request: Request, coordination_id: CommandId) -> Response:
        """Note the version that was read, and compare it with the planned one: steps 6 and 7."""
        _, caller, document = await desk.read(request)
        reply = await desk.operations.precondition(
            coordination_id,
            caller,
            current_version=document.needed("current_version", document.text("current_version")),
            resource_key=document.text("resource_key"),
            subject=subject_of(desk, document),
        )
        return answer(desk, caller, reply)

    @router.post(f"{PATH}/renew", tags=TAGS, responses=STEP, openapi_extra=body("RenewRequest"))
    async def renew(request: Request, coordination_id: CommandId) -> Response:
        """Keep every lease of an operation, which has to advance for it."""
        _, caller, document = await desk.read(request)
        reply = await desk.operations.renew(
            coordination_id,
            caller,
            token=document.needed("lease_epoch", document.whole("lease_epoch")),
            ttl_us=document.microseconds("ttl_seconds"),
            progress=document.text("progress"),
            subject=subject_of(desk, document),
        )
        return answer(desk, caller, reply)


def _add_checks(router: APIRouter, desk: Desk) -> None:
    @router.post(f"{PATH}/executed", tags=TAGS, responses=STEP, openapi_extra=body("ExecutedRequest"))
    async def executed(request: Request, coordination_id: CommandId) -> Response:
        """Say what the call at the resource came to: step 8."""
        _, caller, document = await desk.read(request)
        reply = await desk.operations.executed(
            coordination_id,
            caller,
            token=document.needed("lease_epoch", document.whole("lease_epoch")),
            result=document.choice("result", RESULTS),
            evidence=document.mapping("evidence"),
            subject=subject_of(desk, document),
        )
        return answer(desk, caller, reply)

    @router.post(f"{PATH}/verified", tags=TAGS, responses=STEP, openapi_extra=body("VerifiedRequest"))
    async def verified(request: Request, coordination_id: CommandId) -> Response:
        """Say whether the resource is in the desired state: step 9."""
        _, caller, document = await desk.read(request)
        document.needed("passed", document.members.get("passed"))
        reply = await desk.operations.verified(
            coordination_id,
            caller,
            token=document.needed("lease_epoch", document.whole("lease_epoch")),
            passed=document.flag("passed", default=False),
            checks=document.mappings("checks"),
            subject=subject_of(desk, document),
        )
        return answer(desk, caller, reply)


def _add_ends(router: APIRouter, desk: Desk) -> None:
    @router.post(f"{PATH}/complete", tags=TAGS, responses=STEP, openapi_extra=_keyed("CompleteRequest"))
    async def complete(request: Request, coordination_id: CommandId) -> Response:
        """Write the receipt and release, in one revision: steps 10 and 11."""
        exchange, caller, document = await desk.read(request)
        versions = document.mapping("final_versions") or {}
        reply = await desk.operations.complete(
            coordination_id,
            caller,
            token=document.needed("lease_epoch", document.whole("lease_epoch")),
            final_version=document.text("final_version"),
            final_versions={name: str(each) for name, each in versions.items()},
            subject=subject_of(desk, document),
            key=key_of(exchange, caller, document.members),
        )
        return answer(desk, caller, reply)

    @router.post(f"{PATH}/abort", tags=TAGS, responses=STEP, openapi_extra=body("AbortRequest"))
    async def abort(request: Request, coordination_id: CommandId) -> Response:
        """Give an operation up; it leaves its receipt all the same."""
        _, caller, document = await desk.read(request)
        reply = await desk.operations.abort(
            coordination_id,
            caller,
            reason=document.needed("reason", document.text("reason")),
            subject=subject_of(desk, document),
        )
        return answer(desk, caller, reply)


def _add_outcome(router: APIRouter, desk: Desk) -> None:
    @router.post(f"{PATH}/outcome", tags=TAGS, responses=STEP, openapi_extra=body("OutcomeRequest"))
    async def outcome(request: Request, coordination_id: CommandId) -> Response:
        """Add what was found of the outcome to the receipt, however long after; no lease is held for it."""
        _, caller, document = await desk.read(request)
        actor, finding = document.text("actor"), document.needed("finding", document.mapping("finding"))
        receipt = desk.record_seen_by(caller, await desk.operations.receipt(coordination_id), "principal", "receipt")
        reply = await desk.operations.follow_up(
            receipt, caller, actor=actor or str(receipt["principal"]), finding=finding
        )
        return answer(desk, caller, reply)


def _add_looks(router: APIRouter, desk: Desk) -> None:
    found = answers("Record", problems=(400, 404, *CALLED))

    @router.get(PATH, tags=TAGS, responses=found)
    async def show(request: Request, coordination_id: CommandId) -> Response:
        """An operation with its steps so far, also one that has ended lately."""
        caller = await desk.service.caller(exchange_of(request))
        record = desk.operations.show(coordination_id)
        seen = desk.record_seen_by(caller, record, "principal", "operation")
        return json(shown(dict(seen), whole=caller.sees_graph))

    kept = answers("Record", problems=(400, 404, 410, *CALLED))

    @router.get("/v1/receipts/{coordination_id}", tags=["evidence"], responses=kept)
    async def receipt(request: Request, coordination_id: CommandId) -> Response:
        """The receipt of an operation or of a lease, however it ended; `exec_<id>` is what happened at the resource."""
        caller = await desk.service.caller(exchange_of(request))
        record = await desk.operations.receipt(coordination_id)
        seen = desk.record_seen_by(caller, record, "principal", "receipt")
        return json(shown(dict(seen), whole=caller.sees_graph))


def _keyed(name: str) -> dict[str, Any]:
    return body(name) | parameters(PARAMETER)
