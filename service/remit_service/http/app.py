"""The web face put together: hot routes in plain ASGI, the others in FastAPI, under one application."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from remit_graph.errors import GraphError
from remit_service.http.api import make_router
from remit_service.http.evaluation import evaluation, evaluations
from remit_service.http.limits import InFlight, RateLimit, Readings
from remit_service.http.openapi import openapi_document
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.replies import exchange_of, json
from remit_service.http.routes import cold_route, hot_route, problem_or_failure
from remit_service.http.service import Service
from remit_service.http.watches import watch_point
from remit_service.identity.compose import make_identifier
from remit_service.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.routing import BaseRoute

    from remit_service.coordinator.coordinator import Coordinator
    from remit_service.evidence.decision_log.ports import DecisionLog
    from remit_service.http.exchange import App, Receive, Scope, Send
    from remit_service.http.ports import Point
    from remit_service.settings import Settings

METHODS: Final = ("DELETE", "GET", "PATCH", "POST", "PUT")
"""What a route of ours can take; the framework answers HEAD and OPTIONS nowhere."""


class Application:
    """An ASGI application: what is asked most is answered first."""

    def __init__(self, service: Service, api: App) -> None:
        """Answer AuthZEN's evaluations here, and everything else in `api`."""
        self.service = service
        self._hot = {
            path: hot_route(service, path, handle)
            for path, handle in (("/access/v1/evaluation", evaluation), ("/access/v1/evaluations", evaluations))
        }
        self._cold = cold_route(service, api)
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or take part in the start and stop of the server."""
        if scope["type"] == "http":
            await self._hot.get(scope["path"], self._cold)(scope, receive, send)
        else:
            await self._api(scope, receive, send)

    def stop_waiting(self) -> None:
        """Answer whoever waits: the server stops."""
        self.service.closing.set()

    async def aclose(self) -> None:
        """Give back what identification holds open."""
        await self.service.identifier.aclose()


def create_app(
    point: Point,
    settings: Settings,
    log: DecisionLog,
    *,
    metrics: Metrics | None = None,
    coordinator: Coordinator | None = None,
) -> Application:
    """Return the web face of `point`, with the routes of coordination where a coordinator stands beside it.

    Raises:
        SettingsError: other machines could reach a service that nobody can authenticate to.
        ModelError: the file of API keys cannot be used.
    """
    in_flight = InFlight(settings.max_requests_in_flight)
    service = Service(
        point=point,
        settings=settings,
        identifier=make_identifier(settings, lambda: point.view, point.now, monotonic),
        log=log,
        metrics=metrics or Metrics(),
        rate=RateLimit(settings.requests_per_second, monotonic),
        in_flight=in_flight,
        readings=Readings(settings.max_readings_in_flight, in_flight),
        coordinator=coordinator,
    )
    log.scribe.follow(lambda: point.policy.data["remit"]["config"]["masked"])
    watch_point(service)
    return Application(service, _make_api(service))


def _make_api(service: Service) -> FastAPI:
    # Redirects to a path with or without a slash would be built from the Host header.
    api = FastAPI(title="Remit", openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    api.include_router(make_router(service))

    @api.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return json(openapi_document(api, service.settings.public_url))

    async def answer(request: Request, error: Exception) -> Response:
        exchange = exchange_of(request)
        problem = _http_problem(error, lambda: methods_at(api, request)) or problem_or_failure(exchange, error)
        status, kind, body = service.tell(exchange, problem)
        headers = {name.decode(): value.decode() for name, value in problem.headers}
        return Response(body, status, headers | {"Content-Type": kind.decode()})

    for kind in (ProblemError, GraphError, HTTPException, RequestValidationError, Exception):
        api.add_exception_handler(kind, answer)
    return api


def methods_at(api: FastAPI, request: Request) -> str:
    """Return the methods that a path takes, over all of its routes (RFC 9110, 15.5.6: all, not those of the first).

    Each is asked for: an included router matches for its routes, and does not list them.
    """
    asked = {method: dict(request.scope) | {"method": method} for method in METHODS}
    taken = [method for method, scope in asked.items() if any(_takes(each, scope) for each in api.routes)]
    return ", ".join(taken)


def _takes(route: BaseRoute, scope: Scope) -> bool:
    return route.matches(scope)[0] is Match.FULL


def _http_problem(error: Exception, allowed: Callable[[], str]) -> Problem | None:
    if isinstance(error, RequestValidationError):
        found: list[dict[str, Any]] = [
            {"detail": each["msg"], "parameter": str(each["loc"][-1])} for each in error.errors()
        ]
        detail = "; ".join(f"`{each['parameter']}`: {each['detail']}" for each in found)
        return Problem(code="malformed_request", detail=detail, status=400, members={"errors": found})
    if not isinstance(error, HTTPException):
        return None
    told = {name.lower(): value for name, value in (error.headers or {}).items()}
    if "allow" in told:
        told["allow"] = allowed()
    headers = tuple((name.encode(), value.encode()) for name, value in told.items())
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "malformed_request")
    return Problem(code=code, status=error.status_code, detail=str(error.detail), headers=headers)
