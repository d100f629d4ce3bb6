"""The routes that are not asked thousands of times a second, in FastAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Path, Query, Request, Response

from remit_service.bundle.serve import LONG_POLL_MEDIA_TYPE
from remit_service.drawing.formats import Format
from remit_service.http import bundles, console, discovery, overview, problem_pages, search
from remit_service.http.coordination.api import coordination_router
from remit_service.http.decisions import find_record, recent_records
from remit_service.http.documented import answers, body
from remit_service.http.drawn import FormatQuery, or_drawn
from remit_service.http.explain import explain, explain_recorded
from remit_service.http.governance.api import governance_router
from remit_service.http.passes.api import passes_router
from remit_service.http.polls import Polls
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.replies import CALLED, exchange_of, json
from remit_service.metrics import CONTENT_TYPE

if TYPE_CHECKING:
    from remit_service.http.service import Service

CodePath = Annotated[str, Path(pattern="^[a-z0-9_]{1,64}$", description="A reason code or problem code.")]
DecisionPath = Annotated[str, Path(pattern="^dec_[0-9a-z]{1,64}$", description="Id of a decision.")]
BUNDLE: Final = answers(None, problems=CALLED) | {
    200: {"description": "The bundle", "content": {"application/gzip": {}, LONG_POLL_MEDIA_TYPE: {}}},
    304: {"description": "The caller has it"},
}
Limit = Annotated[int, Query(ge=1, le=1_000, description="How many records at most.")]


def make_router(service: Service) -> APIRouter:
    """Return the routes of one decision point."""
    router = APIRouter()
    _add_operations(router, service)
    _add_evidence(router, service)
    router.include_router(search.make_router(service))
    if service.coordinator is not None:
        router.include_router(coordination_router(service, service.coordinator))
        router.include_router(governance_router(service, service.coordinator.point))
        router.include_router(passes_router(service, service.coordinator.point))
    _add_public(router, service)
    console.add_routes(router, warns=service.identifier.loopback.is_open)
    return router


def _add_operations(router: APIRouter, service: Service) -> None:
    polls = Polls(service.settings.max_long_polls, service.closing)

    @router.get("/health/live", tags=["operations"], responses=answers("Live"))
    async def live() -> Response:
        """Whether the process answers at all."""
        return json({"status": "live"})

    @router.get("/health/ready", tags=["operations"], responses=answers("Readiness") | answers("Readiness", 503))
    async def ready() -> Response:
        """Whether this process should be asked, and if not, why."""
        found = service.point.readiness()
        warnings = [*service.log.problems(), *found.warnings]
        document = {"ready": found.ready, "problems": found.problems, "warnings": warnings, **found.details}
        return json(document, 200 if found.ready else 503)

    @router.get("/metrics", tags=["operations"], responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Metrics in Prometheus' text form."""
        return Response(service.metrics.text(), headers={"Content-Type": CONTENT_TYPE.decode()})

    @router.get("/v1/limits", tags=["operations"], responses=answers("Limits", problems=CALLED))
    async def limits(request: Request) -> Response:
        """Every bound of this service."""
        await service.caller(exchange_of(request))
        return json(overview.limits(service))

    @router.get(bundles.PATH, tags=["policy"], responses=BUNDLE)
    async def bundle(request: Request) -> Response:
        """The policy bundle for OPA: entity tag, `If-None-Match`, and `Prefer: wait=N` for a long poll."""
        status, kind, body, headers = await bundles.serve_bundle(service, exchange_of(request), polls)
        return Response(body, status, headers | {"Content-Type": kind})


def _add_evidence(router: APIRouter, service: Service) -> None:
    @router.post(
        "/v1/explain",
        tags=["evidence"],
        responses=or_drawn(answers("Explanation", problems=(400, 409, 410, 413, *CALLED))),
        openapi_extra=body("ExplainRequest"),
    )
    async def explain_route(request: Request, format: FormatQuery = Format.JSON) -> Response:  # noqa: A002 - its name on the wire
        """A verdict with its proof, now or as it was; for reading, never for enforcement."""
        return await explain(service, exchange_of(request), format)

    @router.get("/v1/decisions", tags=["evidence"], responses=answers("DecisionRecords", problems=(400, *CALLED)))
    async def decisions(request: Request, limit: Limit = 50) -> Response:
        """The newest decisions of this process."""
        await service.insider(exchange_of(request))
        return json({"decisions": recent_records(service.log, limit)})

    @router.get(
        "/v1/decisions/{decision_id}",
        tags=["evidence"],
        responses=answers("DecisionRecord", problems=(400, 404, *CALLED)),
    )
    async def decision(request: Request, decision_id: DecisionPath) -> Response:
        """The record of one decision."""
        await service.insider(exchange_of(request))
        return json(await find_record(service.log, decision_id))

    @router.get(
        "/v1/decisions/{decision_id}/explanation",
        tags=["evidence"],
        responses=or_drawn(answers("RecordedExplanation", problems=(400, 404, 410, *CALLED))),
    )
    async def explanation(
        request: Request,
        decision_id: DecisionPath,
        format: FormatQuery = Format.JSON,  # noqa: A002 - its name on the wire
    ) -> Response:
        """A recorded decision explained as it was asked, with what became of its coordination right since."""
        return await explain_recorded(service, exchange_of(request), decision_id, format)


def _add_public(router: APIRouter, service: Service) -> None:
    @router.get(discovery.PATH, tags=["authzen"], responses=answers("Metadata"))
    async def metadata() -> Response:
        """Where the routes of AuthZEN are."""
        document = discovery.metadata(service.settings.public_url)
        return json(document, headers={"Cache-Control": "max-age=300"})

    @router.get(
        "/problems/{code}",
        tags=["operations"],
        responses=answers("ProblemPage", problems=(400, 404)),
    )
    async def problem(request: Request, code: CodePath) -> Response:
        """What a problem type or reason code means, and who can settle it."""
        row = problem_pages.find(code, service.point.policy.reasons)
        if row is None:
            raise ProblemError(Problem(code="not_found", detail=f"there is no code `{code}`"))
        if "text/html" in request.headers.get("accept", ""):
            return console.html(problem_pages.page(row))
        return json(problem_pages.describe(row))
