"""`remit break-glass`: a short grant in an emergency, and the review of its use."""

from __future__ import annotations

from typing import Annotated

import typer

from remit_service.cli.coordination import perform
from remit_service.cli.governing import Actions, ActorName, ApprovalId, DryRun, Fields, Impact, command, path_of

app = typer.Typer(no_args_is_help=True)
GlassId = Annotated[str, typer.Argument(help="Its id: grant_id@version.")]


@app.command(name="open")
def open_(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context,
    principal: Annotated[str, typer.Argument(help="Who may act: a human, an instance or a service.")],
    resource: Annotated[str, typer.Argument(help="A selector such as wp:post:1024.")],
    grant_id: Annotated[str, typer.Option("--id", help="Its id.")],
    reason: Annotated[str, typer.Option(help="Why; whoever reviews it reads this.")],
    actions: Actions = None, fields: Fields = None,
    minutes: Annotated[int, typer.Option(min=1, max=240, help="How long it lives.")] = 30,
    incident: Annotated[str | None, typer.Option(help="The incident it is for.")] = None,
    actor: ActorName = None, approval: ApprovalId = None, dry_run: DryRun = False,
    impact: Impact = False,
) -> None:  # fmt: skip
    """Grant for minutes; it raises an alarm and has to be reviewed."""
    body = {
        "grant_id": grant_id, "principal": principal, "resource": resource, "actions": actions, "fields": fields,
        "minutes": minutes, "incident_id": incident,
    }  # fmt: skip
    command(
        context,
        "POST /v1/break-glass",
        body,
        reason=reason,
        actor=actor,
        dry_run=dry_run,
        impact=impact,
        approval=approval,
    )


@app.command(name="list")
def list_(context: typer.Context) -> None:
    """List those whose use nobody has looked at yet."""
    perform(context, "GET /v1/break-glass")


@app.command()
def report(context: typer.Context, break_glass_id: GlassId) -> None:
    """Show what was done under one."""
    perform(context, f"GET {path_of('v1', 'break-glass', break_glass_id)}")


@app.command()
def review(
    context: typer.Context,
    break_glass_id: GlassId,
    finding: Annotated[str, typer.Option(help="What was found.")],
    actor: ActorName = None,
    dry_run: DryRun = False,
) -> None:
    """Note that its use was looked at, by nobody who made or used it."""
    call = f"POST {path_of('v1', 'break-glass', break_glass_id, 'review')}"
    command(context, call, {"finding": finding}, reason=None, actor=actor, dry_run=dry_run)
