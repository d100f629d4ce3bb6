"""`remit approval`: give, ask, vote, withdraw, list, show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from remit_service.cli.coordination import Actor, Key, keyed, perform
from remit_service.cli.exits import Failure
from remit_service.cli.output import table

app = typer.Typer(no_args_is_help=True)

ApprovalId = Annotated[str, typer.Argument(help="Id of the approval.")]
Terms = Annotated[
    Path,
    typer.Argument(help="JSON file of the operation: action, resource, for, expected_version, shown ...", exists=True),
]
Approver = Annotated[str | None, typer.Option("--approver", help="Who agrees: <kind>:<name>.")]
Under = Annotated[str | None, typer.Option("--under", help="The action of class approve; APPROVE if absent.")]


def _terms(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Failure(f"{file} is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise Failure(f"{file} holds no JSON object")
    return document


@app.command()
def give(context: typer.Context, terms: Terms, approver: Approver = None, under: Under = None, key: Key = None) -> None:
    """Approve an operation, as somebody else than who will act."""
    body = {**_terms(terms), "approver": approver, "under": under}
    perform(context, "POST /v1/approvals", body, headers=keyed(key))


@app.command("ask")
def ask_(context: typer.Context, terms: Terms, key: Key = None) -> None:
    """Ask for an approval; others vote on it."""
    perform(context, "POST /v1/approvals", {**_terms(terms), "request_only": True}, headers=keyed(key))


@app.command()
def vote(
    context: typer.Context, approval_id: ApprovalId, approver: Approver = None, under: Under = None, key: Key = None
) -> None:
    """Agree to an approval that was asked for."""
    body = {"approver": approver, "under": under}
    perform(context, f"POST /v1/approvals/{approval_id}/votes", body, headers=keyed(key))


@app.command()
def withdraw(context: typer.Context, approval_id: ApprovalId, actor: Actor = None, key: Key = None) -> None:
    """Take an approval back."""
    perform(context, f"POST /v1/approvals/{approval_id}/withdrawals", {"actor": actor}, headers=keyed(key))


@app.command("list")
def list_(
    context: typer.Context,
    requester: Annotated[str | None, typer.Option(help="Only those for this principal.")] = None,
    resource: Annotated[str | None, typer.Option(help="Only those on this resource.")] = None,
) -> None:
    """The open approvals."""
    perform(context, "GET /v1/approvals", query={"requester": requester, "resource": resource}, text=_print)


def _print(console: Console, document: Mapping[str, Any]) -> None:
    rows = [
        (each["approval_id"], each["action"], ", ".join(each["resource_keys"]), each["requester"],
         f"{len(each.get('votes', ()))} of {each['quorum']}", each["expires_at"])
        for each in document["approvals"]
    ]  # fmt: skip
    console.print(table(None, ("approval", "action", "on", "for", "votes", "until"), rows))


@app.command()
def show(context: typer.Context, approval_id: ApprovalId) -> None:
    """One approval with what was shown and who agreed."""
    perform(context, f"GET /v1/approvals/{approval_id}")
