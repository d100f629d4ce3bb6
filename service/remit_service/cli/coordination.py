"""What the verbs of coordination share: they speak the HTTP API, to a running service or to the store in this process.

On the store itself the routes are called without a network, by a caller that may speak for anyone: whoever may write
the file. Nothing is told twice, and each verb has one route.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Annotated, Any

import httpx
import typer
from rich.console import Console

from remit_service.cli.context import Call, call_of, run
from remit_service.cli.exits import DONE, FAULT, REFUSED, USAGE
from remit_service.cli.target import TIMEOUT_SECONDS
from remit_service.settings import Settings

LOCAL = "http://127.0.0.1"

Subject = Annotated[str, typer.Argument(help="Who acts: <kind>:<name>, such as instance:seo-agent-7.")]
Actor = Annotated[str | None, typer.Option("--actor", help="In whose name: <kind>:<name>.")]
Token = Annotated[int, typer.Option("--token", help="The lease epoch: the fencing token.")]
Key = Annotated[str | None, typer.Option("--idempotency-key", help="A repeat with this key is answered as before.")]


def perform(
    context: typer.Context,
    call: str,
    body: Mapping[str, Any] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    text: Callable[[Console, Mapping[str, Any]], None] | None = None,
) -> None:
    """Make one call, `POST /v1/operations`, print its answer and leave: 0 done, 1 refused, 2 usage, 3 fault."""
    here = call_of(context)
    method, _, path = call.partition(" ")

    async def work() -> int:
        async with _client(here) as client:
            response = await client.request(
                method, path, json=None if body is None else _given(body), headers=dict(headers or {})
            )
        document = _document(response)
        if not response.is_success:
            return _refused(here, response.status_code, document)
        here.output.show(document, lambda console: (text or print_members)(console, document))
        return DONE

    run(here, work)


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    """What was not given is not sent."""
    return {name: value for name, value in body.items() if value is not None}


def _document(response: httpx.Response) -> dict[str, Any]:
    if not response.content:
        return {"done": True}
    document = response.json()
    return document if isinstance(document, dict) else {"answer": document}


def _refused(call: Call, status: int, problem: Mapping[str, Any]) -> int:
    code = FAULT if status >= httpx.codes.INTERNAL_SERVER_ERROR else REFUSED
    code = USAGE if status == httpx.codes.BAD_REQUEST else code
    if call.output.as_json:
        call.output.show({"problem": dict(problem)})
        return code
    lines = [f"{problem.get('code', status)}: {problem.get('detail', 'refused')}"]
    lines += [f"  {each['code']}: {each['message']}" for each in problem.get("reasons", ())]
    if problem.get("retry_after_seconds") is not None:
        lines.append(f"→ ask again in {problem['retry_after_seconds']} s, or wait with --wait")
    if problem.get("preemptible_by_you"):
        lines.append("→ you may take over with --preempt")
    call.output.fail(code, lines)
    return code


@asynccontextmanager
async def _client(call: Call) -> AsyncIterator[httpx.AsyncClient]:
    settings = call.settings()
    if settings.url is not None:
        headers = {"Authorization": f"Bearer {settings.key.reveal()}"} if settings.key is not None else {}
        async with httpx.AsyncClient(base_url=settings.url, headers=headers, timeout=TIMEOUT_SECONDS) as client:
            yield client
        return
    async with _in_process(settings) as client:
        yield client


@asynccontextmanager
async def _in_process(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    from remit_service.bootstrap import coordinating, running_point
    from remit_service.evidence.decision_log.compose import make_log
    from remit_service.http.app import create_app
    from remit_service.metrics import Metrics

    settings = replace(settings, anonymous_loopback=True, decision_log="none", listen="127.0.0.1:0")
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
            async with httpx.AsyncClient(transport=transport, base_url=LOCAL, timeout=TIMEOUT_SECONDS) as client:
                yield client
            await app.aclose()
    finally:
        await log.aclose()


def print_members(console: Console, document: Mapping[str, Any], indent: str = "") -> None:
    """Print a document as indented lines."""
    for name, value in document.items():
        if isinstance(value, dict) and value:
            console.print(f"{indent}{name}", markup=False)
            print_members(console, value, indent + "  ")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for each in value:
                console.print(f"{indent}{name}", markup=False)
                print_members(console, each, indent + "  ")
        else:
            console.print(f"{indent}{name}  {value}", markup=False)
