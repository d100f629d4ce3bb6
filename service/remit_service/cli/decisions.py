"""`remit decision`: what was decided lately, and why; and `remit limits`: how much may be asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console

from remit_service.cli.asking import FormatOption, print_explanation, show_answer
from remit_service.cli.client import client_for, document_of, refused
from remit_service.cli.context import call_of, run
from remit_service.cli.coordination import perform
from remit_service.cli.exits import DONE
from remit_service.cli.governing import path_of
from remit_service.cli.output import table

app = typer.Typer(no_args_is_help=True)


@app.command(name="list")
def list_(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many at most.")] = 50,
) -> None:
    """The newest decisions of one decision point."""
    perform(context, "GET /v1/decisions", query={"limit": limit}, text=_print)


def _print(console: Console, document: Mapping[str, Any]) -> None:
    rows = [
        (each["decision_id"], each["timestamp"], _subject(each), (each.get("result") or {}).get("outcome"))
        for each in document["decisions"]
    ]
    console.print(table(None, ("decision", "at", "subject", "outcome"), rows))


def _subject(record: Mapping[str, Any]) -> str:
    subject = record.get("subject")
    return f"{subject.get('type')}:{subject.get('id')}" if isinstance(subject, Mapping) else str(subject or "")


@app.command()
def show(context: typer.Context, decision_id: Annotated[str, typer.Argument(help="Id of the decision.")]) -> None:
    """The record of one decision."""
    perform(context, f"GET {path_of('v1', 'decisions', decision_id)}")


@app.command()
def explain(
    context: typer.Context,
    decision_id: Annotated[str, typer.Argument(help="Id of the decision.")],
    form: FormatOption = None,
) -> None:
    """Explain a recorded decision as it was asked then: the sixteen questions, and what became of its lease since."""
    call = call_of(context)

    async def work() -> int:
        async with client_for(call) as client:
            response = await client.get(path_of("v1", "decisions", decision_id, "explanation"))
        if not response.is_success:
            return refused(call, response)
        document = document_of(response)
        show_answer(call.output, document["recorded"], document, form, _print_explained)
        return DONE

    run(call, work)


def _print_explained(console: Console, document: Mapping[str, Any]) -> None:
    then = document["recorded"]
    console.print(f"decided then: {then['outcome']} {', '.join(then['codes'])}", markup=False)
    print_explanation(console, document)


def limits(context: typer.Context) -> None:
    """Every bound of the service."""
    perform(context, "GET /v1/limits")
