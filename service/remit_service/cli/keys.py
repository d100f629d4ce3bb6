"""`remit key`: API keys by which enforcement points and principals prove who they are; only their hashes are stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console

from remit_service.cli.client import client_for, document_of, refused
from remit_service.cli.context import call_of, run
from remit_service.cli.coordination import perform
from remit_service.cli.exits import DONE
from remit_service.cli.governing import ActorName, Reason, path_of
from remit_service.cli.output import table

app = typer.Typer(no_args_is_help=True)


@app.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its identity is key:<name>; somebody must list it to be opened by it.")],
    days: Annotated[int | None, typer.Option(help="Let it expire after so many days.", min=1, max=3650)] = None,
    reason: Reason = None, actor: ActorName = None,
) -> None:  # fmt: skip
    """Make a key and print it once."""
    call = call_of(context)

    async def work() -> int:
        body = {"name": name, "days": days, "reason": reason, "actor": actor}
        async with client_for(call) as client:
            response = await client.post(
                "/v1/keys", json={name: each for name, each in body.items() if each is not None}
            )
        if not response.is_success:
            return refused(call, response)
        document = document_of(response)
        call.output.show(document, document["key"])
        if document["bound_to"] is None:
            call.output.tell(f"nobody lists `key:{name}` yet; until an enforcement point does, the key opens nothing")
        return DONE

    run(call, work)


@app.command(name="list")
def list_(context: typer.Context) -> None:
    """List the keys, without their secrets."""
    perform(context, "GET /v1/keys", text=_print)


def _print(console: Console, document: Mapping[str, Any]) -> None:
    rows = [
        (each["id"], each["name"], each["bound_to"], each["created_at"], each.get("expires_at", "never"))
        for each in document["keys"]
    ]
    console.print(table(None, ("id", "name", "opens for", "created", "expires"), rows))


@app.command()
def revoke(
    context: typer.Context,
    identifier: Annotated[str, typer.Argument(help="The key's id.")],
    reason: Reason = None, actor: ActorName = None,
) -> None:  # fmt: skip
    """End a key at once."""
    perform(context, f"DELETE {path_of('v1', 'keys', identifier)}", query={"reason": reason, "actor": actor})
