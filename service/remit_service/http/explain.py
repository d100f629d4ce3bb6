"""`POST /v1/explain`: a verdict with its proof, now or as it was. For reading, never for enforcement (F018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit_graph.errors import ModelError
from remit_graph.model.instant import Instant, format_instant, parse_instant
from remit_service.decision.request import RequestError, parse_evaluation
from remit_service.http.answer import render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.http.exchange import Exchange
    from remit_service.http.service import Service


async def explain(service: Service, exchange: Exchange) -> dict[str, Any]:
    """Return the answer: `enforceable` is always false, so that nobody takes it for a permit."""
    caller = await service.caller(exchange)
    body = await service.document(exchange)
    question = parse_evaluation(body)
    decision = await service.point.explain(
        question,
        caller,
        at_revision=_revision(body),
        as_of=_instant(body),
        labels={"request_id": exchange.request_id_text},
    )
    service.metrics.decided(decision, "explain")
    return {"enforceable": False, "at": format_instant(decision.at), **render(decision, caller, service.point)}


def _revision(body: Mapping[str, Any]) -> int | None:
    value = body.get("at_revision")
    if value is not None and body.get("as_of") is not None:
        raise RequestError("give `at_revision` or `as_of`, not both", pointer="/at_revision")
    if value is not None and type(value) is not int:
        raise RequestError("`at_revision` is a whole number", pointer="/at_revision")
    return value


def _instant(body: Mapping[str, Any]) -> Instant | None:
    value = body.get("as_of")
    if value is None:
        return None
    try:
        return parse_instant(value)
    except ModelError as error:
        raise RequestError(error.message, pointer="/as_of") from error
