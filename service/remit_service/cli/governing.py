"""What the verbs of governance share: options that every command takes, and how scopes and windows are written."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console

from remit_service.cli.coordination import Key as Key  # noqa: PLC0414 - its verbs find all their options here
from remit_service.cli.coordination import keyed, perform, print_members
from remit_service.cli.exits import DONE, Failure

Reason = Annotated[str | None, typer.Option("--reason", help="Why, for the ledger.")]
ActorName = Annotated[str | None, typer.Option("--actor", help="In whose name; by default the first root's.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Decide and tell, and change nothing.")]
Impact = Annotated[bool, typer.Option("--impact", help="With --dry-run: which recent verdicts would change.")]
ApprovalId = Annotated[str | None, typer.Option("--approval", help="An approval of this very command.")]
Actions = Annotated[list[str] | None, typer.Option("--action", help="Only this action; may be given again.")]
Resources = Annotated[list[str] | None, typer.Option("--resource", help="Only this selector; may be given again.")]
Fields = Annotated[list[str] | None, typer.Option("--field", help="Only this field; may be given again.")]
Where = Annotated[list[str] | None, typer.Option("--where", help="Only there: dimension=value; may be given again.")]
From = Annotated[str | None, typer.Option("--from", help="Counts from then on, RFC 3339 with offset.")]
Until = Annotated[str | None, typer.Option("--until", help="Counts no longer from then on, RFC 3339 with offset.")]
Depth = Annotated[int | None, typer.Option("--depth", min=0, help="How many delegations may hang below it.")]


def command(  # noqa: PLR0913 - what every command has
    context: typer.Context,
    call: str,
    body: Mapping[str, Any],
    *,
    reason: str | None,
    actor: str | None,
    dry_run: bool = False,
    impact: bool = False,
    approval: str | None = None,
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
    text: Any = None,
    code: Callable[[Mapping[str, Any]], int] = lambda _document: DONE,
    patiently: bool = False,
) -> None:
    """Give one command and leave with its exit code; `code` and `patiently` are those of `perform`."""
    refuse_idle_impact(dry_run=dry_run, impact=impact)
    whole = {**body, "reason": reason, "actor": actor, "approval_id": approval}
    whole |= {"dry_run": dry_run or None, "impact": impact or None}
    sent = {**(headers or {}), **keyed(key)}
    perform(context, call, whole, headers=sent, text=text or print_made, code=code, patiently=patiently)


def refuse_idle_impact(*, dry_run: bool, impact: bool) -> None:
    """Refuse to be asked for the impact of what is done at once.

    Raises:
        Failure: `impact` stands without `dry_run`.
    """
    if impact and not dry_run:
        raise Failure("--impact belongs to --dry-run: what was done cannot be tried any more")


def fresh_key() -> str:
    """Return a key for a command whose caller names none: its own repeats are then one command."""
    return secrets.token_hex(16)


def path_of(*parts: str) -> str:
    """Return a path in which each part is one segment, whatever it holds."""
    return "/".join(("", *(quote(each, safe="") for each in parts)))


def scope_of(
    actions: list[str] | None, resources: list[str] | None, fields: list[str] | None, where: list[str] | None
) -> dict[str, Any] | None:
    """Return a scope of what was given, or None where nothing was."""
    scope: dict[str, Any] = {
        name: value for name, value in (("actions", actions), ("resources", resources), ("fields", fields)) if value
    }
    for each in where or ():
        name, equals, value = each.partition("=")
        if not equals or not name or not value:
            raise Failure(f"`{each}` is no place: write dimension=value, such as environment=production")
        scope.setdefault("where", {}).setdefault(name, []).append(value)
    return scope or None


def print_made(console: Console, document: Mapping[str, Any]) -> None:
    """Print what a command made or ended, the first line saying what it is."""
    if document.get("dry_run"):
        console.print("nothing was changed: this is what would be", markup=False)
    print_members(console, {name: each for name, each in document.items() if name != "impact"})
    print_impact(console, document)


def print_impact(console: Console, document: Mapping[str, Any]) -> None:
    """Print which recent verdicts would change, where that was asked for."""
    found = document.get("impact")
    if found is None:
        return
    skipped = f", {found['skipped']} cannot be asked again" if found["skipped"] else ""
    console.print(
        f"{found['changed']} of {found['decisions']} recent verdicts would change{skipped}", style="bold", markup=False
    )
    for each in found["would_change"]:
        subject, resource = (f"{each[name]['type']}:{each[name]['id']}" for name in ("subject", "resource"))
        before, after = (each[name]["outcome"] for name in ("before", "after"))
        told = ", ".join(each["after"]["reasons"])
        console.print(f"  {subject} {each['action']['name']} {resource}: {before} -> {after}  {told}", markup=False)


def print_ended(console: Console, document: Mapping[str, Any]) -> None:
    """Print a revocation or its plan: how many of each kind, then their ids."""
    if document.get("dry_run"):
        console.print("nothing was ended: this is the plan", style="bold", markup=False)
    counts = document.get("counts", {})
    for noun, ids in document["ended"].items():
        if ids:
            code = document.get("codes", {}).get(noun, "")
            console.print(f"{counts.get(noun, len(ids))} {noun}  {code}", style="bold", markup=False)
            console.print(f"  {', '.join(map(str, ids[:20]))}{' …' if len(ids) > 20 else ''}", markup=False)  # noqa: PLR2004 - a line's worth
    for each in document.get("re_anchored", ()):
        name = next(value for key, value in each.items() if key.endswith("_id"))
        console.print(f"stays: {name}, under {each.get('under', 'another chain')}", markup=False)
    for each in document.get("recent_decisions", ()):
        console.print(f"rested on it: {each['decision_id']} at {each['timestamp']}", markup=False)
    print_impact(console, document)
