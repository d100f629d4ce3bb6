"""`remit search subject|resource|action`: the reverse questions, now or as it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console

from remit_service.cli.asking import ActionName, ContextOption, ResourceKey, Subject, question
from remit_service.cli.coordination import perform
from remit_service.cli.output import table

app = typer.Typer(no_args_is_help=True)

Kind = Annotated[str, typer.Option("--type", help="AuthZEN type looked for, such as instance or wp:post.")]
Outcome = Annotated[
    list[str] | None, typer.Option("--outcome", help="List what decisions come to this; execute and acquire if none.")
]
Limit = Annotated[int | None, typer.Option(help="Results of one page.")]
Token = Annotated[str | None, typer.Option("--token", help="Go on where the last page ended.")]
AtRevision = Annotated[int | None, typer.Option(help="Search the graph as it was at this revision.")]
AsOf = Annotated[str | None, typer.Option(help="Search as of this instant, RFC 3339.")]
NO_ONE, NOTHING = "any:one", "any"


@app.command()
def subject(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context, action: ActionName, resource: ResourceKey, type_: Kind = "instance",
    attributes: ContextOption = None, outcomes: Outcome = None, limit: Limit = None, token: Token = None,
    at_revision: AtRevision = None, as_of: AsOf = None,
) -> None:  # fmt: skip
    """Who may do it."""
    body = {**question(NO_ONE, action, resource, attributes), "subject": {"type": type_}}
    _search(context, "subject", body, outcomes, _page(limit, token), at_revision=at_revision, as_of=as_of)


@app.command()
def resource(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context, subject: Subject, action: ActionName, type_: Kind = "key",
    attributes: ContextOption = None, outcomes: Outcome = None, limit: Limit = None, token: Token = None,
    at_revision: AtRevision = None, as_of: AsOf = None,
) -> None:  # fmt: skip
    """On what it may be done."""
    body = {**question(subject, action, NOTHING, attributes), "resource": {"type": type_}}
    _search(context, "resource", body, outcomes, _page(limit, token), at_revision=at_revision, as_of=as_of)


@app.command()
def action(  # noqa: PLR0913, PLR0917 - each is an option
    context: typer.Context, subject: Subject, resource: ResourceKey,
    attributes: ContextOption = None, outcomes: Outcome = None, limit: Limit = None, token: Token = None,
    at_revision: AtRevision = None, as_of: AsOf = None,
) -> None:  # fmt: skip
    """What may be done."""
    body = question(subject, NOTHING, resource, attributes)
    _search(context, "action", body, outcomes, _page(limit, token), at_revision=at_revision, as_of=as_of)


def _page(limit: int | None, token: str | None) -> dict[str, Any]:
    given = {"limit": limit, "token": token}
    return {name: value for name, value in given.items() if value is not None}


def _search(
    context: typer.Context,
    kind: str,
    body: Mapping[str, Any],
    outcomes: list[str] | None,
    page: Mapping[str, Any],
    **moment: Any,
) -> None:
    asked = {"kind": kind, **body, "outcomes": outcomes or None, "page": page, **moment}
    perform(context, "POST /v1/search", asked, text=_print)


def _print(console: Console, answer: Mapping[str, Any]) -> None:
    rows = [(each.get("name") or f"{each['type']}:{each['id']}", each["outcome"]) for each in answer["results"]]
    console.print(table(None, ("found", "outcome"), rows))
    if answer["context"]["complete"]:
        return
    console.print(f"\nnot all: cut by {answer['context']['cause']}; go on with", style="yellow", markup=False)
    console.print(f"  --token {answer['page']['next_token']}", markup=False)
