"""`remit grant`, `delegate`, `member`, `amend`: make authority, hand it on, and change it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from remit_service.cli.governing import (
    Actions,
    ActorName,
    ApprovalId,
    Depth,
    DryRun,
    Fields,
    From,
    Impact,
    Key,
    Reason,
    Resources,
    Until,
    Where,
    command,
    path_of,
    scope_of,
)

EdgeId = Annotated[str, typer.Option("--id", help="Its id; unique among what is current.")]
Holder = Annotated[str, typer.Argument(help="Who gets it: <kind>:<name>.")]


def grant(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context,
    edge: Annotated[str, typer.Argument(help="MAY_READ, MAY_WRITE, OWNS, MAY_DELEGATE, MAY_REVOKE …")],
    holder: Holder,
    to: Annotated[str, typer.Argument(help="A selector such as wp:post:*, or a principal, as the edge demands.")],
    edge_id: EdgeId,
    actions: Actions = None, resources: Resources = None, fields: Fields = None, where: Where = None,
    begins: From = None, until: Until = None, depth: Depth = None,
    issuer: Annotated[str | None, typer.Option(help="In whose name it is issued: a root or the owner.")] = None,
    reason: Reason = None, actor: ActorName = None, approval: ApprovalId = None, dry_run: DryRun = False,
    impact: Impact = False, key: Key = None,
) -> None:  # fmt: skip
    """Grant a right on resources, or make an owner, or a right to delegate, to preempt, to revoke."""
    body: dict[str, Any] = {
        "edge_id": edge_id, "edge": edge, "from": holder, "to": to, "issuer": issuer, "max_depth": depth,
        "scope": scope_of(actions, resources, fields, where), "valid_from": begins, "valid_until": until,
    }  # fmt: skip
    command(
        context,
        "POST /v1/grants",
        body,
        reason=reason,
        actor=actor,
        dry_run=dry_run,
        impact=impact,
        approval=approval,
        key=key,
    )


def delegate(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context,
    delegator: Annotated[str, typer.Argument(help="Who hands on: <kind>:<name>.")],
    delegate: Holder,
    delegation_id: EdgeId,
    actions: Actions = None, resources: Resources = None, fields: Fields = None, where: Where = None,
    begins: From = None, until: Until = None, depth: Depth = None,
    under: Annotated[str | None, typer.Option(help="The right it rests on; any that holds by default.")] = None,
    reason: Reason = None,
    actor: Annotated[str | None, typer.Option(help="In whose name; by default the delegator's.")] = None,
    approval: ApprovalId = None, dry_run: DryRun = False, impact: Impact = False,
    key: Key = None,
) -> None:  # fmt: skip
    """Hand authority on, the same or less: what is left open is filled in from what it rests on."""
    body: dict[str, Any] = {
        "delegation_id": delegation_id, "delegator": delegator, "delegate": delegate, "under": under,
        "scope": scope_of(actions, resources, fields, where), "valid_from": begins, "valid_until": until,
        "max_depth": depth,
    }  # fmt: skip
    command(
        context, "POST /v1/delegations", body,
        reason=reason, actor=actor or delegator, dry_run=dry_run, impact=impact, approval=approval, key=key,
    )  # fmt: skip


def member(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context,
    who: Annotated[str, typer.Argument(help="Who: <kind>:<name>.")],
    of: Annotated[str, typer.Argument(help="A role or controller to act as, a team or organization to belong to.")],
    edge: Annotated[str | None, typer.Option(help="ACTS_AS or MEMBER_OF; as the second kind allows.")] = None,
    begins: From = None, until: Until = None,
    reason: Reason = None, actor: ActorName = None, dry_run: DryRun = False, impact: Impact = False,
    key: Key = None,
) -> None:  # fmt: skip
    """Let a principal act as a role, or belong to a team."""
    body = {"from": who, "to": of, "edge": edge, "valid_from": begins, "valid_until": until}
    command(context, "POST /v1/memberships", body, reason=reason, actor=actor, dry_run=dry_run, impact=impact, key=key)


def amend(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context,
    edge_id: Annotated[str, typer.Argument(help="A grant, right or delegation.")],
    version: Annotated[int, typer.Option("--version", min=1, help="The version you have seen: `remit graph show`.")],
    actions: Actions = None, resources: Resources = None, fields: Fields = None, where: Where = None,
    begins: From = None, until: Until = None, depth: Depth = None,
    reason: Reason = None, actor: ActorName = None, approval: ApprovalId = None, dry_run: DryRun = False,
    impact: Impact = False, key: Key = None,
) -> None:  # fmt: skip
    """Amend an edge: what is named replaces what it has, and what was made under it shrinks with it."""
    body: dict[str, Any] = {
        "scope": scope_of(actions, resources, fields, where), "valid_from": begins, "valid_until": until,
        "max_depth": depth,
    }  # fmt: skip
    command(
        context, f"PATCH {path_of('v1', 'grants', edge_id)}", body,
        reason=reason, actor=actor, dry_run=dry_run, impact=impact, approval=approval, key=key,
        headers={"If-Match": f'"{version}"'},
    )  # fmt: skip
