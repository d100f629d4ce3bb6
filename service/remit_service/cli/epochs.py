"""`remit epoch`: raise the authority epoch, and issue a reviewed selection again."""

from __future__ import annotations

from typing import Annotated

import typer

from remit_service.cli.governing import ActorName, ApprovalId, DryRun, Impact, Key, Reason, command, fresh_key

app = typer.Typer(no_args_is_help=True)


@app.command()
def bump(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context,
    floor: Annotated[str | None, typer.Option(help="What older edges are dead for: none, writes, all.")] = None,
    principal: Annotated[str | None, typer.Option(help="Only edges to or from this principal.")] = None,
    reason: Reason = None, actor: ActorName = None, approval: ApprovalId = None, dry_run: DryRun = False,
    impact: Impact = False, key: Key = None,
) -> None:  # fmt: skip
    """Raise the authority epoch; the answer says who can still govern."""
    if (floor is None) == (principal is None):
        raise typer.BadParameter("name a floor for the realm, or one principal")
    body = {"epoch": "authority", "floor": floor, "principal": principal}
    command(
        context, "POST /v1/epochs", body,
        reason=reason, actor=actor, dry_run=dry_run, impact=impact, approval=approval, key=key or fresh_key(),
    )  # fmt: skip


@app.command()
def renew(
    context: typer.Context,
    edges: Annotated[list[str], typer.Argument(help="edge_id@version, as reviewed: see `remit review`.")],
    reason: Reason = None, actor: ActorName = None, dry_run: DryRun = False, impact: Impact = False,
    key: Key = None,
) -> None:  # fmt: skip
    """Issue a reviewed selection of edges again under the epoch of now."""
    command(
        context,
        "POST /v1/epochs/renewals",
        {"edges": edges},
        reason=reason,
        actor=actor,
        dry_run=dry_run,
        impact=impact,
        key=key,
    )
