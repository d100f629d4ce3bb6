"""`remit waiter`: wait for what was queued for, or leave the queue."""

from __future__ import annotations

from typing import Annotated

import typer

from remit_service.cli.coordination import perform
from remit_service.cli.governing import path_of

app = typer.Typer(no_args_is_help=True)
WaiterId = Annotated[str, typer.Argument(help="Id of the wait, as `--wait` told it.")]
Within = Annotated[int, typer.Option("--within", min=0, max=25, help="Seconds this call may take.")]


@app.command()
def show(context: typer.Context, waiter_id: WaiterId, within: Within = 20) -> None:
    """The lease once it is granted, or the place in the queue; asking is what keeps the place."""
    perform(context, f"GET {path_of('v1', 'waiters', waiter_id)}", query={"wait": within})


@app.command()
def leave(context: typer.Context, waiter_id: WaiterId) -> None:
    """Stop waiting; a second time is as good as once."""
    perform(context, f"DELETE {path_of('v1', 'waiters', waiter_id)}")
