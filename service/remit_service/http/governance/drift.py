"""`/v1/graph/adopt` and `quarantine`: what becomes of edits that were made past the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response  # noqa: TC002 - FastAPI reads annotations when it runs

from remit_service.governance.adopting import adopt, kept, quarantine
from remit_service.governance.governor import Outcome
from remit_service.governance.spec import COMMON, flag, optional, refuse_unknown
from remit_service.http.documented import answers, body
from remit_service.http.governance.described import COMMAND, GRAPH, READ, keyed
from remit_service.http.problems import ProblemError
from remit_service.http.replies import json
from remit_service.writer.command import Refused

if TYPE_CHECKING:
    from remit_service.http.governance.desk import Desk


def add_routes(router: APIRouter, desk: Desk) -> None:
    """Add the routes of drift."""

    @router.post(
        "/v1/graph/adopt", tags=GRAPH, responses=answers("Adopted", problems=COMMAND),
        openapi_extra=keyed(body("AdoptRequest")),
    )  # fmt: skip
    async def adopted(request: Request) -> Response:
        """Make edits past the ledger proper changes, each by its own command and laws; what is refused is listed."""
        await desk.reader(request)
        exchange, caller, document = await desk.read(request)
        refuse_unknown(document, COMMON)
        order = desk.order(exchange, caller, document)
        told = await adopt(
            desk.governor,
            desk.point.drift,
            order,
            speaks_for=lambda named: document.get("actor") is None and desk.speaks_for(caller, named),
            reason=optional(document, "reason"),
            dry_run=flag(document, "dry_run"),
        )
        return json({**told, "revision": desk.point.revision_token()})

    @router.post(
        "/v1/graph/quarantine", tags=GRAPH, responses=answers("SetAside", problems=COMMAND),
        openapi_extra=keyed(body("AdoptRequest")),
    )  # fmt: skip
    async def set_aside(request: Request) -> Response:
        """Take edits past the ledger out of the graph, so that Cypher reads what holds; what was written is kept."""
        exchange, caller, document = await desk.read(request)
        refuse_unknown(document, COMMON)
        order = desk.order(exchange, caller, document)
        told = await quarantine(desk.governor, desk.point.drift, order, dry_run=flag(document, "dry_run"))
        if isinstance(told, Refused):
            outcome = Outcome(body=told.facts, revision=desk.point.view.revision, refused=told)
            raise ProblemError(desk.problem(caller, outcome))
        return json({**told, "revision": desk.point.revision_token()})

    @router.get("/v1/graph/quarantine", tags=GRAPH, responses=answers("Quarantined", problems=READ))
    async def quarantined(request: Request) -> Response:
        """What was taken out of the graph so far, oldest first, as it was written."""
        await desk.reader(request)
        return json({"kept": await kept(desk.point.drift.graph), "revision": desk.point.revision_token()})
