"""`/v1/graph/adopt` and `quarantine`: what becomes of edits that were made past the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request, Response  # noqa: TC002 - FastAPI reads annotations when it runs

from remit_service.governance.adopting import Terms, adopt, kept, quarantine
from remit_service.governance.chosen import MEMBERS, choice_of
from remit_service.governance.governor import Outcome
from remit_service.governance.spec import COMMON, optional, refuse_unknown, trial
from remit_service.http.documented import answers, body
from remit_service.http.governance.described import COMMAND, GRAPH, READ
from remit_service.http.problems import ProblemError
from remit_service.http.replies import json
from remit_service.writer.command import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.http.governance.desk import Desk

ADOPTING: Final = COMMON | MEMBERS
SETTING_ASIDE: Final = ADOPTING - {"impact"}
"""What is set aside gave no authority, so no verdict changes."""


def add_routes(router: APIRouter, desk: Desk) -> None:
    """Add the routes of drift."""

    @router.post(
        "/v1/graph/adopt", tags=GRAPH, responses=answers("Adopted", problems=COMMAND),
        openapi_extra=body("AdoptRequest"),
    )  # fmt: skip
    async def adopted(request: Request) -> Response:
        """Make edits past the ledger proper changes, each by its own command and laws; what is refused is listed.

        What was adopted is no edit any more, so a repeat does nothing twice and needs no key.
        """
        await desk.reader(request)
        exchange, caller, document = await desk.read(request)
        refuse_unknown(document, ADOPTING)
        order = desk.order(exchange, caller, document, keyed=None)
        told = await adopt(
            desk.governor,
            desk.point.drift,
            order,
            _terms(document),
            speaks_for=lambda named: document.get("actor") is None and desk.speaks_for(caller, named),
        )
        return json({**told, "revision": desk.point.revision_token()})

    @router.post(
        "/v1/graph/quarantine", tags=GRAPH, responses=answers("SetAside", problems=COMMAND),
        openapi_extra=body("QuarantineRequest"),
    )  # fmt: skip
    async def set_aside(request: Request) -> Response:
        """Take edits past the ledger out of the graph, so that Cypher reads what holds; what was written is kept."""
        exchange, caller, document = await desk.read(request)
        refuse_unknown(document, SETTING_ASIDE)
        order = desk.order(exchange, caller, document, keyed=None)
        told = await quarantine(desk.governor, desk.point.drift, order, _terms(document))
        if isinstance(told, Refused):
            outcome = Outcome(body=told.facts, revision=desk.point.view.revision, refused=told)
            raise ProblemError(desk.problem(caller, outcome))
        return json({**told, "revision": desk.point.revision_token()})

    @router.get("/v1/graph/quarantine", tags=GRAPH, responses=answers("Quarantined", problems=READ))
    async def quarantined(request: Request) -> Response:
        """What was taken out of the graph so far, oldest first, as it was written."""
        await desk.reader(request)
        return json({"kept": await kept(desk.point.drift.graph), "revision": desk.point.revision_token()})


def _terms(document: Mapping[str, Any]) -> Terms:
    """Read which edits are meant, and how.

    Raises:
        RequestError: a member is malformed.
    """
    dry_run, impact = trial(document)
    return Terms(
        choice=choice_of(document),
        reason=optional(document, "reason"),
        approval_id=optional(document, "approval_id"),
        dry_run=dry_run,
        impact=impact,
    )
