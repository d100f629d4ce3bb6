"""`POST /access/v1/search/{subject,resource,action}`: AuthZEN 1.0, exactly; and `POST /v1/search`, Remit's own.

Both list what single decisions would permit, on one revision from the first page to the last. Remit's own says what
the decision on each came to, lists by default what can be begun as well, and looks at earlier moments. Neither is for
enforcement: who acts on a result asks again.

Each search leaves one record: who asked what, at which revision, how many were found, their digest, and whether that
was all (F049).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request, Response

from remit_graph.model.instant import format_instant
from remit_service.decision.request import RequestError
from remit_service.decision.verdict import new_id
from remit_service.http.documented import answers, body
from remit_service.http.moment import moment_of
from remit_service.http.replies import ASKED, exchange_of, json
from remit_service.search.page import page_document
from remit_service.search.query import KINDS, Moment, parse_outcomes, parse_query
from remit_service.search.searcher import Searcher

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from remit_service.decision.caller import Caller
    from remit_service.http.exchange import Exchange
    from remit_service.http.service import Service
    from remit_service.search.page import Page
    from remit_service.search.query import Query

    Endpoint = Callable[[Request], Awaitable[Response]]

BARE: Final = "decision"
"""Response shape of callers that take entities and nothing beside them."""

DEFAULT_OUTCOMES: Final = frozenset({"execute", "acquire"})
_SCHEMAS: Final = {"subject": "SubjectSearch", "resource": "ResourceSearch", "action": "ActionSearch"}


def make_router(service: Service) -> APIRouter:
    """Return the routes of search."""
    router = APIRouter()
    searcher = Searcher(service.point, deadline_seconds=service.settings.search_deadline_seconds)
    for kind in KINDS:
        router.add_api_route(
            f"/access/v1/search/{kind}",
            _authzen(service, searcher, kind),
            methods=["POST"],
            tags=["authzen"],
            name=f"search_{kind}",
            responses=answers("SearchAnswer", problems=(*ASKED, 409, 410)),
            openapi_extra=body(_SCHEMAS[kind]),
        )

    @router.post(
        "/v1/search",
        tags=["evidence"],
        responses=answers("OutcomeSearchAnswer", problems=(*ASKED, 409, 410)),
        openapi_extra=body("OutcomeSearch"),
    )
    async def search(request: Request) -> Response:
        """Subjects, resources or actions with what a decision on each comes to, now or as it was."""
        return json(await _own(service, searcher, exchange_of(request)))

    return router


def _authzen(service: Service, searcher: Searcher, kind: str) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        exchange = exchange_of(request)
        caller = await service.caller(exchange)
        query = parse_query(kind, await service.document(exchange))
        page = await _searched(service, searcher, exchange, caller, query)
        token = service.point.revision_token(page.revision)
        return json(page_document(page, query, revision_token=token, with_context=caller.response != BARE))

    endpoint.__doc__ = f"{kind.capitalize()} Search (AuthZEN 1.0)."
    return endpoint


async def _own(service: Service, searcher: Searcher, exchange: Exchange) -> dict[str, Any]:
    caller = await service.caller(exchange)
    document = await service.document(exchange)
    kind = document.get("kind")
    if kind not in KINDS:
        raise RequestError(f"`kind` is one of {', '.join(KINDS)}, at `/kind`", pointer="/kind")
    outcomes = document.get("outcomes")
    query = parse_query(
        kind,
        document,
        outcomes=DEFAULT_OUTCOMES if outcomes is None else parse_outcomes(outcomes),
        moment=_moment(service, document),
    )
    page = await _searched(service, searcher, exchange, caller, query)
    token = service.point.revision_token(page.revision)
    answer = page_document(page, query, revision_token=token, with_context=True)
    found = zip(page.results, page.outcomes, strict=True)
    results = [{**entity, "outcome": outcome} for entity, outcome in found]
    return {"enforceable": False, "at": format_instant(page.at), **answer, "results": results}


def _moment(service: Service, document: Mapping[str, Any]) -> Moment | None:
    context = document.get("context")
    consistency = context.get("consistency") if isinstance(context, dict) else None
    revision, as_of = moment_of(service, document, consistency)
    return None if revision is None and as_of is None else Moment(revision=revision, as_of=as_of)


async def _searched(service: Service, searcher: Searcher, exchange: Exchange, caller: Caller, query: Query) -> Page:
    with service.readings:
        page = await searcher.search(query, caller)
    service.metrics.searched(query.kind, results=len(page.results), complete=page.complete)
    service.log.note(
        {
            "kind": "search",
            "search_id": new_id("sea"),
            "request_id": exchange.request_id_text,
            "path": exchange.path,
            "requested_by": exchange.peer,
            "caller": {
                "point": caller.name,
                "identity": caller.identity,
                "subject_identity": caller.subject_identity,
            },
            "searched": query.kind,
            "question": _question(service, query),
            "outcomes": sorted(query.outcomes),
            "revision": page.revision,
            "policy_revision": service.point.policy_revision,
            "at": format_instant(page.at),
            "results": {"count": len(page.results), "digest": page.digest},
            "complete": page.complete,
            "cause": page.cause,
            "decided": page.looked_at,
        }
    )
    return page


def _question(service: Service, query: Query) -> dict[str, Any]:
    """Return what was asked, without what stood in for the candidates."""
    question = service.log.scribe.question(query.question)
    if query.kind == "action":
        del question["action"]
    else:
        question[query.kind] = {name: each for name, each in question[query.kind].items() if name != "id"}
    return question
