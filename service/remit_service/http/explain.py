"""`POST /v1/explain`: a verdict with its proof, now or as it was. For reading, never for enforcement (F018)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_graph.model.instant import format_instant
from remit_service.drawing.chains import figure_of
from remit_service.drawing.formats import Format
from remit_service.http.answer import render
from remit_service.http.drawn import drawing
from remit_service.http.moment import moment_of
from remit_service.http.question import parse_question
from remit_service.http.replies import json

if TYPE_CHECKING:
    from fastapi import Response

    from remit_service.http.exchange import Exchange
    from remit_service.http.service import Service


async def explain(service: Service, exchange: Exchange, form: Format = Format.JSON) -> Response:
    """Answer as a document or drawn: `enforceable` is always false, so that nobody takes it for a permit."""
    caller = await service.caller(exchange)
    body = await service.document(exchange)
    question = parse_question(body)
    at_revision, as_of = moment_of(service, body, question.context.get("consistency"))
    labels = {"request_id": exchange.request_id_text}
    with service.readings:
        decision = await service.point.explain(question, caller, at_revision=at_revision, as_of=as_of, labels=labels)
    service.metrics.decided(decision, "explain")
    answer = {"enforceable": False, "at": format_instant(decision.at), **render(decision, caller, service.point)}
    return json(answer) if form is Format.JSON else drawing(figure_of(body, answer), form)
