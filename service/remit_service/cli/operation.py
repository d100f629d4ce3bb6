"""`remit operation`: the write protocol, call by call."""

from __future__ import annotations

from typing import Annotated

import typer

from remit_service.cli.asking import ActionName, ContextOption, ResourceKey, attribute, question
from remit_service.cli.coordination import Key, Subject, Token, keyed, perform
from remit_service.cli.lease import Purpose, Ttl, Wait

app = typer.Typer(no_args_is_help=True)
Operation = Annotated[str, typer.Argument(help="Coordination id of the operation.")]
Preempt = Annotated[bool, typer.Option("--preempt", help="Take over, where that is allowed.")]


@app.command()
def begin(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context, subject: Subject, action: ActionName, resource: ResourceKey,
    attributes: ContextOption = None, ttl: Ttl = None, wait: Wait = None, purpose: Purpose = None,
    preempt: Preempt = False,
    also: Annotated[list[str] | None, typer.Option("--also", help="One more resource: all or none.")] = None,
    no_lease: Annotated[bool, typer.Option("--no-lease", help="Meet others at the version alone.")] = False,
    run: Annotated[str | None, typer.Option(help="The declared run it belongs to.")] = None,
    key: Key = None,
) -> None:  # fmt: skip
    """Begin an operation: resolve, decide, acquire."""
    options = {"ttl_seconds": ttl, "wait_seconds": wait, "purpose": purpose, "preempt": preempt, "work_set_id": run}
    body = {**question(subject, action, resource, attributes), **options, "lease": not no_lease}
    if also:
        body["resources"] = [body.pop("resource"), *({"type": "key", "id": each} for each in also)]
    perform(context, "POST /v1/operations", body, headers=keyed(key))


@app.command()
def precondition(context: typer.Context, operation: Operation, current_version: str) -> None:
    """Note the version that was read, and compare it with the planned one."""
    perform(context, f"POST /v1/operations/{operation}/precondition", {"current_version": current_version})


@app.command()
def renew(
    context: typer.Context, operation: Operation, token: Token, ttl: Ttl = None,
    progress: Annotated[str | None, typer.Option(help="A mark that differs where the run has advanced.")] = None,
) -> None:  # fmt: skip
    """Keep every lease of an operation, which has to advance for it."""
    body = {"lease_epoch": token, "ttl_seconds": ttl, "progress": progress}
    perform(context, f"POST /v1/operations/{operation}/renew", body)


@app.command()
def executed(
    context: typer.Context, operation: Operation, token: Token,
    result: Annotated[str, typer.Argument(help="applied, failed or unknown.")],
) -> None:  # fmt: skip
    """Say what the call at the resource came to."""
    perform(context, f"POST /v1/operations/{operation}/executed", {"lease_epoch": token, "result": result})


@app.command()
def verified(
    context: typer.Context, operation: Operation, token: Token,
    failed: Annotated[bool, typer.Option("--failed", help="The resource is not as it should be.")] = False,
) -> None:  # fmt: skip
    """Say whether the resource is in the desired state."""
    perform(context, f"POST /v1/operations/{operation}/verified", {"lease_epoch": token, "passed": not failed})


@app.command()
def complete(
    context: typer.Context, operation: Operation, token: Token,
    final_version: Annotated[str, typer.Argument(help="The version the resource is at now.")],
) -> None:  # fmt: skip
    """Write the receipt and release, in one revision."""
    body = {"lease_epoch": token, "final_version": final_version}
    perform(context, f"POST /v1/operations/{operation}/complete", body)


@app.command()
def abort(
    context: typer.Context, operation: Operation, reason: Annotated[str, typer.Option(help="Why.")] = "given up"
) -> None:
    """Give an operation up; it leaves its receipt all the same."""
    perform(context, f"POST /v1/operations/{operation}/abort", {"reason": reason})


@app.command()
def outcome(
    context: typer.Context, operation: Operation, finding: ContextOption,
    actor: Annotated[str | None, typer.Option("--actor", help="Who found it; by default who wrote.")] = None,
) -> None:  # fmt: skip
    """Add what was found of the outcome to the receipt, however long after."""
    found = dict(attribute(each) for each in finding or ())
    perform(context, f"POST /v1/operations/{operation}/outcome", {"finding": found, "actor": actor})


@app.command()
def show(context: typer.Context, operation: Operation) -> None:
    """An operation with its steps so far."""
    perform(context, f"GET /v1/operations/{operation}")


def receipt(context: typer.Context, operation: Operation) -> None:
    """The receipt of an operation or lease, however it ended."""
    perform(context, f"GET /v1/receipts/{operation}")
