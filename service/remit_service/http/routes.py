"""How a handler becomes an ASGI application that answers whatever happens, and is counted and logged."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from remit_service.http.exchange import Exchange
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.service import FAILED, log, problem_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from remit_service.http.exchange import App, Message, Receive, Scope, Send
    from remit_service.http.service import Service

    Handler = Callable[["Service", Exchange], Awaitable[None]]

_OK: Final = 200
_KEPT: Final = frozenset({b"cache-control", b"x-content-type-options"})


def hot_route(service: Service, template: str, handle: Handler) -> App:
    """Return `handle`, a POST, without anything between it and the server."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        started = perf_counter()
        exchange = Exchange(scope, receive, send)
        try:
            with service.in_flight:
                _require_post(scope["method"])
                await handle(service, exchange)
        except Exception as error:  # noqa: BLE001 - whatever happens is answered
            await _answer(service, exchange, error)
        _finish(service, exchange, template, started)

    return app


def cold_route(service: Service, api: App) -> App:
    """Return the FastAPI application with what every answer carries: the request id, and headers for safety."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        started = perf_counter()
        exchange = Exchange(scope, receive, send)
        scope["remit"] = exchange

        is_complete = False

        async def send_with_head(message: Message) -> None:
            nonlocal is_complete
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                message["headers"] = _with_head(exchange, message["headers"])
            elif not message.get("more_body"):
                is_complete = True
            await send(message)

        try:
            with service.in_flight:
                await api(scope, receive, send_with_head)
        except Exception as error:  # noqa: BLE001 - whatever happens is answered
            # Starlette answers a failure and raises it all the same.
            if not is_complete:
                await _answer(service, exchange, error)
        _finish(service, exchange, getattr(scope.get("route"), "path", "other"), started)

    return app


def _require_post(method: str) -> None:
    if method != "POST":
        raise ProblemError(Problem(code="method_not_allowed", detail="use POST", headers=((b"allow", b"POST"),)))


def _with_head(exchange: Exchange, headers: Any) -> list[tuple[bytes, bytes]]:
    found = list(headers)
    missing = _KEPT - {name for name, _ in found}
    if b"cache-control" in missing:
        found.append((b"cache-control", b"no-store"))
    if b"x-content-type-options" in missing:
        found.append((b"x-content-type-options", b"nosniff"))
    return [each for each in found if each[0] != b"x-request-id"] + [(b"x-request-id", exchange.request_id)]


async def _answer(service: Service, exchange: Exchange, error: Exception) -> None:
    if exchange.status:
        # The answer has begun: all that is left is to say so, and to let the server cut the connection.
        log.error("failed while answering", path=exchange.path, request_id=exchange.request_id_text, exc_info=error)
        raise error
    problem = problem_or_failure(exchange, error)
    await exchange.send(*service.tell(exchange, problem), problem.headers)


def problem_or_failure(exchange: Exchange, error: Exception) -> Problem:
    """Return the problem an exception stands for; a failure of this program is logged with its trace."""
    problem = problem_of(error)
    if problem is None:
        log.error("failed", path=exchange.path, request_id=exchange.request_id_text, exc_info=error)
    return problem or FAILED


def _finish(service: Service, exchange: Exchange, template: str, started: float) -> None:
    seconds = perf_counter() - started
    method = exchange.scope["method"]
    service.metrics.answered(template, method, exchange.status, seconds)
    is_routine = method == "POST" and exchange.status == _OK
    if is_routine and service.settings.log_level != "debug":
        # Thousands a second, and each of them is in the decision log.
        return
    log.info(
        "answered",
        method=method,
        path=exchange.path,
        status=exchange.status,
        ms=round(seconds * 1e3, 3),
        request_id=exchange.request_id_text,
        peer=exchange.peer,
    )
