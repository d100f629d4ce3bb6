"""`/v1/transfers`: ownership moves in seven steps, each with its revision and evidence (coordination.md 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Path, Request, Response

from remit_service.http.coordination.described import COMMAND, CommandId, Tags, parameters
from remit_service.http.coordination.speaker import actor_of
from remit_service.http.coordination.tell import answer, shown
from remit_service.http.documented import answers, body
from remit_service.http.idempotency import PARAMETER, key_of
from remit_service.http.question import parse_question
from remit_service.http.replies import CALLED, exchange_of, json

if TYPE_CHECKING:
    from fastapi import APIRouter

    from remit_service.decision.request import Evaluation
    from remit_service.http.coordination.desk import Desk
    from remit_service.http.coordination.read import Body

TAGS: Final[Tags] = ["ownership transfer"]
PATH: Final = "/v1/transfers/{transfer_id}"
Step = Annotated[
    str, Path(pattern="^(validate|freeze|transfer|register|verify|retire|abort)$", description="Which step is taken.")
]


def add_routes(router: APIRouter, desk: Desk) -> None:
    """Add the routes of transfers."""

    @router.post(
        "/v1/transfers",
        tags=TAGS,
        status_code=201,
        responses=answers("Transfer", 201, problems=COMMAND),
        openapi_extra=body("TransferRequest") | parameters(PARAMETER),
    )
    async def propose(request: Request) -> Response:
        """Propose to move fields from one owner to another; by the owner or a root principal."""
        exchange, caller, document = await desk.read(request)
        named = document.text("transfer_id")
        reply = await desk.signals.propose_transfer(
            caller,
            actor=actor_of(document, caller),
            key=key_of(exchange, caller, document.members),
            from_owner=document.needed("from", document.text("from")),
            to_owner=document.needed("to", document.text("to")),
            resource=_resource(desk, document),
            fields=document.texts("fields"),
            reason=document.needed("reason", document.text("reason")),
            freeze_us=document.microseconds("freeze_deadline_seconds"),
            **({} if named is None else {"transfer_id": named}),
        )
        return answer(desk, caller, reply, status=201)

    @router.post(
        f"{PATH}/{{step}}",
        tags=TAGS,
        responses=answers("Transfer", problems=COMMAND),
        openapi_extra=body("TransferStep") | parameters(PARAMETER),
    )
    async def advance(request: Request, transfer_id: CommandId, step: Step) -> Response:
        """Take a transfer one step on, or abort it before authority has moved."""
        exchange, caller, document = await desk.read(request)
        reply = await desk.signals.step_transfer(
            transfer_id,
            step,
            caller,
            actor=actor_of(document, caller),
            probes=_probes(document),
            evidence=document.mapping("evidence"),
            key=key_of(exchange, caller, document.members),
        )
        return answer(desk, caller, reply)

    @router.get("/v1/transfers", tags=TAGS, responses=answers("Transfers", problems=(400, *CALLED)))
    async def listed(request: Request) -> Response:
        """The transfers there are, those that are over too."""
        await desk.service.insider(exchange_of(request))
        return json({"transfers": shown(desk.signals.all("transfer"))})

    @router.get(PATH, tags=TAGS, responses=answers("Transfer", problems=(400, 404, *CALLED)))
    async def show(request: Request, transfer_id: CommandId) -> Response:
        """A transfer with its steps, each with actor, instant, revision and evidence."""
        caller = await desk.service.insider(exchange_of(request))
        record = desk.record_seen_by(caller, desk.signals.transfer(transfer_id), "from_owner", "transfer")
        return json(shown(dict(record)))


def _resource(desk: Desk, document: Body) -> str:
    """Return the selector of what moves: a key as text, or an AuthZEN resource."""
    given: Any = document.members.get("resource")
    if not isinstance(given, dict):
        return document.needed("resource", document.text("resource"))
    entity = document.entity("resource")
    found = desk.coordinator.view.registry.resolve(entity.type, entity.id)
    return entity.id if found is None else found.key


def _probes(document: Body) -> list[Evaluation]:
    return [parse_question(each) for each in document.mappings("probes")]
