"""The HTTP API as every verb speaks it: of a running service, or of the store in this process.

On the store itself the routes are called without a network, by a caller that may speak for anyone: whoever may write
the file. So a verb has one route, and one way to say what came of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

import httpx

from remit_service.cli.context import Call
from remit_service.cli.exits import FAULT, REFUSED, USAGE, Failure
from remit_service.settings import Settings

LOCAL: Final = "http://127.0.0.1"
TIMEOUT_SECONDS: Final = 30.0
ANY_SIZE: Final = 1 << 40
"""Bytes of a body in this process: a bound protects a service from its callers, and here they are the same."""


@asynccontextmanager
async def client_for(call: Call) -> AsyncIterator[httpx.AsyncClient]:
    """Open the service that `--url` names, or the store of this call."""
    settings = call.settings()
    opened = in_process(settings) if settings.url is None else service(settings)
    async with opened as client:
        yield client


@asynccontextmanager
async def service(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """Open the running service at `settings.url`, with the API key of `settings.key`."""
    headers = {"Authorization": f"Bearer {settings.key.reveal()}"} if settings.key is not None else {}
    async with httpx.AsyncClient(base_url=settings.url or "", headers=headers, timeout=TIMEOUT_SECONDS) as client:
        yield client


@asynccontextmanager
async def in_process(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """Run the service on the store, in this process and without a port."""
    # The web face and all it needs would slow down every command that asks a running service.
    from remit_service.bootstrap import coordinating, running_point
    from remit_service.evidence.decision_log.compose import make_log
    from remit_service.http.app import create_app
    from remit_service.metrics import Metrics

    settings = replace(
        settings, anonymous_loopback=True, decision_log="none", listen="127.0.0.1:0", max_body_bytes=ANY_SIZE
    )
    metrics = Metrics()
    log = make_log(settings, metrics)
    await log.start()
    try:
        async with (
            running_point(settings, log, activate=False) as point,
            coordinating(point) as coordinator,
        ):
            app = create_app(point, settings, log, metrics=metrics, coordinator=coordinator)
            transport = httpx.ASGITransport(app=app)
            try:
                async with httpx.AsyncClient(transport=transport, base_url=LOCAL, timeout=TIMEOUT_SECONDS) as client:
                    yield client
            finally:
                await app.aclose()
    finally:
        await log.aclose()


def document_of(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object of an answer; what is no object is put into one.

    Raises:
        Failure: a success without JSON: whoever answered is not Remit, and nothing is known to be done.
    """
    if not response.content:
        return {"done": True}
    try:
        document = response.json()
    except ValueError as error:
        text = f"the service answered {response.status_code} with no JSON: is --url one of Remit?"
        if response.is_success:
            raise Failure(text, code=FAULT) from error
        return {"detail": text}
    return document if isinstance(document, dict) else {"answer": document}


def answer_of(response: httpx.Response) -> dict[str, Any]:
    """Return the document of an answer.

    Raises:
        Failure: the service refuses or fails, with its own sentence.
    """
    document = document_of(response)
    if response.is_success:
        return document
    message = document.get("detail") or document.get("title") or f"the service answered {response.status_code}"
    raise Failure(str(message), code=exit_code_of(response.status_code), advice=str(document.get("advice", "")))


def exit_code_of(status: int) -> int:
    """Return what an HTTP status that is no success comes to: 1 refused, 2 usage, 3 fault."""
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return FAULT
    return USAGE if status == httpx.codes.BAD_REQUEST else REFUSED


def refused(call: Call, response: httpx.Response, *, file: str = "world") -> int:
    """Print a problem, and return the exit code; `file` is what faults of a world sent along are found in."""
    problem, code = document_of(response), exit_code_of(response.status_code)
    if call.output.as_json:
        call.output.show({"problem": problem})
    else:
        call.output.fail(code, _lines(problem, response.status_code, file))
    return code


def _lines(problem: Mapping[str, Any], status: int, file: str) -> list[str]:
    faults = [each for each in problem.get("errors", ()) if "line" in each]
    if faults:
        return [str(each["detail"]).replace("world:", f"{file}:", 1) for each in faults]
    lines = [f"{problem.get('code', status)}: {problem.get('detail', 'refused')}"]
    lines += [f"  {each['code']}: {each['message']}" for each in problem.get("reasons", ())]
    if problem.get("retry_after_seconds") is not None:
        lines.append(f"→ ask again in {problem['retry_after_seconds']} s, or wait with --wait")
    if problem.get("preemptible_by_you"):
        lines.append("→ you may take over with --preempt")
    return lines
