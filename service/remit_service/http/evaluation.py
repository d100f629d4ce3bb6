"""`POST /access/v1/evaluation` and `/evaluations`: AuthZEN 1.0, plain ASGI, as little work as can be.

A refused decision is 200. What makes a whole call a problem: a body that is no well-formed question, an enforcement
point that proves nothing, a bound.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec

from remit_service.decision.request import RequestError
from remit_service.decision.verdict import new_id
from remit_service.http.answer import render, render_fault
from remit_service.http.batch import Semantic, items_of, semantic_of, with_defaults
from remit_service.http.problems import JSON_TYPE
from remit_service.http.question import parse_question

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remit_service.decision.caller import Caller
    from remit_service.decision.request import Evaluation
    from remit_service.http.exchange import Exchange
    from remit_service.http.service import Service

SINGLE: Final = "single"
AT_ONCE: Final = 16
"""Items of a batch in work at once where the engine has to be waited for, and between two looks at other requests."""

_encode: Final = msgspec.json.Encoder().encode


async def evaluation(service: Service, exchange: Exchange) -> None:
    """Answer one question."""
    caller = await service.caller(exchange)
    body = await service.document(exchange)
    answer = await _single(service, exchange, caller, body)
    await exchange.send(200, JSON_TYPE, _encode(answer))


async def evaluations(service: Service, exchange: Exchange) -> None:
    """Answer a batch; without items it is one question, and the answer one decision."""
    caller = await service.caller(exchange)
    body = await service.document(exchange)
    items = items_of(body, limit=service.settings.max_batch_items)
    answer: Mapping[str, Any]
    if items is None:
        answer = await _single(service, exchange, caller, body)
    else:
        answer = {"evaluations": await _batch(service, exchange, caller, body, items)}
    await exchange.send(200, JSON_TYPE, _encode(answer))


async def _single(service: Service, exchange: Exchange, caller: Caller, body: Mapping[str, Any]) -> dict[str, Any]:
    question = parse_question(body)
    labels = {"request_id": exchange.request_id_text}
    return await _ask(service, caller, question, labels, SINGLE)


async def _ask(
    service: Service, caller: Caller, question: Evaluation, labels: Mapping[str, Any], semantic: str
) -> dict[str, Any]:
    decision = await service.point.evaluate(question, caller, labels=labels)
    service.metrics.decided(decision, semantic)
    return render(decision, caller, service.point)


async def _batch(
    service: Service, exchange: Exchange, caller: Caller, body: Mapping[str, Any], items: list[Any]
) -> list[dict[str, Any]]:
    semantic = semantic_of(body)
    service.rate.take(caller.name, len(items) - 1)
    service.metrics.batch_size.observe(len(items))
    labels = {"request_id": exchange.request_id_text, "batch_id": new_id("bat")}

    async def answer(index: int) -> dict[str, Any]:
        try:
            question = parse_question(with_defaults(items[index], body))
            return await _ask(service, caller, question, {**labels, "batch_index": index}, semantic.value)
        except RequestError as error:
            return _faulty(service, caller, error, {**labels, "batch_index": index})

    answers: list[dict[str, Any]] = []
    if semantic is Semantic.EXECUTE_ALL and not service.settings.is_embedded:
        # Only a question to another process is worth a task of its own.
        for start in range(0, len(items), AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, len(items)))
            answers += await asyncio.gather(*(answer(index) for index in numbers))
        return answers
    for index in range(len(items)):
        answers.append(await answer(index))
        if semantic.ends_with(permitted=answers[-1]["decision"]):
            break
        if index % AT_ONCE == AT_ONCE - 1:
            await asyncio.sleep(0)
    return answers


def _faulty(service: Service, caller: Caller, error: RequestError, labels: Mapping[str, Any]) -> dict[str, Any]:
    pointer = str(error.facts.get("pointer", ""))
    reason = {"code": error.code, "message": error.message, "pointer": pointer}
    service.log.note({"kind": "refused_request", **labels, "path": "/access/v1/evaluations", "error": reason})
    service.metrics.failed(error.code)
    return render_fault(error.message, pointer, caller)
