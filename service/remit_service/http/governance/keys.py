"""`/v1/keys`: API keys made, listed and ended; the key itself is in one answer only and is stored nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request, Response

from remit_graph.errors import ModelError
from remit_graph.model.builtin import Governance
from remit_graph.model.instant import DAY
from remit_service.decision.request import RequestError
from remit_service.governance.keys import EndedKey, NewKey, listed
from remit_service.governance.spec import COMMON, flag, refuse_unknown, text
from remit_service.governance.verbs import Asked
from remit_service.http.documented import answers, body
from remit_service.http.governance.described import COMMAND, COMMANDS, READ, keyed
from remit_service.http.governance.tell import answer
from remit_service.http.problems import ProblemError
from remit_service.http.replies import exchange_of, json
from remit_service.identity.api_key import new_key

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant
    from remit_service.governance.governor import Order, Outcome
    from remit_service.http.governance.desk import Desk

CREATED: Final = 201
MAX_DAYS: Final = 3_650
KeyId = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="Id of the key.")]
DryRun = Annotated[bool | None, Query(description="Decide and tell, and change nothing.")]
Impact = Annotated[
    bool | None,
    Query(
        description="With a dry run, and only with one: decide recent decisions again and list the verdicts that would "
        "change."
    ),
]
Text = Annotated[str | None, Query(min_length=1, max_length=1024)]


def add_routes(router: APIRouter, desk: Desk) -> None:
    """Add the routes of API keys."""

    @router.post(
        "/v1/keys", tags=COMMANDS, status_code=CREATED,
        responses=answers("ApiKey") | answers("ApiKey", CREATED, problems=COMMAND),
        openapi_extra=keyed(body("KeyRequest")),
    )  # fmt: skip
    async def create(request: Request) -> Response:
        """Make an API key for the identity `key:<name>`; `key` is shown this once, and a repeat does not show it."""
        exchange, caller, document = await desk.read(request)
        refuse_unknown(document, COMMON | {"name", "days"})
        key, record = _made(document, desk.point.now())
        order = desk.order(exchange, caller, document)
        outcome = await _carried(desk, NewKey(record), document, order)
        told = answer(outcome, desk.point.revision_token(outcome.revision), status=CREATED)
        if outcome.dry_run or outcome.replayed:
            return told
        return json({**outcome.body, "key": key, "revision": desk.point.revision_token(outcome.revision)}, CREATED)

    @router.get("/v1/keys", tags=COMMANDS, responses=answers("ApiKeys", problems=READ))
    async def keys(request: Request) -> Response:
        """The API keys of the ledger, without what proves them."""
        await desk.reader(request)
        return json({"keys": listed(desk.point.view), "revision": desk.point.revision_token()})

    @router.delete("/v1/keys/{key_id}", tags=COMMANDS, responses=answers("ApiKey", problems=COMMAND),
                   openapi_extra=keyed({}))  # fmt: skip
    async def end(
        request: Request, key_id: KeyId, actor: Text = None, reason: Text = None, approval_id: Text = None,
        dry_run: DryRun = None, impact: Impact = None,
    ) -> Response:  # fmt: skip
        """End an API key at once."""
        exchange = exchange_of(request)
        caller = await desk.service.caller(exchange, principals=True)
        document = {
            "actor": actor, "reason": reason, "approval_id": approval_id, "dry_run": dry_run, "impact": impact,
        }  # fmt: skip
        order = desk.order(exchange, caller, document, identifier=key_id)
        outcome = await _carried(desk, EndedKey(key_id), document, order)
        return answer(outcome, desk.point.revision_token(outcome.revision))


async def _carried(desk: Desk, decide: NewKey | EndedKey, document: dict[str, Any], order: Order) -> Outcome:
    outcome = await desk.governor.carry(Asked(action=Governance.MANAGE_KEYS, decide=decide), document, order)
    if outcome.refused is not None:
        raise ProblemError(desk.problem(order.caller, outcome))
    return outcome


def _made(document: dict[str, Any], at: Instant) -> tuple[str, dict[str, Any]]:
    days = document.get("days")
    if days is not None and (type(days) is not int or not 1 <= days <= MAX_DAYS):
        raise RequestError(f"`days` is a whole number from 1 to {MAX_DAYS}", pointer="/days")
    flag(document, "dry_run")
    try:
        return new_key(text(document, "name"), at=at, expires_at=None if days is None else at + days * DAY)
    except ModelError as error:
        raise RequestError(error.message, pointer="/name") from error
