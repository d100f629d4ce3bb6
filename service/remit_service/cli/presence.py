"""`remit presence`: say that somebody edits, or has stopped, and who does."""

from __future__ import annotations

from typing import Annotated

import typer

from remit_service.cli.asking import ResourceKey
from remit_service.cli.coordination import Subject, perform

app = typer.Typer(no_args_is_help=True)


@app.command()
def signal(
    context: typer.Context, actor: Subject, resource: ResourceKey,
    field: Annotated[list[str] | None, typer.Option("--field", help="A touched field; none is the whole.")] = None,
    ttl: Annotated[float | None, typer.Option("--ttl", help="Seconds until it ends by itself.")] = None,
) -> None:  # fmt: skip
    """Say that somebody edits: writes of others to the touched fields are held."""
    entity = {"type": "key", "id": resource}
    body = {"actor": actor, "resource": entity, "fields_touched": field or [], "ttl_seconds": ttl}
    perform(context, "POST /v1/presence", body)


@app.command()
def leave(context: typer.Context, presence_id: Annotated[str, typer.Argument(help="Id of the presence.")]) -> None:
    """Say that somebody has stopped editing."""
    perform(context, f"DELETE /v1/presence/{presence_id}")


@app.command("list")
def list_(context: typer.Context) -> None:
    """Who edits what, now."""
    perform(context, "GET /v1/presence")
