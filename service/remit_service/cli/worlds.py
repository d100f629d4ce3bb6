"""`remit graph plan|apply|export|diff`: the graph as world files, in and out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from remit_graph.world.diff import Difference, diff_worlds, summary
from remit_graph.world.load import read_world_text
from remit_service.bootstrap import load_bundle
from remit_service.cli.client import client_for, document_of, refused
from remit_service.cli.context import call_of, run
from remit_service.cli.exits import DONE, REFUSED
from remit_service.cli.governing import print_impact
from remit_service.opening import read_world
from remit_service.policy import policy_of

WorldFile = Annotated[Path, typer.Argument(help="A world file, YAML.", exists=True, dir_okay=False)]


def plan(
    context: typer.Context,
    world: WorldFile,
    impact: Annotated[bool, typer.Option(help="Also which recent verdicts would change.")] = False,
) -> None:
    """Show what applying a world would change, and change nothing."""
    _send(context, world, {"dry_run": True, **({"impact": True} if impact else {})})


def apply(
    context: typer.Context,
    world: WorldFile,
    reason: Annotated[str | None, typer.Option(help="Why, for the ledger.")] = None,
    actor: Annotated[
        str | None, typer.Option(help="In whose name; by default the caller's own, or the first root's.")
    ] = None,
) -> None:
    """Make the graph what a world says, all of it or nothing."""
    options = {"reason": reason, "actor": actor}
    _send(context, world, {name: value for name, value in options.items() if value is not None})


def _send(context: typer.Context, file: Path, options: Mapping[str, Any]) -> None:
    call = call_of(context)

    async def work() -> int:
        body = {"world": read_world_text(file), **options}
        async with client_for(call) as client:
            response = await client.post("/v1/graph/apply", json=body)
        if not response.is_success:
            return refused(call, response, file=str(file))
        document = document_of(response)
        call.output.show(document, lambda console: _print(console, document))
        return DONE

    run(call, work)


def _print(console: Console, document: Mapping[str, Any]) -> None:
    found = [Difference(**{"before": None, "after": None, **each}) for each in document.get("differences", ())]
    for each in (*map(str, found), summary(found)):
        console.print(each, markup=False)
    if document["applied"]:
        console.print(f"applied at revision {document['revision']}", markup=False)
    print_impact(console, document)


def export(
    context: typer.Context,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    at_revision: Annotated[int | None, typer.Option(help="The graph as it was at this revision.")] = None,
) -> None:
    """Write the graph as a world file; the same graph gives the same bytes."""
    call = call_of(context)

    async def work() -> int:
        asked = {} if at_revision is None else {"at_revision": at_revision}
        async with client_for(call) as client:
            response = await client.get("/v1/graph/export", params=asked)
        if not response.is_success:
            return refused(call, response)
        if output is not None:
            output.write_bytes(response.content)
            call.output.tell(f"wrote {output}")
        else:
            call.output.raw(response.text)
        return DONE

    run(call, work)


def diff(context: typer.Context, before: WorldFile, after: WorldFile) -> None:
    """Show what differs between two world files: exit 1 where anything does."""
    call = call_of(context)

    async def work() -> int:
        scales = policy_of(load_bundle(call.settings())).scales
        found = diff_worlds(read_world(before, scales), read_world(after, scales))
        lines = [*map(str, found), summary(found)]
        call.output.show({"differences": [each.record() for each in found]}, "\n".join(lines))
        return REFUSED if found else DONE

    run(call, work)
