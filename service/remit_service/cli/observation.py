"""`remit observation`: report a change seen at a resource, and list those that no operation explains."""

from __future__ import annotations

from typing import Annotated

import typer

from remit_service.cli.asking import ResourceKey
from remit_service.cli.coordination import perform

app = typer.Typer(no_args_is_help=True)


@app.command()
def report(
    context: typer.Context, resource: ResourceKey,
    field: Annotated[list[str] | None, typer.Option("--field", help="A changed field; may be given again.")] = None,
    version: Annotated[str | None, typer.Option("--version", help="The version that was seen.")] = None,
    by: Annotated[str | None, typer.Option("--by", help="Who is thought to have written: <kind>:<name>.")] = None,
    reporter: Annotated[str | None, typer.Option(help="Who reports: <kind>:<name>; else the caller.")] = None,
    at: Annotated[str | None, typer.Option(help="When it was seen, RFC 3339.")] = None,
) -> None:  # fmt: skip
    """Report a change; answers which operation explains it, or what it is if none does."""
    entity = {"type": "key", "id": resource}
    body = {
        "resource": entity, "fields": field or [], "observed_version": version, "actor": by, "reporter": reporter,
        "at": at,
    }  # fmt: skip
    perform(context, "POST /v1/observations", body)


@app.command("list")
def list_(context: typer.Context) -> None:
    """What no operation explains, oldest first, beside how many writes were coordinated."""
    perform(context, "GET /v1/observations")
