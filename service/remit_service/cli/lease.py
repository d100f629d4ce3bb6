"""`remit lease`: list, acquire, renew, release, preempt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console

from remit_service.cli.asking import ActionName, ContextOption, ResourceKey, question
from remit_service.cli.coordination import Key, Subject, Token, keyed, perform
from remit_service.cli.governing import path_of
from remit_service.cli.output import table

app = typer.Typer(no_args_is_help=True)
LeaseId = Annotated[str, typer.Argument(help="Id of the lease.")]
Ttl = Annotated[float | None, typer.Option("--ttl", help="Life of the lease in seconds.")]
Wait = Annotated[float | None, typer.Option("--wait", help="Seconds to wait in the queue, where it is busy.")]
Mode = Annotated[str | None, typer.Option("--mode", help="exclusive or shared.")]
Purpose = Annotated[str | None, typer.Option("--purpose", help="What for, for the record.")]


@app.command("list")
def list_(
    context: typer.Context,
    holder: Annotated[str | None, typer.Option(help="Only those of this principal.")] = None,
    under: Annotated[str | None, typer.Option(help="Only those at and below this key.")] = None,
) -> None:
    """The live leases."""
    perform(context, "GET /v1/leases", query={"holder": holder, "under": under}, text=_print_leases)


def _print_leases(console: Console, document: Mapping[str, Any]) -> None:
    rows = [
        (each["lease_id"], each["holder"], each["resource_key"], ", ".join(each["fields"]), each["lease_epoch"],
         each["expires_at"])
        for each in document["leases"]
    ]  # fmt: skip
    console.print(table(None, ("lease", "holder", "resource", "fields", "token", "until"), rows))


@app.command()
def show(context: typer.Context, lease_id: LeaseId) -> None:
    """A lease as it stands."""
    perform(context, f"GET {path_of('v1', 'leases', lease_id)}")


@app.command()
def acquire(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context, subject: Subject, action: ActionName, resource: ResourceKey,
    attributes: ContextOption = None, ttl: Ttl = None, wait: Wait = None, mode: Mode = None, purpose: Purpose = None,
    key: Key = None,
) -> None:  # fmt: skip
    """Take a lease: 0 where it is held or waited for, 1 where it is refused."""
    options = {"ttl_seconds": ttl, "wait_seconds": wait, "mode": mode, "purpose": purpose}
    body = {**question(subject, action, resource, attributes), **options}
    perform(context, "POST /v1/leases", body, headers=keyed(key))


@app.command()
def renew(
    context: typer.Context, lease_id: LeaseId, token: Token, ttl: Ttl = None,
    version: Annotated[str, typer.Option("--version", help="The version that was seen, or * for any.")] = "*",
    progress: Annotated[str | None, typer.Option(help="A mark that differs where the run has advanced.")] = None,
) -> None:  # fmt: skip
    """Keep a lease: the same token, a later end."""
    body = {"lease_epoch": token, "ttl_seconds": ttl, "progress": progress}
    seen = version if version == "*" else f'"{version}"'
    perform(context, f"PUT /v1/leases/{lease_id}", body, headers={"If-Match": seen})


@app.command()
def release(context: typer.Context, lease_id: LeaseId, token: Token) -> None:
    """Give a lease back; a second time is as good as once."""
    perform(context, f"DELETE /v1/leases/{lease_id}?lease_epoch={token}")


@app.command()
def preempt(
    context: typer.Context, lease_id: LeaseId, subject: Subject, action: ActionName,
    attributes: ContextOption = None, ttl: Ttl = None, purpose: Purpose = None, key: Key = None,
) -> None:  # fmt: skip
    """Take over the resource of somebody's lease, where an edge, an incident and the priorities allow it."""
    body = {**question(subject, action, lease_id, attributes), "ttl_seconds": ttl, "purpose": purpose}
    perform(context, f"POST /v1/leases/{lease_id}/preempt", body, headers=keyed(key))
