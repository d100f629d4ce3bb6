"""What every route shares: the decision point, who may call, the bounds, the counts, and how a problem is told."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import structlog

from remit_graph.errors import GraphError, HistoryRemoved
from remit_service.decision.request import RequestError
from remit_service.http.problems import HTTP_ROWS, Problem, ProblemError, encode, malformed, media_type
from remit_service.http.strict_json import decode_object
from remit_service.identity.errors import IdentityError
from remit_service.identity.ports import Presented

if TYPE_CHECKING:
    from remit_service.coordinator.coordinator import Coordinator
    from remit_service.decision.caller import Caller
    from remit_service.evidence.decision_log.ports import DecisionLog
    from remit_service.http.exchange import Exchange
    from remit_service.http.limits import InFlight, RateLimit, Readings
    from remit_service.http.ports import Point
    from remit_service.identity.identifier import Identifier
    from remit_service.metrics import Metrics
    from remit_service.settings import Settings

log = structlog.get_logger("remit.http")
CHALLENGE: Final = (b"www-authenticate", b'Bearer realm="remit"')
_UNAUTHORIZED: Final = 401


@dataclass(slots=True, kw_only=True)
class Service:
    """The parts of one web face; made by `app.create_app`.

    Attributes:
        closing: Set once the server is told to stop; whoever waits is answered then.
    """

    point: Point
    settings: Settings
    identifier: Identifier
    log: DecisionLog
    metrics: Metrics
    rate: RateLimit
    in_flight: InFlight
    readings: Readings
    coordinator: Coordinator | None = None
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    async def caller(self, exchange: Exchange, *, principals: bool = False) -> Caller:
        """Return who is calling, within its rate; with `principals` also who is no enforcement point.

        Raises:
            ProblemError: 401, 403 or 429.
            RequestError: a header that says who is calling is there twice.
        """
        exchange.require_single_headers()
        try:
            presented = Presented(exchange.headers, exchange.peer)
            caller = await self.identifier.identify(presented, principals=principals)
        except IdentityError as error:
            headers = (CHALLENGE,) if error.status == _UNAUTHORIZED else ()
            raise ProblemError(
                Problem(code="unauthenticated", status=error.status, detail=error.message, headers=headers)
            ) from error
        self.rate.take(caller.name)
        return caller

    async def insider(self, exchange: Exchange) -> Caller:
        """Return a caller that may see the graph.

        Raises:
            ProblemError: it may not, or is not known at all.
        """
        caller = await self.caller(exchange)
        if not caller.sees_graph:
            detail = f"enforcement point `{caller.name}` has visibility `codes`, and this needs `full`"
            raise ProblemError(Problem(code="forbidden", detail=detail))
        return caller

    async def document(self, exchange: Exchange) -> dict[str, Any]:
        """Return the JSON object of the body.

        Raises:
            RequestError: it is none.
            ProblemError: it is too large.
        """
        exchange.require_json()
        body = await exchange.body(self.settings.max_body_bytes)
        return decode_object(body, max_depth=self.settings.max_json_depth)

    def tell(self, exchange: Exchange, problem: Problem) -> tuple[int, bytes, bytes]:
        """Leave a record of a call that was no question (F048); return status, media type and body of the answer."""
        status, body = encode(
            problem,
            self.point.policy.reasons,
            base_url=self.settings.public_url,
            request_id=exchange.request_id_text,
        )
        self.metrics.failed(problem.code)
        self.log.note(
            {
                "kind": "refused_request",
                "request_id": exchange.request_id_text,
                "path": exchange.path,
                "requested_by": exchange.peer,
                "error": {"code": problem.code, "status": status, "message": problem.detail, **problem.members},
            }
        )
        return status, media_type(exchange.headers.get(b"accept")), body


def problem_of(error: Exception) -> Problem | None:
    """Return the problem an exception stands for, or None where it is a failure of this program."""
    if isinstance(error, ProblemError):
        return error.problem
    if isinstance(error, RequestError):
        return malformed(error)
    if isinstance(error, HistoryRemoved):
        detail = f"{error.message}; {error.advice}"
        return Problem(code=error.code, detail=detail, members={"history_after": error.facts["base"]})
    if isinstance(error, GraphError) and error.code not in HTTP_ROWS:
        return Problem(code=error.code, detail=error.message)
    return None


FAILED: Final = Problem(code="internal", detail="the request failed; the operating log says why")
