"""`remit graph check|adopt|quarantine`: what was edited past the ledger, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console

from remit_service.cli.coordination import perform
from remit_service.cli.exits import DONE, REFUSED, Failure
from remit_service.cli.governing import ActorName, ApprovalId, DryRun, Impact, Reason, command, print_impact

Quick = Annotated[bool, typer.Option("--quick", help="Compare counts and sums alone: a second for a million edges.")]

Edits = Annotated[
    list[str] | None, typer.Argument(metavar="[EDIT]...", help="Only this one, as `graph check` names it.")
]
Only = Annotated[list[str] | None, typer.Option("--only", help="Only edits of this KIND, such as MAY_WRITE; repeats.")]


def check(context: typer.Context, quick: Quick = False) -> None:
    """Check the graph against its laws, the ledger and the store: exit 1 where something is wrong."""
    query = {"quick": "true"} if quick else None
    perform(context, "GET /v1/graph/check", query=query, text=_print_check, code=_found_any("problems"), patiently=True)


def adopt(
    context: typer.Context,
    edits: Edits = None,
    only: Only = None,
    reason: Reason = None,
    actor: ActorName = None,
    approval: ApprovalId = None,
    dry_run: DryRun = False,
    impact: Impact = False,
) -> None:
    """Make edits past the ledger proper changes, laws checked: exit 1 where any is refused.

    Without EDIT and --only all edits are meant. What is not chosen stays as it is, and gives no authority.
    """
    command(
        context, "POST /v1/graph/adopt", _chosen(edits, only), reason=reason, actor=actor, approval=approval,
        dry_run=dry_run, impact=impact, text=_print_adopted, code=_found_any("refused"), patiently=True,
    )  # fmt: skip


def quarantine(
    context: typer.Context,
    edits: Edits = None,
    only: Only = None,
    reason: Reason = None,
    actor: ActorName = None,
    approval: ApprovalId = None,
    dry_run: DryRun = False,
    show: Annotated[bool, typer.Option("--list", help="Show what was set aside so far.")] = False,
) -> None:
    """Take edits past the ledger out of the graph and keep them; Cypher then reads what holds.

    Without EDIT and --only all edits are meant.
    """
    if show and any((edits, only, reason is not None, actor is not None, approval is not None, dry_run)):
        raise Failure("--list shows what was set aside and sets nothing aside: give it alone")
    if show:
        perform(context, "GET /v1/graph/quarantine", text=_print_kept)
    else:
        command(
            context, "POST /v1/graph/quarantine", _chosen(edits, only), reason=reason, actor=actor, approval=approval,
            dry_run=dry_run, text=_print_set_aside, patiently=True,
        )  # fmt: skip


def _chosen(edits: list[str] | None, only: list[str] | None) -> dict[str, Any]:
    return {"edits": edits or None, "only": only or None}


def _found_any(member: str) -> Any:
    return lambda document: REFUSED if document[member] else DONE


def _print_check(console: Console, document: Mapping[str, Any]) -> None:
    edits = {each["sentence"] for each in document["edits"]}
    for each in document["edits"]:
        console.print(f"{each['edit_id']}  {each['sentence']}", markup=False)
    rest = [each for each in document["problems"] if each not in edits]
    if rest or not edits:
        console.print("\n".join(rest) or "nothing is wrong", markup=False)


def _print_adopted(console: Console, document: Mapping[str, Any]) -> None:
    would = "would be " if document["dry_run"] else ""
    for each in document["adopted"]:
        at = f" at revision {each['revision_number']}" if "revision_number" in each else ""
        console.print(f"{would}adopted{at}: {_named(each)}", markup=False)
    for each in document["brought_along"]:
        console.print(f"{would}brought along: {_named(each)}", markup=False)
    for each in document["refused"]:
        console.print(f"{would}refused: {_named(each)}", markup=False)
        console.print(f"  {each['code']}: {each['message']}", markup=False)
    _print_left(console, document, nothing=not document["adopted"] and not document["refused"])
    print_impact(console, document)


def _print_set_aside(console: Console, document: Mapping[str, Any]) -> None:
    would = "would be " if document["dry_run"] else ""
    for each in document["set_aside"]:
        console.print(f"{would}set aside: {_named(each)}", markup=False)
    _print_left(console, document, nothing=not document["set_aside"])


def _named(edit: Mapping[str, Any]) -> str:
    return f"{edit['edit_id']} {edit['kind']} `{edit['name']}` ({edit['slip']})"


def _print_left(console: Console, document: Mapping[str, Any], *, nothing: bool) -> None:
    if document["left"]:
        console.print(f"{document['left']} edits were not chosen and stay as they are", markup=False)
    elif nothing:
        console.print("nothing was edited past the ledger", markup=False)


def _print_kept(console: Console, document: Mapping[str, Any]) -> None:
    for each in document["kept"]:
        by = f" by {each['set_aside_by']}" if "set_aside_by" in each else ""
        why = f" ({each['reason']})" if "reason" in each else ""
        console.print(f"{each['set_aside_at']}{by}{why}", markup=False)
        console.print(f"  {each['slip']} {each['kind']} `{each['name']}`  {each['properties']}", markup=False)
    if not document["kept"]:
        console.print("nothing was set aside", markup=False)


def add_to(app: typer.Typer) -> None:
    """Add the verbs to `remit graph`."""
    for verb in (check, adopt, quarantine):
        app.command()(verb)
