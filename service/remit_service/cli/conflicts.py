"""`remit conflicts`: the records of conflicts, and the map of declared runs that would meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console

from remit_service.cli.coordination import perform
from remit_service.cli.output import table

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_(
    context: typer.Context,
    after: Annotated[str | None, typer.Option(help="Only those decided later, RFC 3339.")] = None,
) -> None:
    """The conflict records at hand, oldest first."""
    query = "" if after is None else f"?after={quote(after)}"
    perform(context, f"GET /v1/conflicts{query}", text=_print_conflicts)


def _print_conflicts(console: Console, document: Mapping[str, Any]) -> None:
    rows = [
        (each["conflict_id"], each["resource"], " / ".join(each["contenders"]), each["conflict_type"],
         each["decision"], each["winner"], each["reason_code"])
        for each in document["conflicts"]
    ]  # fmt: skip
    columns = ("conflict", "resource", "contenders", "type", "decision", "winner", "reason")
    console.print(table(None, columns, rows))


@app.command("map")
def map_(context: typer.Context) -> None:
    """The pairs of declared runs that would meet, before any of them starts."""
    perform(context, "GET /v1/conflicts/map", text=_print_map)


def _print_map(console: Console, document: Mapping[str, Any]) -> None:
    rows = [
        (each["run_id"], each["with"], each["conflict_type"], each["key"], each["other_key"])
        for each in document["pairs"]
    ]
    console.print(table(None, ("run", "meets", "type", "key", "its key"), rows))
