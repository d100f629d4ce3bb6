"""`POST /v1/explain`: a verdict with its proof, now or as it was. For reading, never for enforcement (F018)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from remit_graph.model.instant import format_instant
from remit_service.decision.explain import answered
from remit_service.drawing.chains import figure_of
from remit_service.drawing.formats import Format
from remit_service.evidence.recorded import NotAskable, given_back, recorded, told
from remit_service.http.answer import render
from remit_service.http.decisions import find_record
from remit_service.http.drawn import drawing
from remit_service.http.moment import moment_of
from remit_service.http.problems import Problem, ProblemError
from remit_service.http.question import parse_question
from remit_service.http.replies import json

if TYPE_CHECKING:
    from fastapi import Response

    from remit_service.http.exchange import Exchange
    from remit_service.http.service import Service


GIVEN_BACK: Final = 16
"""Number of the question that only what happened afterwards answers."""


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


async def explain_recorded(
    service: Service, exchange: Exchange, decision_id: str, form: Format = Format.JSON
) -> Response:
    """Answer a recorded decision's question again, on the state and at the instant of then, by the policy of now.

    Whether its coordination right was given back is answered by what is known now.

    Raises:
        ProblemError: the caller may not see it, no record of it is kept here, or the record does not hold the question.
    """
    reader = await service.insider(exchange)
    record = await find_record(service.log, decision_id)
    try:
        asked = recorded(record, service.point.view)
    except NotAskable as error:
        raise ProblemError(Problem(code="not_found", detail=error.message)) from error
    labels = {"request_id": exchange.request_id_text, "explains": decision_id}
    with service.readings:
        decision = await service.point.explain(
            asked.evaluation, asked.caller, at_revision=asked.revision, as_of=asked.at, labels=labels
        )
    service.metrics.decided(decision, "explain")
    since = given_back(record, service.point.view, service.point.now())
    if since is not None and decision.explanation is not None:
        decision = replace(decision, explanation=answered(decision.explanation, GIVEN_BACK, since))
    answer = {
        "enforceable": False,
        "at": format_instant(decision.at),
        "recorded": told(record),
        **render(decision, reader, service.point),
    }
    return json(answer) if form is Format.JSON else drawing(figure_of(asked.evaluation.record(), answer), form)
