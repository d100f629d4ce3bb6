"""What verbs make of the answers of the HTTP API, and the service or store of a call of the command line."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from remit_service.cli.context import Call
from remit_service.cli.exits import FAULT, REFUSED, USAGE, Failure
from remit_service.library.reach import in_process, service


@asynccontextmanager
async def client_for(call: Call) -> AsyncIterator[httpx.AsyncClient]:
    """Open the service that `--url` names, or the store of this call."""
    settings = call.settings()
    opened = in_process(settings) if settings.url is None else service(settings)
    async with opened as client:
        yield client


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
