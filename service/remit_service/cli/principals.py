"""`remit principal`: declare, show, change, disable and enable principals, and bind identities to them."""

from __future__ import annotations

from typing import Annotated

import typer

from remit_service.cli.coordination import perform
from remit_service.cli.governing import ActorName, DryRun, Impact, Key, Reason, command, path_of

app = typer.Typer(no_args_is_help=True)
Principal = Annotated[str, typer.Argument(help="<kind>:<name>, such as instance:seo-agent-7.")]


@app.command()
def declare(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context,
    principal: Principal,
    trust: Annotated[int | None, typer.Option(help="How far production may rely on it.")] = None,
    identity: Annotated[list[str] | None, typer.Option(help="A verified identity: spiffe://…, key:<name> …")] = None,
    name: Annotated[str | None, typer.Option(help="What people call it.")] = None,
    reason: Reason = None, actor: ActorName = None, dry_run: DryRun = False, impact: Impact = False,
    key: Key = None,
) -> None:  # fmt: skip
    """Declare a principal; one of the same name from earlier leaves it nothing."""
    body = {"id": principal, "trust": trust, "identities": identity, "display_name": name}
    command(context, "POST /v1/principals", body, reason=reason, actor=actor, dry_run=dry_run, impact=impact, key=key)


@app.command()
def change(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context,
    principal: Principal,
    trust: Annotated[int | None, typer.Option(help="How far production may rely on it.")] = None,
    identity: Annotated[
        list[str] | None, typer.Option(help="All its verified identities from now on; the others are taken from it.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What people call it.")] = None,
    reason: Reason = None, actor: ActorName = None, dry_run: DryRun = False, impact: Impact = False,
    key: Key = None,
) -> None:  # fmt: skip
    """Change what is known of a principal: what is named replaces what was known."""
    body = {"trust": trust, "identities": identity or None, "display_name": name}
    if all(each is None for each in body.values()):
        raise typer.BadParameter("name what is to change: --trust, --identity or --name")
    call = f"PATCH {path_of('v1', 'principals', principal)}"
    command(context, call, body, reason=reason, actor=actor, dry_run=dry_run, impact=impact, key=key)


@app.command()
def disable(
    context: typer.Context,
    principal: Principal,
    reason: Reason = None,
    actor: ActorName = None,
    dry_run: DryRun = False,
    impact: Impact = False,
) -> None:
    """Let a principal do nothing until it is enabled again."""
    _switch(context, principal, disabled=True, reason=reason, actor=actor, dry_run=dry_run, impact=impact)


@app.command()
def enable(
    context: typer.Context,
    principal: Principal,
    reason: Reason = None,
    actor: ActorName = None,
    dry_run: DryRun = False,
    impact: Impact = False,
) -> None:
    """Let a principal act again, by the edges it still has."""
    _switch(context, principal, disabled=False, reason=reason, actor=actor, dry_run=dry_run, impact=impact)


def _switch(
    context: typer.Context,
    principal: str,
    *,
    disabled: bool,
    reason: str | None,
    actor: str | None,
    dry_run: bool,
    impact: bool,
) -> None:
    call = f"PATCH {path_of('v1', 'principals', principal)}"
    command(context, call, {"disabled": disabled}, reason=reason, actor=actor, dry_run=dry_run, impact=impact)


@app.command()
def show(context: typer.Context, principal: Principal) -> None:
    """Show a principal with what it belongs to, holds and has handed on."""
    perform(context, f"GET {path_of('v1', 'graph', 'principals', principal)}")
