"""`remit graph`: the authority graph as files, as tables and as chains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from remit_graph.model.edge import Edge
from remit_graph.model.instant import format_instant
from remit_graph.world.check import check_world
from remit_graph.world.diff import diff_worlds, summary
from remit_graph.world.dump import dump_world
from remit_graph.world.of_view import world_of
from remit_service.bootstrap import load_bundle, running_point
from remit_service.cli.asking import (
    ActionName,
    As,
    ContextOption,
    FormatOption,
    ResourceKey,
    Subject,
    print_explanation,
    question,
    show_answer,
)
from remit_service.cli.context import call_of, run
from remit_service.cli.exits import DONE, REFUSED, Failure
from remit_service.cli.output import table
from remit_service.cli.target import Unrecorded, target_of
from remit_service.governance.apply_world import apply_world, plan_on
from remit_service.opening import read_world
from remit_service.point import DecisionPoint
from remit_service.policy import policy_of
from remit_service.replica.history import view_at_revision
from remit_service.settings import Settings

app = typer.Typer(no_args_is_help=True)

WorldFile = Annotated[Path, typer.Argument(help="A world file, YAML.", exists=True, dir_okay=False)]


def _on_the_store(settings: Settings) -> None:
    if settings.url is not None:
        raise Failure("this works on the store itself", advice="leave --url out and name the store with --store")


@app.command()
def plan(context: typer.Context, world: WorldFile) -> None:
    """Show what applying a world would change, and change nothing."""
    call = call_of(context)

    async def work() -> int:
        settings = call.settings()
        _on_the_store(settings)
        async with running_point(settings, Unrecorded(), activate=False) as point:
            made = plan_on(point.view, read_world(world, point.policy.scales))
        call.output.show(made.record(), str(made))
        return REFUSED if made.refusals else DONE

    run(call, work)


@app.command()
def apply(
    context: typer.Context,
    world: WorldFile,
    reason: Annotated[str | None, typer.Option(help="Why, for the ledger.")] = None,
) -> None:
    """Make the graph what a world says, all of it or nothing."""
    call = call_of(context)

    async def work() -> int:
        settings = call.settings()
        _on_the_store(settings)
        async with running_point(settings, Unrecorded(), activate=False) as point:
            wanted = read_world(world, point.policy.scales)
            applied = await apply_world(point, wanted, actor="system", reason=reason)
        text = str(applied.plan) if applied.refused else f"{applied.plan}\napplied at revision {applied.revision}"
        call.output.show(applied.record(), text)
        return REFUSED if applied.refused else DONE

    run(call, work)


@app.command()
def export(
    context: typer.Context,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    at_revision: Annotated[int | None, typer.Option(help="The graph as it was at this revision.")] = None,
) -> None:
    """Write the graph as a world file; the same graph gives the same bytes."""
    call = call_of(context)

    async def work() -> int:
        settings = call.settings()
        _on_the_store(settings)
        async with running_point(settings, Unrecorded(), activate=False) as point:
            view = point.view
            if at_revision is not None:
                view = await view_at_revision(point.ledger, view, at_revision)
            text = dump_world(world_of(view))
        if output is not None:
            output.write_text(text, encoding="utf-8")
            call.output.tell(f"wrote {output}")
        else:
            call.output.raw(text)
        return DONE

    run(call, work)


@app.command()
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


@app.command()
def path(
    context: typer.Context, subject: Subject, action: ActionName, resource: ResourceKey,
    attributes: ContextOption = None, as_: As = None, form: FormatOption = None,
) -> None:  # fmt: skip
    """Show the chains by which a subject may act: exit 1 where there is none."""
    call = call_of(context)

    async def work() -> int:
        body = question(subject, action, resource, attributes)
        async with target_of(call.settings(), enforcement_point=as_) as target:
            answer = await target.explain(body)
        show_answer(call.output, body, answer, form, print_explanation)
        explanation = answer.get("context", {}).get("explanation") or {}
        return DONE if explanation.get("chains") else REFUSED

    run(call, work)


@app.command()
def show(
    context: typer.Context,
    identifier: Annotated[str, typer.Argument(help="A principal, a resource key or an edge id; nothing for all.")] = "",
) -> None:
    """Show a principal, a resource or an edge with all its versions."""
    call = call_of(context)

    async def work() -> int:
        settings = call.settings()
        _on_the_store(settings)
        async with running_point(settings, Unrecorded(), activate=False) as point:
            document = _found(point, identifier)
        call.output.show(document, lambda console: _print(console, document))
        return DONE

    run(call, work)


def _found(point: DecisionPoint, identifier: str) -> dict[str, Any]:
    view = point.view
    if not identifier:
        counts: dict[str, int] = {}
        for edge in view.edges.values():
            counts[str(edge.edge)] = counts.get(str(edge.edge), 0) + 1
        return {
            "realm": view.realm.record(),
            "revision": view.revision,
            "principals": len(view.principals),
            "resources": len(view.resources),
            "edges": dict(sorted(counts.items())),
        }
    if identifier in view.principals:
        edges = [each for each in view.edges.values() if identifier in (each.from_, each.to)]
        return {"principal": view.principals[identifier].record(), "edges": _records(edges)}
    versions = [*view.history.get(identifier, ()), *([view.edges[identifier]] if identifier in view.edges else [])]
    if versions:
        return {"edge": identifier, "versions": _records(versions)}
    resolved = view.registry.resolve_key(identifier)
    if resolved is None:
        raise Failure(f"`{identifier}` is no principal, resource or edge here", code=REFUSED)
    stored = view.resources.get(resolved.key)
    covering = [each for each in view.edges.values() if resolved.key in (each.from_, each.to)]
    return {
        "resource": {
            "key": resolved.key,
            "type": resolved.type.name,
            "attributes": dict(stored.attributes) if stored else {},
        },
        "edges": _records(covering),
    }


def _records(edges: list[Edge]) -> list[dict[str, Any]]:
    records = []
    for edge in sorted(edges, key=lambda each: (each.edge_id, each.version)):
        record = {**edge.record(), "revision_from": edge.revision_from}
        for name in ("valid_from", "valid_until"):
            if name in record:
                record[name] = format_instant(record[name])
        if edge.revision_to is not None:
            record |= {"revision_to": edge.revision_to, "ended_by": edge.ended_by}
        records.append(record)
    return records


def _print(console: Console, document: Mapping[str, Any]) -> None:
    for name, value in document.items():
        if name in ("edges", "versions") and isinstance(value, list):
            rows = [
                (f"{each['edge_id']}@{each['version']}", each["edge"], each["from"], each["to"], each.get("ended_by"))
                for each in value
            ]
            console.print(table(None, ("edge", "type", "from", "to", "ended by"), rows))
        else:
            console.print(f"{name}: {value}", markup=False)


@app.command()
def check(context: typer.Context) -> None:
    """Check the graph against its laws and the ledger against itself: exit 1 where something is wrong."""
    call = call_of(context)

    async def work() -> int:
        settings = call.settings()
        _on_the_store(settings)
        async with running_point(settings, Unrecorded(), activate=False) as point:
            findings = check_world(world_of(point.view), scales=point.policy.scales)
            problems = [*await point.ledger.check(), *(each.message for each in findings)]
        document = {"problems": problems, "findings": [each.record() for each in findings]}
        call.output.show(document, "\n".join(problems) or "nothing is wrong")
        return REFUSED if problems else DONE

    run(call, work)
