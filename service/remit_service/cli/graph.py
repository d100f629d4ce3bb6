"""`remit graph`: the authority graph as tables and as chains, and whether it is sound; as files in `worlds`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import httpx
import typer
from rich.console import Console

from remit_graph.model.principal import KINDS
from remit_service.cli import worlds
from remit_service.cli.asking import (
    ActionName,
    As,
    ContextOption,
    FormatOption,
    ResourceKey,
    Subject,
    print_explanation,
    question,
    show_answer,
)
from remit_service.cli.client import client_for, document_of, refused
from remit_service.cli.context import call_of, run
from remit_service.cli.coordination import print_members
from remit_service.cli.exits import DONE, REFUSED
from remit_service.cli.governing import path_of
from remit_service.cli.output import table
from remit_service.cli.target import target_of

app = typer.Typer(no_args_is_help=True)
app.command()(worlds.plan)
app.command()(worlds.apply)
app.command()(worlds.export)
app.command()(worlds.diff)


@app.command()
def path(
    context: typer.Context, subject: Subject, action: ActionName, resource: ResourceKey,
    attributes: ContextOption = None, as_: As = None, form: FormatOption = None,
) -> None:  # fmt: skip
    """Show the chains by which a subject may act: exit 1 where there is none."""
    call = call_of(context)

    async def work() -> int:
        body = question(subject, action, resource, attributes)
        async with target_of(call.settings(), enforcement_point=as_) as target:
            answer = await target.explain(body)
        show_answer(call.output, body, answer, form, print_explanation)
        explanation = answer.get("context", {}).get("explanation") or {}
        return DONE if explanation.get("chains") else REFUSED

    run(call, work)


@app.command()
def show(
    context: typer.Context,
    identifier: Annotated[str, typer.Argument(help="A principal, a resource key or an edge id; nothing for all.")] = "",
) -> None:
    """Show a principal, a resource or an edge with all its versions."""
    call = call_of(context)

    async def work() -> int:
        async with client_for(call) as client:
            response = await _found(client, identifier)
        if not response.is_success:
            return refused(call, response)
        document = document_of(response)
        call.output.show(document, lambda console: _print(console, document))
        return DONE

    run(call, work)


async def _found(client: httpx.AsyncClient, identifier: str) -> httpx.Response:
    """Ask for an edge of this name, and where there is none for a principal or a resource, by its first segment."""
    if not identifier:
        return await client.get("/v1/graph/summary")
    edge = await client.get(path_of("v1", "graph", "edges", identifier))
    if edge.status_code != httpx.codes.NOT_FOUND:
        return edge
    place = "principals" if identifier.partition(":")[0] in KINDS else "resources"
    return await client.get(path_of("v1", "graph", place, identifier))


def _print(console: Console, document: Mapping[str, Any]) -> None:
    """Print what is known of a thing, and its edges as tables."""
    lists = {name: value for name, value in document.items() if value and _is_edges(value)}
    print_members(console, {name: value for name, value in document.items() if name not in lists and value != []})
    for name, edges in lists.items():
        rows = [
            (f"{each['edge_id']}@{each['version']}", each["edge"], each["from"], each["to"], each.get("ended_by"))
            for each in edges
        ]
        console.print(table(f"\n{name}", ("edge", "type", "from", "to", "ended by"), rows))


def _is_edges(value: Any) -> bool:
    return isinstance(value, list) and isinstance(value[0], Mapping) and "edge_id" in value[0]
