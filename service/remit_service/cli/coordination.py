"""What verbs share that are one call of the HTTP API: the call itself, its common options, and an answer as lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from rich.console import Console

from remit_service.cli.client import client_for, document_of, refused
from remit_service.cli.context import call_of, run
from remit_service.cli.exits import DONE
from remit_service.library.reach import TIMEOUT_SECONDS

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
    query: Mapping[str, Any] | None = None,
    text: Callable[[Console, Mapping[str, Any]], None] | None = None,
    code: Callable[[Mapping[str, Any]], int] = lambda _document: DONE,
    patiently: bool = False,
) -> None:
    """Make one call, `POST /v1/operations`, print its answer and leave: 0 done, 1 refused, 2 usage, 3 fault.

    With `code` the answer decides with which; `patiently` waits for as long as the answer takes.
    """
    here = call_of(context)
    method, _, path = call.partition(" ")

    async def work() -> int:
        async with client_for(here) as client:
            sent = None if body is None else _given(body)
            within = None if patiently else TIMEOUT_SECONDS
            response = await client.request(
                method, path, json=sent, headers=headers, params=_given(query or {}) or None, timeout=within
            )
        if not response.is_success:
            return refused(here, response)
        document = document_of(response)
        here.output.show(document, lambda console: (text or print_members)(console, document))
        return code(document)

    run(here, work)


def keyed(key: str | None) -> dict[str, str]:
    """Return the header of an idempotency key."""
    return {} if key is None else {"Idempotency-Key": key}


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    """What was not given is not sent."""
    return {name: value for name, value in body.items() if value is not None}


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
