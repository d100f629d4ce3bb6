"""`remit transfer`: ownership moves in seven steps, each a verb of its own."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from remit_service.cli.asking import ResourceKey, question
from remit_service.cli.coordination import Actor, Key, keyed, perform

app = typer.Typer(no_args_is_help=True)
TransferId = Annotated[str, typer.Argument(help="Id of the transfer.")]
STEPS = {
    "validate": "List what hangs on it, and refuse an owner that is not able.",
    "freeze": "Deny what starts under the old owner; what runs gets until the deadline.",
    "transfer": "End the old ownership and begin the new one, in one revision.",
    "register": "Note what names the old owner still.",
    "verify": "Probe both: the new one may, the old one may not.",
    "retire": "Close what the old one had left of it.",
    "abort": "Restore what was before; only until authority has moved.",
}


@app.command()
def propose(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context, resource: ResourceKey,
    from_: Annotated[str, typer.Option("--from", help="The owner now.")],
    to: Annotated[str, typer.Option("--to", help="The owner it is to be.")],
    field: Annotated[list[str], typer.Option("--field", help="A field that moves; once for each.")],
    reason: Annotated[str, typer.Option(help="Why.")],
    actor: Actor = None,
    freeze_deadline: Annotated[float | None, typer.Option(help="Seconds that running operations get.")] = None,
    key: Key = None,
) -> None:  # fmt: skip
    """Propose a transfer, by the owner or a root principal."""
    body = {
        "from": from_, "to": to, "resource": resource, "fields": field, "reason": reason, "actor": actor or from_,
        "freeze_deadline_seconds": freeze_deadline,
    }  # fmt: skip
    perform(context, "POST /v1/transfers", body, headers=keyed(key))


@app.command("list")
def list_(context: typer.Context) -> None:
    """The transfers there are, those that are over too."""
    perform(context, "GET /v1/transfers")


@app.command()
def show(context: typer.Context, transfer_id: TransferId) -> None:
    """A transfer with its steps, each with actor, instant, revision and evidence."""
    perform(context, f"GET /v1/transfers/{transfer_id}")


def _add(step: str, says: str) -> None:
    @app.command(step, help=says)
    def advance(context: typer.Context, transfer_id: TransferId, actor: Actor = None) -> None:
        perform(context, f"POST /v1/transfers/{transfer_id}/{step}", {"actor": actor})


@app.command(help=STEPS["verify"])
def verify(
    context: typer.Context, transfer_id: TransferId, actor: Actor = None,
    probe: Annotated[
        list[str] | None,
        typer.Option("--probe", help="'SUBJECT ACTION KEY': of the new writer, then of the old one; else both owners."),
    ] = None,
) -> None:  # fmt: skip
    """Probe both: the new one may, the old one may not."""
    body = {"actor": actor, "probes": [_probe(each) for each in probe or ()]}
    perform(context, f"POST /v1/transfers/{transfer_id}/verify", body)


def _probe(text: str) -> dict[str, Any]:
    words = text.split()
    if len(words) != len(("subject", "action", "key")):
        raise typer.BadParameter(f"`{text}` is no probe: write 'SUBJECT ACTION KEY'")
    subject, action, key = words
    return question(subject, action, key, None)


for _step, _says in STEPS.items():
    if _step != "verify":
        _add(_step, _says)
