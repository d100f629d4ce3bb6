"""`remit changes` and `remit notices`: what happened, and what a holder has to be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console

from remit_service.cli.coordination import Subject, perform
from remit_service.cli.output import table

Wait = Annotated[int, typer.Option("--wait", min=0, max=25, help="Seconds to wait for news, where there is none.")]


def changes(
    context: typer.Context,
    after: Annotated[str | None, typer.Option(help="A revision, or its token; none is the very beginning.")] = None,
    wait: Wait = 0,
    kind: Annotated[list[str] | None, typer.Option("--kind", help="lease, lease.put; may be given again.")] = None,
) -> None:
    """What was changed, revision by revision; at most 500 at once, and where to go on."""
    asked = {"after": after, "wait": wait or None, "kinds": ",".join(kind) if kind else None}
    perform(context, "GET /v1/changes", query=asked, headers={"Accept": "application/json"}, text=_print_changes)


def _print_changes(console: Console, document: Mapping[str, Any]) -> None:
    rows = [
        (entry["revision"], entry["at"], change["kind"], change["body"].get("id", ""))
        for entry in document["entries"]
        for change in entry["changes"]
    ]
    console.print(table(None, ("revision", "at", "kind", "id"), rows))
    console.print(f"go on with --after {document['revision']}", markup=False)


def notices(
    context: typer.Context, subject: Subject, wait: Wait = 0,
    after: Annotated[str | None, typer.Option(help="Only those after this notice.")] = None,
) -> None:  # fmt: skip
    """What a principal has to be told: which lease it lost, why, and what it may have left half done."""
    asked = {"subject": subject, "wait": wait or None, "after": after}
    perform(context, "GET /v1/notices", query=asked, text=_print_notices)


def _print_notices(console: Console, document: Mapping[str, Any]) -> None:
    rows = [
        (each["notice_id"], each["at"], each["code"], each.get("lease_id"), ", ".join(each.get("dirty_keys", ())))
        for each in document["notices"]
    ]
    console.print(table(None, ("notice", "at", "code", "lease", "may be half done"), rows))
