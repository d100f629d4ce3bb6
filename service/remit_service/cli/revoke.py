"""`remit revoke` and `why-still`: end something with all that rests on it alone, and ask why the rest still stands."""

from __future__ import annotations

from typing import Annotated

import typer

from remit_service.cli.coordination import perform
from remit_service.cli.exits import Failure
from remit_service.cli.governing import ActorName, ApprovalId, Key, Reason, command, path_of, print_ended


def revoke(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context,
    edge_id: Annotated[str | None, typer.Argument(help="A grant, right or delegation.")] = None,
    principal: Annotated[str | None, typer.Option(help="A principal, with all that hangs on it.")] = None,
    resource: Annotated[str | None, typer.Option(help="A resource, with all that hangs on it.")] = None,
    lease: Annotated[str | None, typer.Option(help="A lease of somebody's.")] = None,
    capability: Annotated[str | None, typer.Option(help="A capability.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show what would end, and end nothing.")] = False,
    impact: Annotated[bool, typer.Option(help="With --plan: which recent verdicts would change.")] = False,
    reason: Reason = None, actor: ActorName = None, approval: ApprovalId = None, key: Key = None,
) -> None:  # fmt: skip
    """End one thing and everything that rests on it alone, in one revision."""
    named = {
        "edge_id": edge_id,
        "principal": principal,
        "resource": resource,
        "lease_id": lease,
        "capability_id": capability,
    }
    target = {name: value for name, value in named.items() if value is not None}
    if len(target) != 1:
        raise typer.BadParameter("name exactly one thing to end")
    if impact and not plan:
        raise Failure("--impact belongs to --plan: what has ended cannot be tried any more")
    command(
        context, "POST /v1/revocations", {"target": target},
        reason=reason, actor=actor, dry_run=plan, impact=impact, approval=approval, key=key, text=print_ended,
    )  # fmt: skip


def why_still(
    context: typer.Context, edge_id: Annotated[str, typer.Argument(help="An edge that is still there.")]
) -> None:
    """Say what carries an edge, up to its root, and what else could."""
    perform(context, f"GET {path_of('v1', 'graph', 'why-still', edge_id)}")
