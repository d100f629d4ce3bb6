"""`remit graph check|adopt|quarantine`: what was edited past the ledger, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console

from remit_service.cli.coordination import perform
from remit_service.cli.exits import DONE, REFUSED
from remit_service.cli.governing import ActorName, DryRun, Reason

Quick = Annotated[bool, typer.Option("--quick", help="Compare counts and sums alone: a second for a million edges.")]


def check(context: typer.Context, quick: Quick = False) -> None:
    """Check the graph against its laws, the ledger and the store: exit 1 where something is wrong."""
    query = {"quick": "true"} if quick else None
    perform(context, "GET /v1/graph/check", query=query, text=_print_check, code=_found_any("problems"), patiently=True)


def adopt(context: typer.Context, reason: Reason = None, actor: ActorName = None, dry_run: DryRun = False) -> None:
    """Make edits past the ledger proper changes, laws checked: exit 1 where any is refused."""
    body = {"reason": reason, "actor": actor, "dry_run": dry_run or None}
    perform(context, "POST /v1/graph/adopt", body, text=_print_adopted, code=_found_any("refused"), patiently=True)


def quarantine(
    context: typer.Context,
    reason: Reason = None,
    actor: ActorName = None,
    dry_run: DryRun = False,
    show: Annotated[bool, typer.Option("--list", help="Show what was set aside so far.")] = False,
) -> None:
    """Take edits past the ledger out of the graph and keep them; Cypher then reads what holds."""
    if show:
        perform(context, "GET /v1/graph/quarantine", text=_print_kept)
    else:
        body = {"reason": reason, "actor": actor, "dry_run": dry_run or None}
        perform(context, "POST /v1/graph/quarantine", body, text=_print_set_aside, patiently=True)


def _found_any(member: str) -> Any:
    return lambda document: REFUSED if document[member] else DONE


def _print_check(console: Console, document: Mapping[str, Any]) -> None:
    console.print("\n".join(document["problems"]) or "nothing is wrong", markup=False)


def _print_adopted(console: Console, document: Mapping[str, Any]) -> None:
    would = "would be " if document["dry_run"] else ""
    for each in document["adopted"]:
        at = f" at revision {each['revision_number']}" if "revision_number" in each else ""
        console.print(f"{would}adopted{at}: {each['kind']} `{each['name']}` ({each['slip']})", markup=False)
    for each in document["refused"]:
        console.print(f"{would}refused: {each['kind']} `{each['name']}` ({each['slip']})", markup=False)
        console.print(f"  {each['code']}: {each['message']}", markup=False)
    if not document["adopted"] and not document["refused"]:
        console.print("nothing was edited past the ledger", markup=False)


def _print_set_aside(console: Console, document: Mapping[str, Any]) -> None:
    would = "would be " if document["dry_run"] else ""
    for each in document["set_aside"]:
        console.print(f"{would}set aside: {each['kind']} `{each['name']}` ({each['slip']})", markup=False)
    if not document["set_aside"]:
        console.print("nothing was edited past the ledger", markup=False)


def _print_kept(console: Console, document: Mapping[str, Any]) -> None:
    for each in document["kept"]:
        console.print(f"{each['slip']} {each['kind']} `{each['name']}`  {each['properties']}", markup=False)
    if not document["kept"]:
        console.print("nothing was set aside", markup=False)


def add_to(app: typer.Typer) -> None:
    """Add the verbs to `remit graph`."""
    for verb in (check, adopt, quarantine):
        app.command()(verb)
