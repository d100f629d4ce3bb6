"""`remit work-set`: declare what a run will touch, before it starts."""

from __future__ import annotations

from typing import Annotated

import typer

from remit_service.cli.coordination import Actor, Key, keyed, perform
from remit_service.cli.governing import path_of

app = typer.Typer(no_args_is_help=True)
RunId = Annotated[str, typer.Argument(help="Id of the run; operations name it with --run.")]


@app.command()
def declare(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context, run_id: RunId,
    expires_at: Annotated[str, typer.Option(help="When the declaration counts no longer, RFC 3339.")],
    write: Annotated[list[str] | None, typer.Option("--write", help="A key it writes; may be given again.")] = None,
    read: Annotated[list[str] | None, typer.Option("--read", help="A key it reads; may be given again.")] = None,
    delete: Annotated[list[str] | None, typer.Option("--delete", help="A key it deletes; may be given again.")] = None,
    operation: Annotated[list[str] | None, typer.Option("--operation", help="An action it takes.")] = None,
    exclusive: Annotated[bool, typer.Option("--exclusive", help="Refuse it where it would meet another run.")] = False,
    actor: Actor = None, key: Key = None,
) -> None:  # fmt: skip
    """Declare a run; answers with the declared runs it would meet."""
    body = {
        "run_id": run_id, "actor": actor, "expires_at": expires_at, "writes": write or [], "reads": read or [],
        "deletes": delete or [], "operations": operation or [], "exclusive": exclusive,
    }  # fmt: skip
    perform(context, "POST /v1/work-sets", body, headers=keyed(key))


@app.command("list")
def list_(context: typer.Context) -> None:
    """The runs that are declared now."""
    perform(context, "GET /v1/work-sets")


@app.command()
def end(context: typer.Context, run_id: RunId) -> None:
    """Say that a run is over."""
    perform(context, f"DELETE {path_of('v1', 'work-sets', run_id)}")
